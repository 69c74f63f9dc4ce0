"""The conductor of regular work: receipts past their tenant's days or beyond its number go, batch by batch.

And memories are found that many contexts held and nobody made use of (ADR-0083).
"""

from datetime import datetime, timedelta
from uuid import UUID

from context.models import Feedback, Receipt
from context.profiles.budget_profiles import budget_profile_for
from memories.models import Memory, MemoryFinding, Tenant
from memories.services.hygiene.rules import UNHELPFUL, UNHELPFUL_RETRIEVALS_MIN, is_unhelpful
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.scopes import maintenance_scope, tenant_scope

#: Receipts deleted in one transaction.
PRUNE_BATCH = 1_000
#: Batches of one tenant in one run; the next run goes on.
PRUNE_BATCHES_MAX = 100
#: Without a vote in so long a time a tenant's agents give no feedback.
FEEDBACK_LOOKED_BACK = timedelta(days=90)
#: Memories whose votes are summed up at once.
VOTES_BATCH = 1_000
PRUNER = Actor.system("retention of receipts")


def prune_receipts_of_tenants(*, now: datetime) -> int:
    """Delete the receipts that tenants no longer keep, tenant by tenant; how many went. Called with no scope open."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    return sum(prune_tenant_receipts(tenant_id, now=now) for tenant_id in tenant_ids)


def prune_tenant_receipts(tenant_id: UUID, *, now: datetime) -> int:
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


def find_unhelpful_memories(*, now: datetime) -> None:
    """Look for memories that are shown often and that nobody has made use of, tenant by tenant."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    for tenant_id in tenant_ids:
        with tenant_scope(tenant_id):
            unhelpful = _unhelpful_of(tenant_id, now)
            MemoryFinding.objects.find(tenant_id, UNHELPFUL, now=now, ids=unhelpful)


def _unhelpful_of(tenant_id: UUID, now: datetime) -> list[UUID]:
    votes = Feedback.objects.for_tenant(tenant_id)
    has_feedback = votes.standing().given_since(now - FEEDBACK_LOOKED_BACK)
    shown = Memory.objects.for_tenant(tenant_id).live(now).retrieved_at_least(UNHELPFUL_RETRIEVALS_MIN)
    ids = list(shown)
    unhelpful: list[UUID] = []
    for start in range(0, len(ids), VOTES_BATCH):
        batch = ids[start : start + VOTES_BATCH]
        sums = votes.on_memories(batch).sums_by_memory()
        counts = ((pk, *sums.get(pk, (0.0, 0.0))) for pk in batch)
        unhelpful += [pk for pk, up, down in counts if is_unhelpful(shown[pk], up, down, has_feedback=has_feedback)]
    return unhelpful


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
