"""Retrievals, recalled texts and usefulness of memories; contexts insert ticks, the worker folds them (ADR-0066)."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from django.db import transaction

from memories.models import IdempotencyRecord, Memory, RecalledText, RetrievalTick, Tenant
from memories.services.store.content import RECALLED_TEXT_KEPT, recalled_hash
from memories.tenancy.queries.insertions import Insertion
from memories.tenancy.scopes import maintenance_scope, tenant_scope

#: Contexts folded in one transaction.
TICKS_PER_FOLD = 500
IDEMPOTENCY_KEPT = timedelta(hours=24)
#: Rows deleted in one transaction.
FORGET_BATCH = 10_000

MemoryId = TypeVar("MemoryId", UUID, str)


def record_retrieval_tick(
    *,
    tenant_id: UUID,
    texts: Mapping[MemoryId, str],
    ids: Iterable[MemoryId],
    now: datetime,
    beside: Insertion | None = None,
) -> None:
    """Record that a context packed `ids` and rendered `texts` (by memory), in one statement with the row `beside`."""
    hashes = dict.fromkeys(ids, "") | {memory_id: recalled_hash(text) for memory_id, text in texts.items()}
    if hashes:
        RetrievalTick.objects.insertion(tenant_id, hashes, now).beside(beside).run()
    elif beside is not None:
        beside.run()


def fold_tenant_retrievals(tenant_id: UUID) -> int:
    """Fold the ticks of a tenant in batches, each one transaction; return how many. Call with no scope open."""
    folded = 0
    while True:
        with tenant_scope(tenant_id):
            batch = RetrievalTick.objects.fold(tenant_id, TICKS_PER_FOLD)
        folded += batch
        if batch < TICKS_PER_FOLD:
            return folded


def recently_recalled_memories(*, tenant_id: UUID, hashes: Iterable[str], now: datetime) -> dict[str, UUID]:
    """Return the memories whose texts with these hashes were rendered in the last 30 days, by hash."""
    wanted, since = set(hashes), now - RECALLED_TEXT_KEPT
    folded = RecalledText.objects.for_tenant(tenant_id).with_hashes(wanted, since=since).order_by("recalled_at")
    return dict(folded.values_list("recalled_hash", "memory_id")) | RetrievalTick.objects.recalled_lately(
        tenant_id, wanted, since=since
    )


@transaction.atomic
def update_usefulness_scores(*, scores: Mapping[UUID, float]) -> int:
    """Set the usefulness (0..1) of memories by id, without a new version; return how many."""
    if not all(0 <= score <= 1 for score in scores.values()):
        raise ValueError("usefulness is a share between 0 and 1")
    rows = list(Memory.objects.with_ids(scores).without_search_columns().locked())
    for row in rows:
        row.usefulness_score = scores[row.pk]
    Memory.objects.bulk_update(rows, ["usefulness_score"])
    return len(rows)


def fold_retrievals_of_tenants() -> int:
    """Fold the retrieval ticks of all tenants; return the number of contexts."""
    with maintenance_scope():
        tenant_ids = RetrievalTick.objects.tenant_ids()
    return sum(fold_tenant_retrievals(tenant_id) for tenant_id in tenant_ids)


def delete_expired_records(*, now: datetime) -> int:
    """Delete expired records of all tenants; return the number of rows."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    deleted = 0
    for tenant_id in tenant_ids:
        with tenant_scope(tenant_id):
            answers = IdempotencyRecord.objects.for_tenant(tenant_id).created_before(now - IDEMPOTENCY_KEPT)
            recalled = RecalledText.objects.for_tenant(tenant_id).recalled_before(now - RECALLED_TEXT_KEPT)
            for rows in (answers, recalled):
                ids = list(rows.values_list("pk", flat=True)[:FORGET_BATCH])
                deleted += rows.model.objects.filter(pk__in=ids).delete()[0]
    return deleted
