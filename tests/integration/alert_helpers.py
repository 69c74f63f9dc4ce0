"""Helpers of the tests of alerts: rules, destinations, and the rows that rules find."""

from datetime import datetime
from itertools import count
from typing import Any

from compaction.alerts.actions import RuleSetting, add_alert_destination, set_alert_rules
from compaction.models import Alert, AlertDelivery, AlertDestination, ProviderBreaker
from compaction.services.alerts.rules import RULE_KINDS
from memories.models import MemoryPair, Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope
from tests.factories import make_memory

BY = Actor.system("tests")
_NUMBERS = count(1)


def set_rule(tenant: Tenant, kind: str, threshold: int = 0, *, is_enabled: bool = True, now: datetime) -> None:
    """Set one rule; without a threshold, to the default."""
    setting = RuleSetting(is_enabled, threshold or RULE_KINDS[kind].threshold)
    with tenant_scope(tenant.pk):
        set_alert_rules(tenant=tenant, settings={kind: setting}, by=BY, now=now)


def add_destination(tenant: Tenant, address: str, *, now: datetime, sends_closing: bool = True) -> AlertDestination:
    """Add an e-mail address or the URL of a webhook as a destination."""
    kind = "webhook" if "://" in address else "email"
    fields: dict[str, Any] = {"kind": kind, "address": address, "sends_closing": sends_closing}
    with tenant_scope(tenant.pk):
        return add_alert_destination(tenant=tenant, **fields, by=BY, now=now)


def make_contradiction(tenant: Tenant, *, now: datetime) -> MemoryPair:
    """Store two memories that are listed as a contradiction."""
    older, newer = (make_memory(tenant, f"Invoice {next(_NUMBERS)} is due on {day} June.") for day in (3, 5))
    with tenant_scope(tenant.pk):
        pair: MemoryPair = MemoryPair.objects.create(
            tenant=tenant,
            kind="contradiction",
            older=older,
            newer=newer,
            similarity=0.95,
            texts_hash=str(next(_NUMBERS)),
            found_at=now,
        )
        return pair


def switch_provider_off(tenant: Tenant, *, until: datetime) -> None:
    """Write the rows that three failures of a summariser leave."""
    with tenant_scope(tenant.pk):
        ProviderBreaker.objects.create(tenant=tenant, provider="openai", failures=3, open_until=until)


def alerts_of(tenant: Tenant) -> list[Alert]:
    """Return all alerts, newest first."""
    with tenant_scope(tenant.pk):
        return list(Alert.objects.for_tenant(tenant.pk).newest_first())


def deliveries_of(tenant: Tenant) -> list[AlertDelivery]:
    """Return all deliveries, oldest first."""
    with tenant_scope(tenant.pk):
        return list(AlertDelivery.objects.for_tenant(tenant.pk).with_targets().order_by("created_at", "id"))
