"""Retrievals, recalled texts and usefulness of memories; contexts insert ticks, the worker folds them (ADR-0066)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from memories.models import IdempotencyRecord, Memory, MemoryPair, RecalledText, RetrievalTick, StoredAct, Tenant
from memories.services.hygiene.rules import REPLACED
from memories.services.store.content import RECALLED_TEXT_TTL, recalled_hash
from memories.services.store.recalled_text import context_partition, repeats_recalled_text
from memories.services.tenancy.act_labels import UNDO_DAYS
from memories.store.queries.ticks import RecalledRow
from memories.tenancy.queries.insertions import Insertion
from memories.tenancy.scopes import in_batches, maintenance_scope
from memories.tenancy.sweep_locks import tenants_in_turn

#: Maximum contexts folded in one transaction.
TICKS_PER_FOLD = 500
IDEMPOTENCY_TTL = timedelta(hours=24)
#: Maximum rows deleted in one transaction.
FORGET_BATCH = 10_000

MemoryId = TypeVar("MemoryId", UUID, str)
#: The hash of a new text and the partition that it is for.
RecalledKey = tuple[str, str]


def record_retrieval_tick(
    *,
    tenant_id: UUID,
    texts: Mapping[MemoryId, str],
    ids: Iterable[MemoryId],
    now: datetime,
    api_key_id: str | None = None,
    partition_path: str = "",
    segments: Mapping[str, str] | None = None,
    beside: Insertion | None = None,
) -> None:
    """Record that a context packed `ids` and rendered `texts` (by memory), in one statement with the row `beside`.

    `api_key_id` is the key that received the context, `partition_path` the partition that it was assembled for, and
    `segments` those that it required at any depth.
    """
    place = context_partition(partition_path, segments or {})
    if place is None:
        texts = {}
    hashes = dict.fromkeys(ids, "") | {memory_id: recalled_hash(text) for memory_id, text in texts.items()}
    if hashes:
        prefix = _key_prefix(api_key_id or "")
        RetrievalTick.objects.insertion(tenant_id, prefix, place or "", hashes, now).beside(beside).run()
    elif beside is not None:
        beside.run()


def fold_tenant_retrievals(tenant_id: UUID) -> int:
    """Fold the ticks of a tenant in batches, each one transaction; return how many. Call with no scope open."""
    return in_batches(tenant_id, lambda: RetrievalTick.objects.fold(tenant_id, TICKS_PER_FOLD), TICKS_PER_FOLD)


def recently_recalled_memories(
    *, tenant_id: UUID, texts: Collection[RecalledKey], api_key_ids: Iterable[str], now: datetime
) -> dict[RecalledKey, list[UUID]]:
    """Return for each of `texts` the memories that it repeats, the last rendered first; other texts are absent.

    Only contexts of the last 30 days count that one of the keys received (see `repeats_recalled_text`).
    """
    prefixes = {_key_prefix(key_id) for key_id in api_key_ids}
    if not texts or not prefixes:
        return {}
    hashes, since = {value for value, _ in texts}, now - RECALLED_TEXT_TTL
    by_hash: defaultdict[str, list[RecalledRow]] = defaultdict(list)
    for row in RetrievalTick.objects.recently_recalled(tenant_id, hashes, prefixes, since=since):
        by_hash[row.recalled_hash].append(row)
    found = {
        (value, path): [
            row.memory_id
            for row in by_hash[value]
            if repeats_recalled_text(path, shown_in=row.shown_in, stored_in=row.stored_in)
        ]
        for value, path in texts
        if value in by_hash
    }
    return {text: ids for text, ids in found.items() if ids}


def _key_prefix(api_key_id: str) -> str:
    """Return the prefix of a key, with which its id begins; the rest of the id is the hash of its secret."""
    return api_key_id.partition(".")[0]


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
    return sum(fold_tenant_retrievals(tenant_id) for tenant_id in tenants_in_turn("fold-retrievals", tenant_ids))


def delete_expired_records(*, now: datetime) -> int:
    """Delete expired records of all tenants; return the number of rows."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    deleted = 0
    for tenant_id in tenants_in_turn("delete-expired-records", tenant_ids):
        answers = IdempotencyRecord.objects.for_tenant(tenant_id).created_before(now - IDEMPOTENCY_TTL)
        recalled = RecalledText.objects.for_tenant(tenant_id).recalled_before(now - RECALLED_TEXT_TTL)
        acts = _acts_to_forget(tenant_id, now - timedelta(days=UNDO_DAYS))
        deleted += sum(_delete_in_batches(tenant_id, rows) for rows in (answers, recalled, acts))
    return deleted


def _acts_to_forget(tenant_id: UUID, before: datetime) -> "QuerySet[StoredAct]":
    """Return the acts of earlier days, except those of replacements that the hygiene list shows (ADR-0317).

    A pair that was dismissed later than that can still be put back on the list.
    """
    listed = MemoryPair.objects.for_tenant(tenant_id).of_kind(REPLACED).replaced_within("").not_dismissed_before(before)
    acts = StoredAct.objects.for_tenant(tenant_id).filter(at__lt=before)
    is_open = Q(act=StoredAct.Act.REPLACE, undone_at=None)
    return acts.exclude(is_open, Exists(listed.filter(older_id=OuterRef("archived_ids__0"))))


def _delete_in_batches(tenant_id: UUID, rows: "QuerySet[Any]") -> int:
    """Delete all rows of a query in batches, each in its own short transaction; return how many."""

    def delete_batch() -> int:
        ids = list(rows.values_list("pk", flat=True)[:FORGET_BATCH])
        return int(rows.model.objects.filter(pk__in=ids).delete()[0])

    return in_batches(tenant_id, delete_batch, FORGET_BATCH)
