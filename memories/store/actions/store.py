"""Store new memories: upsert by the key that is unique among live rows, safe with concurrent writers."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import transaction

from memories import tasks
from memories.embeddings.vectors import VectorsAhead, models_if_active_is_included, store_first_vectors
from memories.models import AuditEntry, EmbeddingModel, Memory, MemoryLink, Partition, Tenant
from memories.services.store.content import content_hash, normalise_content, recalled_hash
from memories.services.store.drafts import NewMemory, memory_change_problems, source_state
from memories.store.actions.replace import replace_memories
from memories.store.bulk_rows import open_rewritten_versions
from memories.store.live_rows import (
    LiveKey,
    archive_expired,
    changed_values,
    ensure_partitions,
    text_columns,
    unarchived_rows_by_key,
)
from memories.store.recall import recently_recalled_memories
from memories.store.replaceable import replaceable_memories
from memories.store.store_results import CHANGED_ROW, STALE_ROW, StoreResult, StoreStatus, invalid_rows, source_changes
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict
from memories.tenancy.queries.prepared import sent_together

#: Maximum attempts to insert while concurrent writers insert and archive the same text.
INSERT_ATTEMPTS = 4


@dataclass(frozen=True)
class _Write:
    """The parameters of all rows of a call; `ahead` are vectors of their texts that may be stored with them."""

    tenant_id: UUID
    by: Actor
    now: datetime
    ahead: VectorsAhead | None = None


@transaction.atomic(savepoint=False)
def store_memories(
    *,
    tenant: Tenant,
    rows: Sequence[NewMemory],
    refuses_recalled_text: bool = False,
    ahead: VectorsAhead | None = None,
    reach: str = "",
    by: Actor,
    now: datetime,
) -> list[StoreResult]:
    """Store the rows in a constant number of queries; return their results in order, also of invalid rows.

    A row whose `source_id` a live memory of its partition has with another text updates that memory as a new version,
    unless its `if_versions` or `if_state` excludes the present one. With `refuses_recalled_text`, a text that repeats
    what a context of the writer's key rendered returns the memory it came from, unless the row updates, or its
    `if_versions` requires, a memory of its `source_id`. Links, recalled and replaced memories must be within the
    partition prefix `reach`. New memories whose texts have vectors in `ahead` are stored with them; the others are
    pending.
    """
    replaceable = replaceable_memories(tenant.pk, rows, reach, now)
    results = invalid_rows(tenant.pk, rows, replaceable, reach, now)
    valid = {index: row for index, row in enumerate(rows) if index not in results}
    embedding_models: list[EmbeddingModel] = []
    if refuses_recalled_text and valid:
        held_sources = _held_sources(tenant.pk, valid)
        others = {
            index: row
            for index, row in valid.items()
            if not row.is_stale(0) and (row.partition.path, row.source_id) not in held_sources
        }
        results |= _recalled_rows(tenant.pk, others, reach, by, now)
        valid = {index: row for index, row in valid.items() if index not in results}
    if valid:
        if ahead is not None:
            embedding_models = models_if_active_is_included(tenant.pk, ahead)
        results |= _upsert(_Write(tenant.pk, by, now, ahead if embedding_models else None), valid)
    in_order = [results[index] for index in range(len(rows))]
    replaced = defaultdict[UUID, list[UUID]](list)
    for row, result in zip(rows, in_order, strict=True):
        if row.supersedes and result.memory is not None:
            replaced[result.memory.pk] += replaceable.of(row)
    if any(replaced.values()):
        replace_memories(tenant_id=tenant.pk, replaced=replaced, by=by, now=now)
    created = [row.memory for row in in_order if row.memory is not None and row.status == StoreStatus.CREATED]
    if created:
        ready = [memory for memory in created if memory.embedding_state == Memory.EmbeddingState.READY]
        pending = [memory.pk for memory in created if memory.embedding_state == Memory.EmbeddingState.PENDING]
        with sent_together():
            audit_rows("store_memories" if len(rows) > 1 else "store_memory", created, by=by, now=now)
            if ahead is not None and ready:
                store_first_vectors(tenant.pk, ready, ahead, embedding_models)
        tasks.enqueue_embedding(tenant.pk, pending)
    return in_order


def _held_sources(tenant_id: UUID, rows: Mapping[int, NewMemory]) -> set[tuple[str, str]]:
    """Return the pairs of partition path and `source_id` that live memories have: these rows update them."""
    named = {(row.partition.path, row.source_id) for row in rows.values() if row.source_id}
    found = Memory.objects.for_tenant(tenant_id).unarchived().of_sources(named) if named else ()
    return named & {(memory.partition_path, memory.source_id) for memory in found}


def _recalled_rows(
    tenant_id: UUID, rows: Mapping[int, NewMemory], reach: str, by: Actor, now: datetime
) -> dict[int, StoreResult]:
    """Return the results of rows that repeat a live memory which a context of the writer's key rendered."""
    texts = {index: (recalled_hash(row.content), row.partition.path) for index, row in rows.items()}
    keys = [by.id] if by.kind == AuditEntry.ActorKind.KEY else []
    recalled = recently_recalled_memories(tenant_id=tenant_id, texts=set(texts.values()), api_key_ids=keys, now=now)
    if not recalled:
        return {}
    live = Memory.objects.for_tenant(tenant_id).live(now).within(reach).in_bulk({*chain(*recalled.values())})
    sources = {index: [live[pk] for pk in recalled.get(text, ()) if pk in live] for index, text in texts.items()}
    return {
        index: StoreResult(found[0], StoreStatus.EXISTING, reason="recalled")
        for index, found in sources.items()
        if found
    }


