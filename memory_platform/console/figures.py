"""What the overviews show, read inside a scope: how much is stored, what was asked, what waits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context.models import Receipt
from memories.models import Memory, Partition, Tenant, TenantMemo
from memories.services.partitions.counts import MemoryTally

RECENT_CONTEXTS_MAX = 6


@dataclass(frozen=True)
class TenantOverview:
    """One tenant at a glance. Token figures in tokens of o200k_base."""

    memories: MemoryTally
    partition_count: int
    memo: TenantMemo | None
    contexts: Sequence[Receipt]

    @property
    def gone(self) -> int:
        """Memories that are stored but no longer read."""
        return self.memories.archived + self.memories.expired

    @property
    def is_empty(self) -> bool:
        return not self.memories.live and not self.gone


@dataclass(frozen=True)
class TenantRow:
    """One line of the overview of all tenants."""

    tenant: Tenant
    memories: MemoryTally


def tenant_overview(tenant_id: UUID, *, now: datetime) -> TenantOverview:
    """Four queries, however many rows there are."""
    receipts = Receipt.objects.for_tenant(tenant_id)
    return TenantOverview(
        memories=Memory.objects.tally_by_tenant([tenant_id], now)[tenant_id],
        partition_count=Partition.objects.for_tenant(tenant_id).how_many(),
        memo=TenantMemo.objects.for_tenant(tenant_id).current().first(),
        contexts=list(receipts.newest_first().without_details()[:RECENT_CONTEXTS_MAX]),
    )


def tenant_overviews(tenants: Sequence[Tenant], *, now: datetime) -> list[TenantRow]:
    """One query for all tenants; inside a scope that reads them."""
    tallies = Memory.objects.tally_by_tenant([tenant.id for tenant in tenants], now)
    return [TenantRow(tenant, tallies[tenant.id]) for tenant in tenants]
