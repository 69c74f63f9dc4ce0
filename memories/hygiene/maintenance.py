"""Scheduled hygiene work: compare new texts with their partitions, find unused and expiring memories (ADR-0083).

A table lists the memories that have not been compared yet. Each tenant's work runs in its own scope.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from uuid import UUID

import numpy as np
from django.db.models import Q
from numpy.typing import NDArray

from memories.embeddings.embedders import active_model_name
from memories.embeddings.queries.vectors import MemoryEmbeddingQuerySet
from memories.models import Memory, MemoryEmbedding, MemoryFinding, MemoryPair, RecalledText, Tenant, UncomparedMemory
from memories.services.hygiene import rules
from memories.services.store.content import RECALLED_TEXT_TTL, recalled_hash
from memories.services.store.recalled_text import repeats_recalled_text
from memories.services.time_limits import in_time
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import SweepLock, sweep_lock, tenants_in_turn

COMPARE_LOCK = "memories.compare-new-memories"
#: Maximum batches of one tenant in one sweep.
COMPARE_BATCHES_MAX = 20
#: Memories per comparison with their partition, and rows of the partition per read.
COMPARED_BATCH = 500
ROWS_READ = 1_000

#: One memory, the other, and the cosine of their vectors.
DetectedPairs = tuple[UUID, UUID, float]
#: Kind, id of the older and of the newer memory, similarity, hash of the texts.
StoredPair = tuple[str, UUID, UUID, float, str]


#: Whether there is time for more.
CanContinue = Callable[[], bool]


def _always() -> bool:
    return True


def compare_new_memories_of_tenants(*, now: datetime, can_continue: CanContinue = _always) -> int:
    """Compare new and changed memories of all tenants while `can_continue()`; return how many. Runs once at a time."""
    with sweep_lock(COMPARE_LOCK) as lock:
        if lock is None:
            return 0
        with maintenance_scope():
            tenant_ids = UncomparedMemory.objects.tenant_ids()
        compared = 0
        for tenant_id in tenants_in_turn("compare-memories", tenant_ids):
            compared += _compare_of_tenant(tenant_id, now, lock, can_continue)
            if not can_continue():
                break
        return compared


def _compare_of_tenant(tenant_id: UUID, now: datetime, lock: SweepLock, can_continue: CanContinue) -> int:
    compared = 0
    for _ in range(COMPARE_BATCHES_MAX):
        batch = (
            detect_pairs_in_batch(tenant_id, now=now, can_continue=can_continue)
            if can_continue() and lock.renew()
            else 0
        )
        compared += batch
        if not batch:
            break
    return compared


def find_unused_and_expiring_memories(*, now: datetime) -> None:
    """Find never retrieved and soon expiring memories of all tenants; delete pairs with an archived memory."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    for tenant_id in tenants_in_turn("unused-memories", tenant_ids):
        with tenant_scope(tenant_id):
            findings = MemoryFinding.objects
            findings.find(tenant_id, rules.NEVER_RETRIEVED, now=now, before=now - rules.NEVER_RETRIEVED_AFTER)
            findings.find(tenant_id, rules.EXPIRES_SOON, now=now, before=now + rules.EXPIRES_WITHIN)
            pairs = MemoryPair.objects.for_tenant(tenant_id).open().found_by_comparison()
            # A restored memory is compared again.
            pairs.filter(Q(older__archived_at__isnull=False) | Q(newer__archived_at__isnull=False)).delete()


def detect_pairs_in_batch(tenant_id: UUID, *, now: datetime, can_continue: CanContinue = _always) -> int:
    """Compare the longest waiting memories of one partition; return how many. Call with no scope open.

    Compares at least one, and further ones while `can_continue()`.
    """
    model = active_model_name(tenant_id)
    with tenant_scope(tenant_id):
        waiting = UncomparedMemory.objects.for_tenant(tenant_id)
        path: str | None = waiting.order_by("id").values_list("memory__partition_path", flat=True).first()
        if path is None:
            return 0
        rows = waiting.filter(memory__partition_path=path).order_by("id")
        batch = dict(rows.values_list("pk", "memory_id")[:COMPARED_BATCH])
        memory_ids = list(batch.values())
        found = _near(tenant_id, path, memory_ids, model, now) + _shown(tenant_id, memory_ids, now)
        compared, pairs = _classified(tenant_id, memory_ids, found, can_continue)
    with tenant_scope(tenant_id):
        _record(tenant_id, compared, pairs, now)
        waiting.with_ids(pk for pk, memory_id in batch.items() if memory_id in compared).delete()
    return len(compared)


