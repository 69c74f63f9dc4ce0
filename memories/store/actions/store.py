"""Store new memories: upsert by the key that is unique among live rows, safe with concurrent writers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import models, transaction

from memories import tasks
from memories.models import Memory, MemoryLink, Partition, Tenant
from memories.services.store.content import content_hash, normalise_content, recalled_hash
from memories.services.store.drafts import FieldProblem, NewMemory, new_memory_problems
from memories.store.live_rows import LiveKey, archive_expired, ensure_partitions, text_columns, unarchived_rows_by_key
from memories.store.recall import recently_recalled_memories
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict

#: Attempts to insert while concurrent writers insert and archive the same text.
INSERT_ATTEMPTS = 3


class StoreStatus(models.TextChoices):
    CREATED = "created"
    EXISTING = "existing"
    INVALID = "invalid"


@dataclass(frozen=True)
class StoreResult:
    """The result of one row: the memory with the text (`reason` is `duplicate` or `recalled`), or problems."""

    memory: Memory | None
    status: str
    reason: str = ""
    problems: tuple[FieldProblem, ...] = ()


@transaction.atomic
def store_memories(
    *,
    tenant: Tenant,
    rows: Sequence[NewMemory],
    refuses_recalled_text: bool = False,
    reach: str = "",
    by: Actor,
    now: datetime,
) -> list[StoreResult]:
    """Store the rows in a constant number of queries; return their results in order, also of invalid rows.

    With `refuses_recalled_text`, a recently rendered text returns the memory it came from. Links and recalled memories
    must be within the partition prefix `reach`.
    """
    results = _invalid_rows(tenant.pk, rows, reach, now)
    valid = {index: row for index, row in enumerate(rows) if index not in results}
    if refuses_recalled_text and valid:
        results |= _recalled_rows(tenant.pk, valid, reach, now)
        valid = {index: row for index, row in valid.items() if index not in results}
    if valid:
        results |= _upsert(tenant.pk, valid, by, now)
    in_order = [results[index] for index in range(len(rows))]
    created = [row.memory for row in in_order if row.memory is not None and row.status == StoreStatus.CREATED]
    if created:
        audit_rows("store_memories" if len(rows) > 1 else "store_memory", created, by=by, now=now)
        tasks.enqueue_embedding(tenant.pk, [memory.pk for memory in created])
    return in_order


def _invalid_rows(tenant_id: UUID, rows: Sequence[NewMemory], reach: str, now: datetime) -> dict[int, StoreResult]:
    targets = {link.target_id for row in rows for link in row.links}
    known = set(Memory.objects.for_tenant(tenant_id).within(reach).with_ids(targets).ids()) if targets else set()
    results = {}
    for index, row in enumerate(rows):
        problems = new_memory_problems(row, now=now)
        if any(link.target_id not in known for link in row.links):
            problems.append(FieldProblem("links", "unknown_target", "A linked memory does not exist."))
        if problems:
            results[index] = StoreResult(None, StoreStatus.INVALID, problems=tuple(problems))
    return results


def _recalled_rows(tenant_id: UUID, rows: Mapping[int, NewMemory], reach: str, now: datetime) -> dict[int, StoreResult]:
    """Return the results of rows whose text was rendered in the last 30 days."""
    hashes = {index: recalled_hash(row.content) for index, row in rows.items()}
    memory_ids = recently_recalled_memories(tenant_id=tenant_id, hashes=hashes.values(), now=now)
    if not memory_ids:
        return {}
    live = Memory.objects.for_tenant(tenant_id).live(now).within(reach).in_bulk(list(memory_ids.values()))
    return {
        index: StoreResult(live[memory_ids[value]], StoreStatus.EXISTING, reason="recalled")
        for index, value in hashes.items()
        if value in memory_ids and memory_ids[value] in live
    }


def _upsert(tenant_id: UUID, rows: Mapping[int, NewMemory], by: Actor, now: datetime) -> dict[int, StoreResult]:
    partitions = ensure_partitions(tenant_id, (row.partition for row in rows.values()))
    keys = {
        index: (partitions[row.partition.path].pk, content_hash(row.content), row.source_id)
        for index, row in rows.items()
    }
    # The first of several equal rows of a batch is stored.
    firsts = {key: index for index, key in reversed(keys.items())}
    holders, created = _insert_absent(tenant_id, rows, firsts, partitions, by, now)
    links = [
        MemoryLink(
            tenant_id=tenant_id, source=holders[key], target_id=link.target_id, kind=link.kind, recorded_from=now
        )
        for key in created
        for link in dict.fromkeys(rows[firsts[key]].links)
    ]
    if links:
        MemoryLink.objects.bulk_create(links, ignore_conflicts=True)
    return {
        index: StoreResult(holders[key], StoreStatus.CREATED)
        if key in created and firsts[key] == index
        else StoreResult(holders[key], StoreStatus.EXISTING, reason="duplicate")
        for index, key in keys.items()
    }


def _insert_absent(
    tenant_id: UUID,
    rows: Mapping[int, NewMemory],
    firsts: Mapping[LiveKey, int],
    partitions: Mapping[str, Partition],
    by: Actor,
    now: datetime,
) -> tuple[dict[LiveKey, Memory], set[LiveKey]]:
    """Return the live memory of every key, and the keys that this call inserted.

    The INSERT waits for a concurrent writer of the same key, then its row is read, or inserted again if archived since.
    """
    holders = unarchived_rows_by_key(tenant_id, firsts)
    archived = set(archive_expired(list(holders.values()), by=by, now=now))
    holders = {key: memory for key, memory in holders.items() if memory.pk not in archived}
    created: set[LiveKey] = set()
    for _ in range(INSERT_ATTEMPTS):
        absent = sorted(key for key in firsts if key not in holders)
        if not absent:
            return holders, created
        ours = {key: _new_row(tenant_id, rows[firsts[key]], partitions, now) for key in absent}
        Memory.objects.bulk_create(ours.values(), ignore_conflicts=True)
        winners = unarchived_rows_by_key(tenant_id, absent)
        created |= {key for key, winner in winners.items() if winner.pk == ours[key].pk}
        holders |= winners
    if len(holders) < len(firsts):
        raise Conflict("busy", "The same text is being stored and archived at this moment. Try again.")
    return holders, created


def _new_row(tenant_id: UUID, row: NewMemory, partitions: Mapping[str, Partition], now: datetime) -> Memory:
    own = ("kind", "confidence", "pinned", "metadata", "expires_at", "source_id", "session", "position")
    created_at = row.created_at or now
    return Memory(
        tenant_id=tenant_id,
        partition=partitions[row.partition.path],
        partition_path=row.partition.path,
        created_at=created_at,
        valid_from=min(created_at, now),
        recorded_from=now,
        **{name: getattr(row, name) for name in own},
        **text_columns(normalise_content(row.content)),
    )