def _upsert(write: _Write, rows: Mapping[int, NewMemory]) -> dict[int, StoreResult]:
    partitions = ensure_partitions(write.tenant_id, (row.partition for row in rows.values()))
    keys = {
        index: (partitions[row.partition.path].pk, content_hash(row.content), row.source_id)
        for index, row in rows.items()
    }
    if any(row.source_id for row in rows.values()):
        # Writers of the same source_id wait for each other, so that there is one memory of it.
        Partition.objects.with_ids({partition for partition, _, source_id in keys.values() if source_id}).lock()
    results: dict[int, StoreResult] = {}
    for wave in _waves(keys, {index for index, row in rows.items() if row.is_conditional}):
        results |= _upsert_wave(write, {index: rows[index] for index in wave}, keys, partitions)
    return results


def _waves(keys: Mapping[int, LiveKey], conditional: Collection[int]) -> list[list[int]]:
    """Split the rows so that each wave has one text of a `source_id`; later texts follow in later waves.

    A `conditional` row has a wave of its own, because an equal row may have another condition.
    """
    waves: dict[int, list[int]] = defaultdict(list)
    latest: dict[tuple[int, str], tuple[int, str]] = {}
    for index, (partition_id, text_hash, source_id) in keys.items():
        wave, known_hash = latest.get((partition_id, source_id), (-1, ""))
        is_alone = index in conditional
        number = wave + 1 if source_id and (is_alone or known_hash != text_hash) else max(wave, 0)
        latest[partition_id, source_id] = (number, "" if is_alone else text_hash)
        waves[number].append(index)
    return list(waves.values())


def _upsert_wave(
    write: _Write,
    rows: Mapping[int, NewMemory],
    all_keys: Mapping[int, LiveKey],
    partitions: Mapping[str, Partition],
) -> dict[int, StoreResult]:
    keys = {index: all_keys[index] for index in rows}
    # The first of several equal rows of a batch is stored.
    firsts = {key: index for index, key in reversed(keys.items())}
    changed = _update_by_source(write, rows, firsts)
    absent = {key: index for key, index in firsts.items() if key not in changed}
    holders, created = _insert_absent(write, rows, absent, partitions)
    holders |= {key: result.memory for key, result in changed.items() if result.memory is not None}
    links = [
        MemoryLink(
            tenant_id=write.tenant_id,
            source=holders[key],
            target_id=link.target_id,
            kind=link.kind,
            recorded_from=write.now,
        )
        for key in created | (changed.keys() & holders.keys())
        for link in dict.fromkeys(rows[firsts[key]].links)
        if link.target_id != holders[key].pk  # a link joins two memories
    ]
    if links:
        MemoryLink.objects.bulk_create(links, ignore_conflicts=True)
    stored = changed | {key: StoreResult(holders[key], StoreStatus.CREATED) for key in created}
    return {
        index: stored[key]
        if key in stored and (firsts[key] == index or key not in holders)
        else StoreResult(holders[key], StoreStatus.EXISTING, reason="duplicate")
        for index, key in keys.items()
    }