def _near(tenant_id: UUID, path: str, memory_ids: Sequence[UUID], model: str, now: datetime) -> list[DetectedPairs]:
    """Return the nearest live memories of the partition to each of the given; reads the partition once, in chunks."""
    expired = Memory.objects.for_tenant(tenant_id).within(path, exact=True).expired(now)
    expired_ids = set(expired.values_list("pk", flat=True))
    partition = MemoryEmbedding.objects.for_tenant(tenant_id).of_partition(path, model)
    own_rows = list(_matrices_without(expired_ids, partition.of_memories(memory_ids)))
    own_ids = [pk for ids, _ in own_rows for pk in ids]
    if not own_ids:
        return []
    own = np.concatenate([matrix for _, matrix in own_rows])
    found: list[DetectedPairs] = []
    for ids, matrix in in_time(_matrices_without(expired_ids, partition)):
        near = rules.nearest_pairs(own, matrix)
        found += [(own_ids[i], ids[j], cosine) for i, j, cosine in near if own_ids[i] != ids[j]]
    return rules.limit_pairs_per_memory(found)


def _matrices_without(
    left_out: Collection[UUID], embeddings: MemoryEmbeddingQuerySet
) -> Iterator[tuple[list[UUID], NDArray[np.float32]]]:
    """Yield ids and vectors of memories in chunks, without those in `left_out`."""
    for ids, matrix in embeddings.matrices(ROWS_READ):
        kept = [place for place, pk in enumerate(ids) if pk not in left_out]
        yield [ids[place] for place in kept], matrix[kept]


def _shown(tenant_id: UUID, memory_ids: Sequence[UUID], now: datetime) -> list[DetectedPairs]:
    """Return pairs with memories of the tenant whose text, with folded case and spaces, was rendered recently."""
    rows = Memory.objects.for_tenant(tenant_id).live(now).with_ids(memory_ids).contents()
    by_hash = {recalled_hash(content): pk for pk, content in rows}
    recalled = RecalledText.objects.for_tenant(tenant_id).with_hashes(by_hash, since=now - RECALLED_TEXT_TTL)
    return [(by_hash[value], pk, 1.0) for value, pk in recalled.sources() if pk != by_hash[value]]


def _classified(
    tenant_id: UUID, memory_ids: Iterable[UUID], found: Sequence[DetectedPairs], can_continue: CanContinue
) -> tuple[set[UUID], list[StoredPair]]:
    """Return the memories that were compared, at least one, and their pairs."""
    cosines = {frozenset(pair): cosine for *pair, cosine in found}
    ids = {pk for pair in cosines for pk in pair}
    current = {row.pk: row for row in Memory.objects.for_tenant(tenant_id).unarchived().with_ids(ids)}
    shown = RecalledText.objects.for_tenant(tenant_id).spans(ids)
    pairs_of = defaultdict[UUID, list[frozenset[UUID]]](list)
    for one, other, _ in found:
        pairs_of[one].append(frozenset((one, other)))
    compared, pairs = set[UUID](), dict[frozenset[UUID], StoredPair | None]()
    for memory_id in memory_ids:
        if compared and not can_continue():
            break
        compared.add(memory_id)
        for pair in pairs_of[memory_id]:
            if pair <= current.keys() and pair not in pairs:
                older, newer = sorted((current[pk] for pk in pair), key=lambda row: (row.created_at, row.pk))
                pairs[pair] = _classified_pair(older, newer, cosines[pair], shown.get(older.pk, ()))
    return compared, [pair for pair in pairs.values() if pair is not None]


def _classified_pair(
    older: Memory, newer: Memory, cosine: float, shown: Iterable[tuple[str, datetime, datetime]]
) -> StoredPair | None:
    """Return the pair in its stored form; `shown` contains the first and last rendering of the older one."""
    was_shown = any(
        repeats_recalled_text(newer.partition_path, shown_in=place, stored_in=older.partition_path)
        and rules.was_recently_recalled(first, last, newer.recorded_from)
        for place, first, last in shown
    )
    if older.partition_path != newer.partition_path and not was_shown:
        return None
    kind = rules.classify_pair(older.content, newer.content, cosine, was_shown=was_shown)
    stamp = rules.texts_hash(older.content_hash, older.partition_path, newer.content_hash, newer.partition_path)
    return (kind, older.pk, newer.pk, round(cosine, 6), stamp) if kind else None


def _record(tenant_id: UUID, memory_ids: Collection[UUID], pairs: Sequence[StoredPair], now: datetime) -> None:
    stored = MemoryPair.objects.for_tenant(tenant_id)
    # An erasure can delete memories during the comparison.
    kept = Memory.objects.keep_stored(tenant_id, {pk for _, older, newer, *_ in pairs for pk in (older, newer)})
    if pairs := [pair for pair in pairs if {*pair[1:3]} <= kept]:
        stored.store(tenant_id, pairs, now)
    hashes_and_paths = stored.touching(memory_ids).found_by_comparison().hashes_and_paths()
    if stale := [number for number, stamp, *current in hashes_and_paths if stamp != rules.texts_hash(*current)]:
        stored.with_ids(stale).delete()
