"""Change alert rules and destinations, and request a test (ADR-0156). Called inside the tenant's scope."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from compaction.alerts.queries import lock_alert_settings
from compaction.models import Alert, AlertDelivery, AlertDestination, AlertRule
from compaction.services.alerts.rules import state_of_rules
from memories.models import Tenant
from memories.tenancy.audit import Actor, ChangedValue, record_audit
from memories.tenancy.exceptions import Conflict, StaleVersion

DESTINATIONS_MAX = 10
#: A test is sent immediately, to any address that an admin enters, so a tenant may send only this many per hour.
TESTS_MAX, TESTS_WITHIN = 20, timedelta(hours=1)


@dataclass(frozen=True)
class RuleSetting:
    """Whether a kind of rule is on, and its threshold in the unit of the kind."""

    is_enabled: bool
    threshold: int


@transaction.atomic
def set_alert_rules(
    *, tenant: Tenant, settings: Mapping[str, RuleSetting], replaces: str | None = None, by: Actor, now: datetime
) -> list[str]:
    """Set the rules by kind and return the kinds that changed. The open alert of a rule that is now off closes.

    Raises `StaleVersion` if the rules are not in the state `replaces`.
    """
    rules = _locked_rules(tenant)
    if replaces is not None and replaces != state_of_rules(rules):
        raise StaleVersion("stale_version", "Someone else changed the rules. Open the page again.")
    present = {rule.kind: RuleSetting(rule.is_enabled, rule.threshold) for rule in rules}
    changed = [kind for kind, setting in settings.items() if setting != present[kind]]
    if not changed:
        return []
    for kind in changed:
        values: dict[str, Any] = {"is_enabled": settings[kind].is_enabled, "threshold": settings[kind].threshold}
        values |= {"changed_by": by.stored_label, "changed_at": now}
        AlertRule.objects.update_or_create(tenant_id=tenant.pk, kind=kind, defaults=values)
    off = [kind for kind in changed if not settings[kind].is_enabled]
    Alert.objects.for_tenant(tenant.pk).open().of_kinds(off).update(closed_at=now)
    changes = [
        ChangedValue(kind, name, getattr(present[kind], name), getattr(settings[kind], name))
        for kind in changed
        for name in ("is_enabled", "threshold")
        if getattr(present[kind], name) != getattr(settings[kind], name)
    ]
    record_audit("set_alert_rules", "alert_rule", changed, tenant_id=tenant.pk, changes=changes, by=by, now=now)
    return changed


@transaction.atomic
def change_alert_rule(
    *,
    tenant: Tenant,
    kind: str,
    enabled: bool | None = None,
    threshold: int | None = None,
    by: Actor,
    now: datetime,
) -> None:
    """Change the given fields of one rule."""
    rule = next(each for each in _locked_rules(tenant) if each.kind == kind)
    is_enabled = rule.is_enabled if enabled is None else enabled
    setting = RuleSetting(is_enabled, rule.threshold if threshold is None else threshold)
    set_alert_rules(tenant=tenant, settings={kind: setting}, by=by, now=now)


def _locked_rules(tenant: Tenant) -> list[AlertRule]:
    """Lock and return the rules of all kinds. Rows are locked first, as in a request with `If-Match`."""
    AlertRule.objects.locked().all_kinds(tenant.pk)
    lock_alert_settings(tenant.pk)
    return AlertRule.objects.all_kinds(tenant.pk)


@transaction.atomic
def add_alert_destination(
    *, tenant: Tenant, kind: str, address: str, sends_closing: bool, by: Actor, now: datetime
) -> AlertDestination:
    """Add a destination. Raises `Conflict` `duplicate` or `too_many`."""
    _check_new_address(tenant.pk, kind, address)
    destination = AlertDestination(
        tenant_id=tenant.pk,
        kind=kind,
        address=address,
        sends_closing=sends_closing,
        created_by=by.stored_label,
        created_at=now,
    )
    _save(destination)
    _audit("add_alert_destination", destination, by, now)
    return destination


@transaction.atomic
def remove_alert_destination(*, destination: AlertDestination, by: Actor, now: datetime) -> None:
    """End deliveries to a destination; waiting ones fail at their next attempt."""
    destination.removed_at = now
    destination.save(update_fields=["removed_at"])
    _audit("remove_alert_destination", destination, by, now)


@transaction.atomic
def restore_alert_destination(*, destination: AlertDestination, by: Actor, now: datetime) -> None:
    """Undo a removal; the secret of a webhook is the same as before. Raises `Conflict` `duplicate` or `too_many`."""
    _check_new_address(destination.tenant_id, destination.kind, destination.address)
    destination.removed_at = None
    _save(destination)
    _audit("restore_alert_destination", destination, by, now)


@transaction.atomic
def request_test_delivery(*, destination: AlertDestination, by: Actor, now: datetime) -> AlertDelivery:
    """Write a test message to a destination; the caller delivers it. Raises `Conflict` `too_many`."""
    lock_alert_settings(destination.tenant_id)
    recent = AlertDelivery.objects.for_tenant(destination.tenant_id).tests_since(now - TESTS_WITHIN)
    if recent.row_count() >= TESTS_MAX:
        raise Conflict("too_many", f"A tenant sends at most {TESTS_MAX} tests an hour.")
    delivery: AlertDelivery = AlertDelivery.objects.create(
        tenant_id=destination.tenant_id,
        destination=destination,
        event=AlertDelivery.Event.TEST,
        due_at=now,
        created_at=now,
    )
    _audit("test_alert_destination", destination, by, now)
    return delivery


def _check_new_address(tenant_id: UUID, kind: str, address: str) -> None:
    """Raise `Conflict` if the tenant already has this address or `DESTINATIONS_MAX` others."""
    lock_alert_settings(tenant_id)
    active = AlertDestination.objects.for_tenant(tenant_id).active()
    if active.at_address(kind, address).exists():
        raise _duplicate()
    if active.row_count() >= DESTINATIONS_MAX:
        raise Conflict("too_many", f"A tenant has at most {DESTINATIONS_MAX} destinations.", "address")


def _save(destination: AlertDestination) -> None:
    """Raises `Conflict` `duplicate` if another request has stored the same address in the meantime."""
    try:
        with transaction.atomic():
            destination.save()
    except IntegrityError as error:
        raise _duplicate() from error


def _duplicate() -> Conflict:
    return Conflict("duplicate", "This destination already exists.", "address")


def _audit(verb: str, destination: AlertDestination, by: Actor, now: datetime) -> None:
    record_audit(verb, "alert_destination", [destination.pk], tenant_id=destination.tenant_id, by=by, now=now)
