"""Deliver one alert to one destination: claim, send outside of any transaction, record the attempt (ADR-0156)."""

import logging
import time
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urljoin
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from compaction.alerts.channels import AlertMessage, ChannelError, send
from compaction.models import Alert, AlertDelivery
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memory_platform.postgres.roles import logged_in_across_tenants
from memory_platform.web.navigation import tenant_page_url

logger = logging.getLogger(__name__)

#: How long after each failed attempt the next one follows; after the last of them the delivery has failed.
BACK_OFF = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30))
ATTEMPTS_MAX = len(BACK_OFF) + 1
#: Longer than an attempt takes; after it another worker may try again.
_CLAIM = timedelta(seconds=60)
_SWEPT_MAX = 100
_INTERRUPTED = "The worker stopped during the attempt."

_State = AlertDelivery.State


def due_deliveries(*, now: datetime) -> list[AlertDelivery]:
    """Return deliveries of every tenant that are due, the oldest first; opens its own scope."""
    with maintenance_scope():
        return list(AlertDelivery.objects.due(now).due_first()[:_SWEPT_MAX])


@logged_in_across_tenants()
def deliver(tenant_id: UUID, delivery_id: UUID, *, now: datetime) -> AlertDelivery | None:
    """Make one attempt at a due delivery and return it; None if another worker has it or it is finished."""
    until = now + _CLAIM
    rows = AlertDelivery.objects.for_tenant(tenant_id)
    with tenant_scope(tenant_id):
        if not rows.claim(delivery_id, now=now, until=until):
            return None
        delivery: AlertDelivery = rows.with_id(delivery_id).with_targets().select_related("tenant").get()
    began = time.monotonic()
    attempt = _attempt(delivery, now)
    took = 0 if attempt.is_unsent else round((time.monotonic() - began) * 1000)
    entry = {"at": now.isoformat(), "is_done": attempt.is_done, "result": attempt.result, "milliseconds": took}
    values = _values_after(delivery, entry, is_final=attempt.is_final, now=now)
    with tenant_scope(tenant_id):
        if not rows.claimed(delivery_id, until).update(**values):
            return None
    for name, value in values.items():
        setattr(delivery, name, value)
    return delivery


class _Attempt(NamedTuple):
    """The result of an attempt for people, whether it was accepted, was the last one, and sent nothing."""

    result: str
    is_done: bool = False
    is_final: bool = True
    is_unsent: bool = False


def _attempt(delivery: AlertDelivery, now: datetime) -> _Attempt:
    if delivery.attempts > ATTEMPTS_MAX:
        return _Attempt(_INTERRUPTED, is_unsent=True)
    if delivery.destination.removed_at is not None:
        return _Attempt("The destination was removed.", is_unsent=True)
    try:
        return _Attempt(
            send(delivery.destination, alert_message(delivery), timestamp=int(now.timestamp())), is_done=True
        )
    except ChannelError as error:
        logger.warning("Alert delivery %s failed: %s", delivery.pk, error.detail)
        is_test = delivery.event == AlertDelivery.Event.TEST
        is_final = error.is_permanent or is_test or delivery.attempts == ATTEMPTS_MAX
        return _Attempt(error.detail, is_final=is_final, is_unsent=error.is_unsent)


def _values_after(delivery: AlertDelivery, entry: dict[str, Any], *, is_final: bool, now: datetime) -> dict[str, Any]:
    log = [*delivery.log, entry]
    if is_final:
        return {"log": log, "state": _State.DONE if entry["is_done"] else _State.FAILED, "finished_at": now}
    return {"log": log, "due_at": now + BACK_OFF[delivery.attempts - 1]}


def alert_url(alert: Alert) -> str:
    """Return the path and query of the page that shows the cause of an alert."""
    return tenant_page_url(alert.tenant_id, alert.rule.page)


def alert_message(delivery: AlertDelivery) -> AlertMessage:
    """Return the message: ids, numbers and links, and in e-mail the name of the tenant."""
    alerts_url = urljoin(settings.CONSOLE_URL, reverse("alerts", args=[delivery.tenant_id]))
    payload: dict[str, Any] = {
        "delivery_id": str(delivery.pk),
        "event": delivery.event,
        "tenant_id": str(delivery.tenant_id),
        "alerts_url": alerts_url,
    }
    tenant = " ".join(delivery.tenant.name.split())
    alert = delivery.alert
    if alert is None:
        return AlertMessage(str(delivery.pk), f"Test of alerts: {tenant}", f"This is a test.\n{alerts_url}\n", payload)
    payload["alert"] = _alert_payload(alert)
    lines = [
        f"{alert.rule.description}: {alert.measured} (threshold: {alert.limit})",
        f"Opened: {alert.opened_at:%Y-%m-%d %H:%M} UTC",
        *([f"Closed: {alert.closed_at:%Y-%m-%d %H:%M} UTC"] if alert.closed_at else []),
        payload["alert"]["url"],
    ]
    subject = f"Alert {delivery.get_event_display().lower()}: {alert.rule.title}: {tenant}"
    return AlertMessage(str(delivery.pk), subject, "\n".join(lines) + "\n", payload)


def _alert_payload(alert: Alert) -> dict[str, Any]:
    return {
        "id": str(alert.pk),
        "rule": alert.kind,
        "value": alert.value,
        "threshold": alert.threshold,
        "unit": alert.rule.unit,
        "opened_at": alert.opened_at.isoformat(),
        "closed_at": alert.closed_at and alert.closed_at.isoformat(),
        "url": urljoin(settings.CONSOLE_URL, alert_url(alert)),
    }
