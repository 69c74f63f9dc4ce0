"""Scheduled work on receipts: deleting those that tenants no longer keep, and finding unhelpful memories (ADR-0083)."""

from datetime import datetime, timedelta
from uuid import UUID

from context.models import Feedback, LongQuery, Receipt
from context.profiles.budget_profiles import budget_profile_for
from memories.models import Memory, MemoryFinding, Tenant
from memories.services.hygiene.rules import UNHELPFUL, UNHELPFUL_RETRIEVALS_MIN, is_unhelpful
from memories.services.time_limits import in_time
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import tenants_in_turn
from memory_platform.web.numerals import counted

#: Receipts deleted in one transaction.
PRUNE_BATCH = 1_000
#: Batches of one tenant in one run; the next run continues.
PRUNE_BATCHES_MAX = 100
#: Memories per batch whose votes are summed.
VOTES_BATCH = 1_000
PRUNER = Actor.system("retention of receipts")


def prune_receipts_of_tenants(*, now: datetime) -> int:
    """Delete the receipts that tenants no longer keep, and return how many. Call with no scope open.

    The budget profile of the whole tenant, not those of keys and partitions, sets `receipt_days` and `receipt_count`.
    Long queries are kept for as many days.
    Votes on a receipt stay.
    """
    deleted = 0
    for tenant_id in tenants_in_turn("prune-receipts", _tenant_ids()):
        for _ in in_time(range(PRUNE_BATCHES_MAX)):
            batch = _prune_batch(tenant_id, now)
            deleted += batch
            if batch < PRUNE_BATCH:
                break
    return deleted


def find_unhelpful_memories(*, now: datetime) -> None:
    """Find memories that are retrieved often and have negative votes only, tenant by tenant."""
    for tenant_id in tenants_in_turn("unhelpful-memories", _tenant_ids()):
        with tenant_scope(tenant_id):
            MemoryFinding.objects.find(tenant_id, UNHELPFUL, now=now, ids=_unhelpful_of(tenant_id, now))


def _tenant_ids() -> list[UUID]:
    with maintenance_scope():
        return list(Tenant.objects.values_list("pk", flat=True))


def _unhelpful_of(tenant_id: UUID, now: datetime) -> list[UUID]:
    votes = Feedback.objects.for_tenant(tenant_id)
    shown = Memory.objects.for_tenant(tenant_id).live(now).retrieved_at_least(UNHELPFUL_RETRIEVALS_MIN)
    ids = list(shown)
    unhelpful: list[UUID] = []
    for start in in_time(range(0, len(ids), VOTES_BATCH)):
        batch = ids[start : start + VOTES_BATCH]
        sums = votes.on_memories(batch).sums_by_memory()
        counts = ((pk, *sums.get(pk, (0.0, 0.0))) for pk in batch)
        unhelpful += [pk for pk, up, down in counts if is_unhelpful(shown[pk], up, down)]
    return unhelpful


def _prune_batch(tenant_id: UUID, now: datetime) -> int:
    with tenant_scope(tenant_id):
        profile = budget_profile_for(tenant_id, api_key_id=None, partition_path="")
        receipts = Receipt.objects.for_tenant(tenant_id)
        oldest = now - timedelta(days=profile.receipt_days)
        LongQuery.objects.for_tenant(tenant_id).discard_before(oldest)
        receipt_ids = receipts.ids_before(oldest, PRUNE_BATCH)
        receipt_ids += receipts.ids_beyond(profile.receipt_count, PRUNE_BATCH - len(receipt_ids))
        deleted = receipts.with_ids(receipt_ids).discard() if receipt_ids else 0
        if deleted:
            target_ids, verb = [counted(deleted, "receipt", "receipts")], "prune_receipts"
            record_audit(verb, "receipt", target_ids, tenant_id=tenant_id, by=PRUNER, now=now)
    return deleted
