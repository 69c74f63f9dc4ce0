"""The orchestrator of comparing each new text with all others of its partition, in the background (ADR-0083).

A table lists the waiting memories, so that a killed worker loses nothing and an edited memory is compared again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np

from memories.embeddings.embedders import active_model_name
from memories.models import Memory, MemoryEmbedding, MemoryPair, RecalledText, UncomparedMemory
from memories.services.hygiene.rules import (
    classify_pair,
    limit_pairs_per_memory,
    nearest_pairs,
    texts_hash,
    was_recently_recalled,
)
from memories.services.store.content import RECALLED_TEXT_KEPT, recalled_hash
from memories.tenancy.scopes import tenant_scope

#: Memories compared at once with their partition, and rows of the partition read at once.
COMPARED_BATCH = 500
ROWS_READ = 5_000

#: One memory, the other, and the cosine of their vectors.
DetectedPairs = tuple[UUID, UUID, float]


@dataclass(frozen=True)
class DetectedPair:
    """A pair as it is stored."""

    kind: str
    older_id: UUID
    newer_id: UUID
    similarity: float
    texts_hash: str


def detect_pairs_in_batch(tenant_id: UUID, *, now: datetime) -> int:
    """Compare the longest waiting memories of one partition; return how many. Call with no scope open."""
    model = active_model_name(tenant_id)
    with tenant_scope(tenant_id):
        waiting = UncomparedMemory.objects.for_tenant(tenant_id)
        path = waiting.first_partition()
        if path is None:
            return 0
        batch = waiting.in_partition(path, COMPARED_BATCH)
        memory_ids = [memory_id for _, memory_id, _ in batch]
        found = _near(tenant_id, path, memory_ids, model, now) + _shown(tenant_id, memory_ids, now)
        pairs = _classified(tenant_id, found)
    with tenant_scope(tenant_id):
        _record(tenant_id, memory_ids, pairs, now)
        waiting.take(number for number, _, _ in batch)
    return len(batch)


def _near(tenant_id: UUID, path: str, memory_ids: Sequence[UUID], model: str, now: datetime) -> list[DetectedPairs]:
    """Return the nearest live memories of the partition to each of the given; reads the partition once, in chunks."""
    embeddings = MemoryEmbedding.objects.for_tenant(tenant_id)
    live = Memory.objects.for_tenant(tenant_id).live(now)
    own_rows = list(embeddings.current_in(live.with_ids(memory_ids), model).matrices(ROWS_READ))
    if not own_rows:
        return []
    own_ids = [pk for ids, _ in own_rows for pk in ids]
    own = np.concatenate([matrix for _, matrix in own_rows])
    found: list[DetectedPairs] = []
    for ids, matrix in embeddings.current_in(live.within(path, exact=True), model).matrices(ROWS_READ):
        near = nearest_pairs(own, matrix)
        found += [(own_ids[i], ids[j], cosine) for i, j, cosine in near if own_ids[i] != ids[j]]
    return limit_pairs_per_memory(found)


def _shown(tenant_id: UUID, memory_ids: Sequence[UUID], now: datetime) -> list[DetectedPairs]:
    """Return pairs with memories of the tenant whose text, with folded case and spaces, was rendered recently."""
    rows = Memory.objects.for_tenant(tenant_id).live(now).with_ids(memory_ids).contents()
    by_hash = {recalled_hash(content): pk for pk, content in rows}
    recalled = RecalledText.objects.for_tenant(tenant_id).with_hashes(by_hash, since=now - RECALLED_TEXT_KEPT)
    return [(by_hash[value], pk, 1.0) for value, pk in recalled.sources() if pk != by_hash[value]]


def _classified(tenant_id: UUID, found: Iterable[DetectedPairs]) -> list[DetectedPair]:
    """Return the pairs that belong in a list, each once."""
    cosines = {frozenset(pair): cosine for *pair, cosine in found}
    ids = {pk for pair in cosines for pk in pair}
    heads = {row.pk: row for row in Memory.objects.for_tenant(tenant_id).unarchived().with_ids(ids)}
    shown = RecalledText.objects.for_tenant(tenant_id).spans(ids)
    pairs = (_pair(heads, pair, cosine, shown) for pair, cosine in cosines.items() if pair <= heads.keys())
    return [pair for pair in pairs if pair is not None]


def _pair(
    heads: Mapping[UUID, Memory],
    ids: frozenset[UUID],
    similarity: float,
    shown: Mapping[UUID, tuple[datetime, datetime]],
) -> DetectedPair | None:
    older, newer = sorted((heads[pk] for pk in ids), key=lambda row: (row.created_at, row.pk))
    was_shown = older.pk in shown and was_recently_recalled(*shown[older.pk], newer.recorded_from)
    kind = classify_pair(older.content, newer.content, similarity, was_shown=was_shown)
    if kind is None:
        return None
    stamp = texts_hash(older.content_hash, older.partition_path, newer.content_hash, newer.partition_path)
    return DetectedPair(kind, older.pk, newer.pk, round(similarity, 6), stamp)


def _record(tenant_id: UUID, memory_ids: Sequence[UUID], pairs: Sequence[DetectedPair], now: datetime) -> None:
    """Store the pairs, and delete pairs of texts that changed."""
    stored = MemoryPair.objects.for_tenant(tenant_id)
    if pairs:
        stored.store(tenant_id, pairs, now)
    stale = [
        number for number, stamp, *now_held in stored.touching(memory_ids).stamps() if stamp != texts_hash(*now_held)
    ]
    if stale:
        stored.numbered(stale).delete()
