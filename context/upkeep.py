"""The conductor of regular work on receipts: those past their tenant's days or beyond its number go, batch by batch."""

from datetime import datetime, timedelta
from uuid import UUID

from context.budget_profiles import budget_profile_for
from context.models import Receipt
from memories.audit import Actor, record_audit
from memories.models import Tenant
from memories.scopes import maintenance_scope, tenant_scope

#: Receipts deleted in one transaction.
PRUNE_BATCH = 1_000
#: Batches of one tenant in one run; the next run goes on.
PRUNE_BATCHES_MAX = 100
PRUNER = Actor.system("retention of receipts")


def prune_receipts(*, now: datetime) -> int:
    """Delete the receipts that tenants no longer keep, tenant by tenant; how many went. Called with no scope open."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    return sum(prune_receipts_of(tenant_id, now=now) for tenant_id in tenant_ids)


def prune_receipts_of(tenant_id: UUID, *, now: datetime) -> int:
    """Delete what the tenant's own budget profile does not keep: `receipt_days` and `receipt_count`.

    The profile is the one assigned to the whole tenant, whatever keys and partitions have. Votes that were given on a
    receipt stay.
    """
    gone = 0
    for _ in range(PRUNE_BATCHES_MAX):
        batch = _prune_batch(tenant_id, now)
        gone += batch
        if batch < PRUNE_BATCH:
            break
    return gone


def _prune_batch(tenant_id: UUID, now: datetime) -> int:
    with tenant_scope(tenant_id):
        profile = budget_profile_for(tenant_id, api_key_id=None, partition_path="")
        receipts = Receipt.objects.for_tenant(tenant_id)
        wanted = receipts.ids_before(now - timedelta(days=profile.receipt_days), PRUNE_BATCH)
        wanted += receipts.ids_beyond(profile.receipt_count, PRUNE_BATCH - len(wanted))
        gone = receipts.with_ids(wanted).discard() if wanted else 0
        if gone:
            _audit(tenant_id, gone, now)
    return gone


def _audit(tenant_id: UUID, count: int, now: datetime) -> None:
    record_audit(
        tenant_id=tenant_id,
        by=PRUNER,
        verb="prune_receipts",
        target_kind="receipt",
        target_ids=[f"{count} receipts"],
        now=now,
    )
