"""Scheduled folding of partition count changes, tenant by tenant."""

from itertools import count
from uuid import UUID

from memories.models import PartitionCount, PartitionCountChange
from memories.services.time_limits import in_time
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import tenants_in_turn

#: Changes folded in one transaction.
FOLD_BATCH = 5_000


def fold_partition_counts() -> int:
    """Fold the count changes of all tenants; return how many."""
    with maintenance_scope():
        tenant_ids = PartitionCountChange.objects.tenant_ids()
    return sum(fold_counts_of(tenant_id) for tenant_id in tenants_in_turn("fold-partition-counts", tenant_ids))


def fold_counts_of(tenant_id: UUID) -> int:
    """Fold the count changes of one tenant; return how many. Opens its own scope."""
    folded = 0
    for _ in in_time(count()):
        with tenant_scope(tenant_id):
            batch = PartitionCountChange.objects.fold(tenant_id, FOLD_BATCH)
            PartitionCount.objects.for_tenant(tenant_id).empty().delete()
        folded += batch
        if batch < FOLD_BATCH:
            break
    return folded
