"""Scheduled upkeep of partition counts: folds pending changes in, tenant by tenant, each in its own scope."""

from uuid import UUID

from memories.models import PartitionCount, PartitionCountChange
from memories.tenancy.scopes import maintenance_scope, tenant_scope

#: Changes of counts that are folded in one transaction.
FOLD_BATCH = 5_000


def fold_partition_counts() -> int:
    """Add what statements changed to the counts of partitions, tenant by tenant; how many changes there were."""
    with maintenance_scope():
        tenant_ids = PartitionCountChange.objects.tenant_ids()
    return sum(_fold_counts_of(tenant_id) for tenant_id in tenant_ids)


def _fold_counts_of(tenant_id: UUID) -> int:
    """A transaction for each batch: a worker that is killed in between has counted all of it or none."""
    folded = 0
    while True:
        with tenant_scope(tenant_id):
            batch = PartitionCountChange.objects.fold(tenant_id, FOLD_BATCH)
            PartitionCount.objects.for_tenant(tenant_id).empty().delete()
        folded += batch
        if batch < FOLD_BATCH:
            return folded
