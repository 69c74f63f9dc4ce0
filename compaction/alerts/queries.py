"""Alert rules, destinations, alerts and their deliveries."""

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.db.models import F, Min

from compaction.services.alerts.rules import RULE_KINDS
from memories.tenancy.queries.insertions import execute
from memories.tenancy.queries.methods import rows_by, rows_ordered_by, rows_where, rows_with
from memories.tenancy.queries.rows import TenantRows

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('alert settings of ' || %s, 0))"


def lock_alert_settings(tenant_id: UUID) -> None:
    """Make other changes of the tenant's rules, destinations and tests wait until the transaction ends."""
    execute(_LOCK, [str(tenant_id)])


class AlertRuleQuerySet(TenantRows):
    enabled = rows_where(is_enabled=True)

    def tenants_to_evaluate(self, count: int) -> list[UUID]:
        """Up to `count` tenants with enabled rules, the one evaluated longest ago first."""
        longest_ago = Min("evaluated_at")
        rows = self.enabled().order_by().values("tenant_id").annotate(since=longest_ago)
        return [row["tenant_id"] for row in rows.order_by(F("since").asc(nulls_first=True), "tenant_id")[:count]]

    def all_kinds(self, tenant_id: UUID) -> list[Any]:
        """Every kind of rule in the order of `RULE_KINDS`; those without a row are off and not saved."""
        stored = {rule.kind: rule for rule in self.for_tenant(tenant_id)}
        return [
            stored.get(kind.name)
            or self.model(tenant_id=tenant_id, kind=kind.name, is_enabled=False, threshold=kind.threshold)
            for kind in RULE_KINDS.values()
        ]


class AlertDestinationQuerySet(TenantRows):
    active = rows_where(removed_at__isnull=True)
    removed = rows_where(removed_at__isnull=False)
    removed_before = rows_by("removed_at__lt")
    at_address = rows_by("kind", "address")
    oldest_first = rows_ordered_by("created_at", "id")


class AlertQuerySet(TenantRows):
    open = rows_where(closed_at__isnull=True)
    closed = rows_where(closed_at__isnull=False)
    of_kinds = rows_by("kind__in")
    closed_before = rows_by("closed_at__lt")
    newest_first = rows_ordered_by("-opened_at", "id")


class AlertDeliveryQuerySet(TenantRows):
    """Deliveries; one in an attempt is due again when the claim of its worker ends."""

    waiting = rows_where(state="waiting")
    due_first = rows_ordered_by("due_at", "id")
    finished_before = rows_by("finished_at__lt")
    with_targets = rows_with("destination", "alert")
    tests_since = rows_by("created_at__gte", event="test")

    def due(self, now: datetime) -> Self:
        return self.waiting().filter(due_at__lte=now)

    def claim(self, delivery_id: UUID, *, now: datetime, until: datetime) -> int:
        """Begin an attempt by one conditional UPDATE; return 1 on success, else 0."""
        return self.due(now).with_id(delivery_id).update(due_at=until, attempts=F("attempts") + 1)

    def claimed(self, delivery_id: UUID, until: datetime) -> Self:
        """The delivery, if its claim still ends exactly at `until`."""
        return self.waiting().with_id(delivery_id).filter(due_at=until)

    def narrowed(self, **fields: Any) -> Self:
        """Those with the given state or destination."""
        return self.filter(**fields)
