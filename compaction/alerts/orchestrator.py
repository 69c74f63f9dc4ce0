"""Evaluate the alert rules of every tenant: open, keep and close alerts, and write their deliveries (ADR-0156).

The work of a tenant is one transaction that locks its rules, so an alert opens once and its deliveries with it.
"""

import logging
from datetime import datetime, timedelta
from uuid import UUID

from compaction.alerts.conditions import measure
from compaction.models import Alert, AlertDelivery, AlertDestination, AlertRule
from memories.services.time_limits import while_in_time
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import sweep_lock, tenants_in_turn
from memory_platform.postgres.errors import UNAVAILABLE
from memory_platform.postgres.roles import logged_in_for_maintenance

logger = logging.getLogger(__name__)

#: Maximum tenants per run; the next run begins with those that were evaluated longest ago.
TENANTS_MAX = 200
#: How long closed alerts, finished deliveries and removed destinations are kept.
KEPT = timedelta(days=90)
_EVALUATION_LOCK = "compaction.evaluate-alerts"

#: Tenant and delivery.
NewDelivery = tuple[UUID, UUID]


@logged_in_for_maintenance()
def evaluate_alerts(*, now: datetime) -> list[NewDelivery]:
    """Evaluate the enabled rules of up to `TENANTS_MAX` tenants; return the new deliveries. One run at a time."""
    with sweep_lock(_EVALUATION_LOCK) as lock:
        if lock is None:
            return []
        with maintenance_scope():
            tenant_ids = AlertRule.objects.tenants_to_evaluate(TENANTS_MAX)
        return [made for pk in while_in_time(tenant_ids) if lock.renew() for made in _evaluate_or_log(pk, now)]


def _evaluate_or_log(tenant_id: UUID, now: datetime) -> list[NewDelivery]:
    """Evaluate one tenant; a statement that takes too long does not stop the others."""
    try:
        with tenant_scope(tenant_id):
            return _evaluate(tenant_id, now)
    except UNAVAILABLE as error:
        logger.warning("The alerts of tenant %s were not evaluated: %s", tenant_id, type(error).__name__)
        return []


def _evaluate(tenant_id: UUID, now: datetime) -> list[NewDelivery]:
    enabled = AlertRule.objects.for_tenant(tenant_id).enabled()
    rules = list(enabled.order_by("kind").locked())
    open_alerts = {alert.kind: alert for alert in Alert.objects.for_tenant(tenant_id).open()}
    changed = [
        (alert, event)
        for rule in rules
        for alert, event in after_measurement(rule, open_alerts.get(rule.kind), measure(rule.kind, tenant_id, now=now))
    ]
    enabled.update(evaluated_at=now)
    return _record(tenant_id, changed, now)


def after_measurement(rule: AlertRule, alert: Alert | None, value: float) -> list[tuple[Alert, str]]:
    """Return the alert that a value opens, changes or closes with its event, "" if nothing is delivered."""
    is_met = value >= rule.threshold
    if alert is None:
        opened = Alert(tenant_id=rule.tenant_id, kind=rule.kind, threshold=rule.threshold, value=value)
        return [(opened, AlertDelivery.Event.OPENED)] if is_met else []
    if not is_met:
        return [(alert, AlertDelivery.Event.CLOSED)]
    is_changed, alert.value = alert.value != value, value
    return [(alert, "")] if is_changed else []


def _record(tenant_id: UUID, changed: list[tuple[Alert, str]], now: datetime) -> list[NewDelivery]:
    """Write the alerts and a delivery of each event to each active destination."""
    for alert, event in changed:
        if event == AlertDelivery.Event.OPENED:
            alert.opened_at = now
        elif event == AlertDelivery.Event.CLOSED:
            alert.closed_at = now
        alert.save()
    events = [(alert, event) for alert, event in changed if event]
    if not events:
        return []
    destinations = list(AlertDestination.objects.for_tenant(tenant_id).active().oldest_first())
    made = [
        AlertDelivery(
            tenant_id=tenant_id, destination=destination, alert=alert, event=event, due_at=now, created_at=now
        )
        for alert, event in events
        for destination in destinations
        if event == AlertDelivery.Event.OPENED or destination.sends_closing
    ]
    AlertDelivery.objects.bulk_create(made)
    return [(tenant_id, delivery.pk) for delivery in made]


@logged_in_for_maintenance()
def delete_old_alerts(*, now: datetime) -> int:
    """Delete rows older than `KEPT` in every tenant; return how many."""
    before = now - KEPT
    with maintenance_scope():
        old = (
            AlertDelivery.objects.all().finished_before(before),
            Alert.objects.all().closed_before(before),
            AlertDestination.objects.all().removed_before(before),
        )
        tenant_ids = {tenant_id for rows in old for tenant_id in rows.tenant_ids()}
    deleted = 0
    for tenant_id in tenants_in_turn("old-alerts", tenant_ids):
        with tenant_scope(tenant_id):
            deleted += sum(rows.for_tenant(tenant_id).delete()[0] for rows in old)
    return deleted
