"""The figures of the overviews. Read inside a scope."""

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
    """The figures of one tenant. Tokens are those of o200k_base."""

    memories: MemoryTally
    partition_count: int
    memo: TenantMemo | None
    contexts: Sequence[Receipt]

    @property
    def gone(self) -> int:
        """The number of memories that are stored but not searched."""
        return self.memories.archived + self.memories.expired

    @property
    def is_empty(self) -> bool:
        return not self.memories.live and not self.gone


@dataclass(frozen=True)
class TenantRow:
    """One row of the overview of all tenants."""

    tenant: Tenant
    memories: MemoryTally


def tenant_overview(tenant_id: UUID, *, now: datetime) -> TenantOverview:
    """Return the figures of one tenant. Four queries."""
    receipts = Receipt.objects.for_tenant(tenant_id)
    return TenantOverview(
        memories=Memory.objects.tally_by_tenant([tenant_id], now)[tenant_id],
        partition_count=Partition.objects.for_tenant(tenant_id).how_many(),
        memo=TenantMemo.objects.for_tenant(tenant_id).current().first(),
        contexts=list(receipts.newest_first().without_details()[:RECENT_CONTEXTS_MAX]),
    )


def tenant_overviews(tenants: Sequence[Tenant], *, now: datetime) -> list[TenantRow]:
    """Return the rows of all given tenants. One query; inside a scope that reads them."""
    tallies = Memory.objects.tally_by_tenant([tenant.id for tenant in tenants], now)
    return [TenantRow(tenant, tallies[tenant.id]) for tenant in tenants]
