"""What the overviews show, read inside a scope: how much is stored, what was asked, what waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from context.models import Receipt
from memories.models import Memory, Partition, Tenant, TenantMemo

CHART_DAYS = 30
RECENT_CONTEXTS_MAX = 8

Day = tuple[date, int]


@dataclass(frozen=True)
class TenantFacts:
    """One tenant at a glance. Token figures in tokens of o200k_base."""

    memories: Mapping[str, int]
    kinds: Sequence[tuple[str, int]]
    partition_count: int
    memo: TenantMemo | None
    contexts: Sequence[Receipt]
    context_count: int
    created_by_day: Sequence[Day]
    contexts_by_day: Sequence[Day]

    @property
    def gone(self) -> int:
        """Memories that are stored but no longer read."""
        return self.memories["archived"] + self.memories["expired"]

    @property
    def is_empty(self) -> bool:
        return not self.memories["live"] and not self.gone


@dataclass(frozen=True)
class TenantRow:
    """One line of the overview of all tenants."""

    tenant: Tenant
    memories: Mapping[str, int]


def overview_of_tenant(tenant_id: UUID, *, now: datetime) -> TenantFacts:
    """Nine queries, however many rows there are."""
    since = now - timedelta(days=CHART_DAYS - 1)
    memories = Memory.objects.for_tenant(tenant_id)
    receipts = Receipt.objects.for_tenant(tenant_id)
    return TenantFacts(
        memories=memories.tally(now),
        kinds=memories.live(now).tally_by_kind(),
        partition_count=Partition.objects.for_tenant(tenant_id).how_many(),
        memo=TenantMemo.objects.for_tenant(tenant_id).current().first(),
        contexts=list(receipts.newest_first().without_details()[:RECENT_CONTEXTS_MAX]),
        context_count=receipts.since(since).how_many(),
        created_by_day=_every_day(memories.tally_by_day(since), since=since, now=now),
        contexts_by_day=_every_day(receipts.by_day(since), since=since, now=now),
    )


def tenants_at_a_glance(tenants: Sequence[Tenant], *, now: datetime) -> list[TenantRow]:
    """One query for all tenants; inside a scope that reads them."""
    tallies = Memory.objects.tally_by_tenant([tenant.id for tenant in tenants], now)
    return [TenantRow(tenant, tallies[tenant.id]) for tenant in tenants]


def _every_day(counts: Mapping[date, int], *, since: datetime, now: datetime) -> list[Day]:
    days: list[Any] = [since.date() + timedelta(days=number) for number in range((now.date() - since.date()).days + 1)]
    return [(day, counts.get(day, 0)) for day in days]
