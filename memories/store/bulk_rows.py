"""Steps of actions on locked memories, in a constant number of queries (ADR-0089); actions write the audit row."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Value
from django.db.models.functions import Greatest

from memories import tasks
from memories.embeddings.vectors import add_missing_for_superseded, copy_vectors_to_current
from memories.models import Memory, MemoryLink, MemoryVersion, Partition
from memories.models.memory import VERSION_COLUMNS
from memories.services.partitions.paths import parse_partition
from memories.services.search.lexemes import search_columns
from memories.services.store.bulk import SKIPPED_DUPLICATE, SKIPPED_SOURCE, SKIPPED_SUMMARY, BulkAction, skip_reason
from memories.services.store.drafts import SUPERSEDES
from memories.store.live_rows import (
    archive_expired,
    duplicate_key,
    ensure_partitions,
    other_live_summaries,
    source_holders,
    unarchived_rows_by_key,
)
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict

REWRITTEN_ROWS_PER_STATEMENT = 100
LIVE_CONSTRAINT = "memory_is_unique_among_live"


def duplicate_conflict() -> Conflict:
    """Return the error for a text that a live memory already has."""
    return Conflict("duplicate", "Another live memory of this partition has the same text.", "content")


def source_conflict() -> Conflict:
    """Return the error for a `source_id` that a live memory of the partition already has."""
    return Conflict(SKIPPED_SOURCE, "Another live memory of this partition has the same source_id.", "source_id")


def lock_seen_rows(
    tenant_id: UUID, action: BulkAction, seen: Mapping[UUID, int], kind: str
) -> tuple[list[Memory], "Counter[str]"]:
    """Return the rows that an action applies to, locked, and how many it skips by reason."""
    found = {row.pk: row for row in Memory.objects.for_tenant(tenant_id).with_ids(seen).locked()}
    reasons = {pk: skip_reason(action, found.get(pk), seen_version=version, kind=kind) for pk, version in seen.items()}
    rows = [row for pk, row in found.items() if not reasons[pk]]
    return rows, Counter(reason for reason in reasons.values() if reason)


def archive_rows(rows: Sequence[Memory], now: datetime) -> None:
    """Archive live rows."""
    Memory.objects.filter(pk__in=[row.pk for row in rows]).end(now)
    for row in rows:
        row.archived_at = _change_time(row, now)


def close_rows(rows: Sequence[Memory], valid_to: Mapping[UUID, datetime], now: datetime) -> None:
    """Archive live rows whose validity ended at `valid_to`, by id, but not before it began."""
    for row in rows:
        row.archived_at = _change_time(row, now)
        row.valid_to = min(max(valid_to[row.pk], row.valid_from), row.archived_at)
    Memory.objects.bulk_update(rows, ["archived_at", "valid_to"], batch_size=REWRITTEN_ROWS_PER_STATEMENT)


def restore_rows(rows: Sequence[Memory], *, by: Actor, now: datetime) -> None:
    """Restore archived rows, each as a new version. Raises `Conflict` `duplicate`, `source_taken` or `live_summary`.

    A replaced row is valid again without a gap; the links from its successors end.
    """
    _refuse(unavailable_rows(rows, by=by, now=now))
    for live_id in other_live_summaries(rows, now).values():
        detail = f"Memory {live_id} is the live summary of the same session. Archive it before you restore another."
        raise Conflict(SKIPPED_SUMMARY, detail)
    _unlink_successors(rows, now)
    open_next_versions(rows, now, {})


def _unlink_successors(rows: Sequence[Memory], now: datetime) -> None:
    """End the links to replaced rows."""
    replaced = [row.pk for row in rows if row.valid_to is not None]
    if replaced:
        links = MemoryLink.objects.for_tenant(rows[0].tenant_id).current().of_kind(SUPERSEDES)
        links.filter(target_id__in=replaced).update(recorded_to=Greatest(Value(now), "recorded_from"))


def move_rows(rows: Sequence[Memory], partition: Partition, now: datetime) -> None:
    """Put rows into a partition, each in a new version. Raises `Conflict` `duplicate`."""
    open_next_versions(rows, now, {"partition_id": partition.pk, "partition_path": partition.path})


def move_rows_back(rows: Sequence[Memory], path: str, *, by: Actor, now: datetime) -> None:
    """Put rows into a partition that they left. Raises `Conflict` `duplicate` or `source_taken`."""
    partition = ensure_partitions(rows[0].tenant_id, [parse_partition(path)])[path]
    _refuse(unavailable_rows(rows, partition, by=by, now=now))
    move_rows(rows, partition, now)


def unrestorable_rows(rows: Sequence[Memory], *, by: Actor, now: datetime) -> dict[UUID, str]:
    """Return skip reasons: a live memory, or an earlier row, has the text or the `source_id` in the partition.

    Or the row is a session summary, and another summary of the session is live.
    """
    taken = unavailable_rows(rows, by=by, now=now)  # first, because it locks the partitions
    left = [row for row in rows if row.pk not in taken]
    return taken | dict.fromkeys(other_live_summaries(left, now), SKIPPED_SUMMARY)


def _refuse(reasons: Mapping[UUID, str]) -> None:
    for reason in reasons.values():
        raise duplicate_conflict() if reason == SKIPPED_DUPLICATE else source_conflict()


def unavailable_rows(
    rows: Sequence[Memory], partition: Partition | None = None, *, by: Actor, now: datetime
) -> dict[UUID, str]:
    """Return skip reasons: a live memory of the partition, or an earlier row, has the text or the `source_id`.

    The partition is that of each row, if none is given. Archives expired holders and locks the partitions.
    """
    if not rows:
        return {}
    keys = {row.pk: (partition.pk if partition else row.partition_id, *duplicate_key(row)[1:]) for row in rows}
    holders = {*source_holders(rows[0].tenant_id, keys.values())}
    holders |= {*unarchived_rows_by_key(rows[0].tenant_id, keys.values()).values()}
    expired = archive_expired(list(holders), by=by, now=now)
    used_keys: set[Any] = set()
    for holder in holders:
        if holder.pk not in expired:
            used_keys |= {duplicate_key(holder), (holder.partition_id, holder.source_id)}
    reasons: dict[UUID, str] = {}
    for row in rows:
        partition_id, _, source_id = key = keys[row.pk]
        if key in used_keys:
            reasons[row.pk] = SKIPPED_DUPLICATE
        elif source_id and (partition_id, source_id) in used_keys:
            reasons[row.pk] = SKIPPED_SOURCE
        used_keys |= {key, (partition_id, source_id)}
    return reasons


def open_next_versions(rows: Sequence[Memory], now: datetime, values: Mapping[str, Any]) -> None:
    """End the current version of each row and open a live one with `values`. Raises `Conflict` `duplicate`."""
    if not rows:
        return
    tenant_id, ids, has_new_text = rows[0].tenant_id, [row.pk for row in rows], "content" in values
    _end_versions(rows, now, dict.fromkeys(ids, values))
    with _duplicates_refused():
        Memory.objects.filter(pk__in=ids).open_next_versions(now, **values)
    if not has_new_text:
        copy_vectors_to_current(tenant_id, ids)
    pending = [row.pk for row in rows if row.embedding_state != Memory.EmbeddingState.READY]
    if pending:
        tasks.enqueue_embedding(tenant_id, pending)


def open_rewritten_versions(rows: Sequence[Memory], now: datetime, values: Mapping[UUID, Mapping[str, Any]]) -> None:
    """End the current version of each live row and open one with its own `values`, a new text among them, by id.

    Raises `Conflict` `duplicate`.
    """
    _end_versions(rows, now, values)
    changed = {"version", "valid_from", "recorded_from"}.union(*values.values())
    with _duplicates_refused():
        Memory.objects.bulk_update(rows, sorted(changed), batch_size=REWRITTEN_ROWS_PER_STATEMENT)
    tasks.enqueue_embedding(rows[0].tenant_id, [row.pk for row in rows])


@contextmanager
def _duplicates_refused() -> Iterator[None]:
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        if getattr(getattr(error.__cause__, "diag", None), "constraint_name", "") != LIVE_CONSTRAINT:
            raise
        raise duplicate_conflict() from error


def _end_versions(rows: Sequence[Memory], now: datetime, values: Mapping[UUID, Mapping[str, Any]]) -> None:
    """Store the versions that end now, and give the rows the columns of the next."""
    ended = []
    for row in rows:
        own, tenant_id = values[row.pk], row.tenant_id
        before = {name: getattr(row, name) for name in VERSION_COLUMNS} | search_columns(row.content)
        at = _change_time(row, now)
        ends = {"valid_to": row.valid_to or row.archived_at or at, "recorded_to": row.archived_at or at}
        ended.append(MemoryVersion(tenant_id=tenant_id, memory_id=row.pk, **before, **ends))
        if "content" in own and row.embedding_state == Memory.EmbeddingState.PENDING:
            add_missing_for_superseded(tenant_id, row.pk, row.version)
        changed = {"version": row.version + 1, "valid_from": row.valid_to or at, "recorded_from": at, **own}
        changed |= {"archived_at": None, "valid_to": None}
        for name, value in changed.items():
            setattr(row, name, value)
    MemoryVersion.objects.bulk_create(ended)


def _change_time(row: Memory, now: datetime) -> datetime:
    """Return when a change takes effect: `now`, but never before the start or end of the version that it ends."""
    return max(now, row.valid_from, row.recorded_from, row.archived_at or now)


def undo_values(rows: Iterable[Memory], field: str, *, after: Any, versions: int = 0) -> list[dict[str, Any]]:
    """Return the values of each row that an undo needs, before an action that adds `versions` versions."""
    same = {"field": field, "after": after}
    return [
        {"id": str(row.pk), "before": getattr(row, field), "version": row.version + versions, **same} for row in rows
    ]
