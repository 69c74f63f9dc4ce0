"""Scheduled folding of partition count changes, tenant by tenant."""

from uuid import UUID

from memories.models import PartitionCount, PartitionCountChange
from memories.tenancy.scopes import maintenance_scope, tenant_scope

#: Changes folded in one transaction.
FOLD_BATCH = 5_000


def fold_partition_counts() -> int:
    """Fold the count changes of all tenants; return how many."""
    with maintenance_scope():
        tenant_ids = PartitionCountChange.objects.tenant_ids()
    return sum(fold_counts_of(tenant_id) for tenant_id in tenant_ids)


def fold_counts_of(tenant_id: UUID) -> int:
    """Fold the count changes of one tenant; return how many. Opens its own scope."""
    folded = 0
    while True:
        with tenant_scope(tenant_id):
            batch = PartitionCountChange.objects.fold(tenant_id, FOLD_BATCH)
            PartitionCount.objects.for_tenant(tenant_id).empty().delete()
        folded += batch
        if batch < FOLD_BATCH:
            return folded
