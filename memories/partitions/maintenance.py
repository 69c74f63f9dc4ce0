"""Scheduled folding of partition count changes, tenant by tenant; words of tenants that grew are counted again."""

from uuid import UUID

from memories.models import PartitionCount, PartitionCountChange
from memories.search.languages import recount_common_lexemes
from memories.services.search.planner import ALL_WORDS_ROWS
from memories.tenancy.scopes import in_batches, maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import tenants_in_turn

#: Maximum changes folded in one transaction.
FOLD_BATCH = 5_000


def fold_partition_counts() -> int:
    """Fold the count changes of all tenants; return how many."""
    with maintenance_scope():
        tenant_ids = PartitionCountChange.objects.tenant_ids()
    return sum(_fold_growth_of(tenant_id) for tenant_id in tenants_in_turn("fold-partition-counts", tenant_ids))


def _fold_growth_of(tenant_id: UUID) -> int:
    """Fold the changes of a tenant; if it has doubled since it became large, count its common words (ADR-0272)."""
    former = _doublings(tenant_id)
    folded = fold_counts_of(tenant_id)
    if _doublings(tenant_id) > former:
        recount_common_lexemes(tenant_id)
    return folded


def _doublings(tenant_id: UUID) -> int:
    """Return how often a tenant doubled since it reached the size at which searches drop common words; 0 below."""
    with tenant_scope(tenant_id):
        root = PartitionCount.objects.for_tenant(tenant_id).filter(path="")
        rows = root.values_list("subtree_rows", flat=True).first() or 0
    return (rows // ALL_WORDS_ROWS).bit_length()


def fold_counts_of(tenant_id: UUID) -> int:
    """Fold the count changes of one tenant; return how many. Opens its own scope."""

    def fold_batch() -> int:
        folded: int = PartitionCountChange.objects.fold(tenant_id, FOLD_BATCH)
        PartitionCount.objects.for_tenant(tenant_id).empty().delete()
        return folded

    return in_batches(tenant_id, fold_batch, FOLD_BATCH)