def _update_by_source(
    write: _Write, rows: Mapping[int, NewMemory], firsts: Mapping[LiveKey, int]
) -> dict[LiveKey, StoreResult]:
    """Give live memories of the same `source_id` the new texts; return the results of the keys that name one."""
    keys_by_source = {(rows[index].partition.path, key[2]): key for key, index in firsts.items() if key[2]}
    if not keys_by_source:
        return {}
    found = list(Memory.objects.for_tenant(write.tenant_id).unarchived().of_sources(keys_by_source).locked())
    expired = archive_expired(found, by=write.by, now=write.now)
    live: dict[tuple[str, str], list[Memory]] = defaultdict(list)
    for row in found:
        if row.pk not in expired:
            live[row.partition_path, row.source_id].append(row)
    results: dict[LiveKey, StoreResult] = {}
    values: dict[UUID, dict[str, Any]] = {}
    names: set[str] = set()
    for source, key in keys_by_source.items():
        holders, new = live[source], rows[firsts[key]]
        current = max(holders, key=lambda row: (row.recorded_from, row.version), default=None)
        if new.is_stale(current.version if current else 0):
            results[key] = StoreResult(None, StoreStatus.INVALID, problems=(STALE_ROW,))
            continue
        if any(row.content_hash == key[1] for row in holders):
            continue  # the caller finds it existing
        state = source_state(current.version, current.content_hash) if current else source_state()
        if new.if_state not in {"", state}:
            results[key] = StoreResult(None, StoreStatus.INVALID, problems=(CHANGED_ROW,))
            continue
        if current is None:
            continue  # the caller inserts it
        changes = source_changes(new, current)
        created_at, expires_at = current.created_at, current.expires_at
        if problems := memory_change_problems(changes, created_at=created_at, expires_at=expires_at, now=write.now):
            results[key] = StoreResult(None, StoreStatus.INVALID, problems=tuple(problems))
            continue
        fields, values[current.pk] = changed_values(current, changes)
        names.update(fields)
        results[key] = StoreResult(current, StoreStatus.UPDATED)
    if values:
        updated = [result.memory for result in results.values() if result.memory is not None]
        open_rewritten_versions(updated, write.now, values)
        audit_rows("update_memory", updated, fields=names, by=write.by, now=write.now)
    return results


def _insert_absent(
    write: _Write,
    rows: Mapping[int, NewMemory],
    firsts: Mapping[LiveKey, int],
    partitions: Mapping[str, Partition],
) -> tuple[dict[LiveKey, Memory], set[LiveKey]]:
    """Return the live memory of every key, and the keys that this call inserted.

    The INSERT waits for a concurrent writer of the same key. Rows that it did not insert are read, or inserted again if
    the existing row has expired or was archived since.
    """
    holders: dict[LiveKey, Memory] = {}
    created: set[LiveKey] = set()
    absent = sorted(firsts)
    for _ in range(INSERT_ATTEMPTS):
        ours = {key: _new_row(write, rows[firsts[key]], partitions) for key in absent}
        inserted = Memory.objects.insert_absent(list(ours.values()))
        new = {key: memory for key, memory in ours.items() if memory.pk in inserted}
        created |= new.keys()
        holders |= new
        if not (absent := [key for key in absent if key not in new]):
            return holders, created
        found = unarchived_rows_by_key(write.tenant_id, absent)
        expired = archive_expired(list(found.values()), by=write.by, now=write.now)
        holders |= {key: memory for key, memory in found.items() if memory.pk not in expired}
        if not (absent := [key for key in absent if key not in holders]):
            return holders, created
    raise Conflict("busy", "The same text is being stored and archived at the same time. Try again.")


def _new_row(write: _Write, row: NewMemory, partitions: Mapping[str, Partition]) -> Memory:
    own = ("kind", "confidence", "pinned", "metadata", "expires_at", "source_id", "session", "position")
    created_at, content = row.created_at or write.now, normalise_content(row.content)
    is_embedded = write.ahead is not None and content in write.ahead.places
    return Memory(
        tenant_id=write.tenant_id,
        partition=partitions[row.partition.path],
        partition_path=row.partition.path,
        created_at=created_at,
        valid_from=min(row.valid_from or created_at, write.now),
        recorded_from=write.now,
        **{name: getattr(row, name) for name in own},
        embedding_state=Memory.EmbeddingState.READY if is_embedded else Memory.EmbeddingState.PENDING,
        **text_columns(content),
    )
