"""Steps of actions on locked memories, in a constant number of queries (ADR-0089); actions write the audit row."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from memories import tasks
from memories.embeddings.vectors import carry_vectors, note_superseded_version
from memories.models import Memory, MemoryVersion
from memories.models.memory import VERSION_COLUMNS
from memories.services.search.lexemes import search_columns
from memories.services.store.bulk import BulkAction, skip_reason
from memories.store.live_rows import LiveKey, archive_expired, duplicate_key, unarchived_rows_by_key
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict

LIVE_CONSTRAINT = "memory_is_unique_among_live"


def duplicate_conflict() -> Conflict:
    """Return the error for a text that a live memory already has."""
    return Conflict("duplicate", "Another live memory of this partition has the same text.", "content")


def lock_seen_rows(
    tenant_id: UUID, act: BulkAction, seen: Mapping[UUID, int], kind: str
) -> tuple[list[Memory], "Counter[str]"]:
    """Return the rows that an act applies to, locked, and how many it skips by reason."""
    found = {row.pk: row for row in Memory.objects.for_tenant(tenant_id).with_ids(seen).locked()}
    reasons = {pk: skip_reason(act, found.get(pk), seen_version=version, kind=kind) for pk, version in seen.items()}
    rows = [row for pk, row in found.items() if not reasons[pk]]
    return rows, Counter(reason for reason in reasons.values() if reason)


def archive_rows(rows: Sequence[Memory], now: datetime) -> None:
    """Archive live rows."""
    Memory.objects.filter(pk__in=[row.pk for row in rows]).end(now)
    for row in rows:
        row.archived_at = _change_time(row, now)


def restore_rows(rows: Sequence[Memory], *, by: Actor, now: datetime) -> None:
    """Restore archived rows, each as a new version. Raises `Conflict` `duplicate`."""
    if unrestorable_rows(rows, by=by, now=now):
        raise duplicate_conflict()
    open_next_versions(rows, now, {})


def change_rows(rows: Sequence[Memory], field: str, value: Any, now: datetime) -> None:
    """Set a field other than text and partition, each row in a new version."""
    open_next_versions(rows, now, {field: value})


def unrestorable_rows(rows: Sequence[Memory], *, by: Actor, now: datetime) -> set[UUID]:
    """Return ids of rows whose text a live memory or an earlier row has. Archives expired duplicates."""
    if not rows:
        return set()
    holders = unarchived_rows_by_key(rows[0].tenant_id, [duplicate_key(row) for row in rows])
    expired = archive_expired(list(holders.values()), by=by, now=now)
    taken: set[LiveKey] = {key for key, holder in holders.items() if holder.pk not in expired}
    refused = set()
    for row in rows:
        if duplicate_key(row) in taken:
            refused.add(row.pk)
        taken.add(duplicate_key(row))
    return refused


def open_next_versions(rows: Sequence[Memory], now: datetime, values: Mapping[str, Any]) -> None:
    """End the current version of each row and open a live one with `values`. Raises `Conflict` `duplicate`."""
    if not rows:
        return
    tenant_id, ids, has_new_text = rows[0].tenant_id, [row.pk for row in rows], "content" in values
    ended = []
    for row in rows:
        before = {name: getattr(row, name) for name in VERSION_COLUMNS} | search_columns(row.content)
        at = _change_time(row, now)
        end = row.archived_at or at
        ended.append(MemoryVersion(tenant_id=tenant_id, memory_id=row.pk, **before, valid_to=end, recorded_to=end))
        if has_new_text and row.embedding_state == Memory.EmbeddingState.PENDING:
            note_superseded_version(tenant_id, row.pk, row.version)
        changed = {"version": row.version + 1, "valid_from": at, "recorded_from": at, "archived_at": None, **values}
        for name, value in changed.items():
            setattr(row, name, value)
    MemoryVersion.objects.bulk_create(ended)
    try:
        with transaction.atomic():
            Memory.objects.filter(pk__in=ids).open_next_versions(now, **values)
    except IntegrityError as error:
        if getattr(getattr(error.__cause__, "diag", None), "constraint_name", "") != LIVE_CONSTRAINT:
            raise
        raise duplicate_conflict() from error
    if not has_new_text:
        carry_vectors(tenant_id, ids)
    pending = [row.pk for row in rows if row.embedding_state != Memory.EmbeddingState.READY]
    if pending:
        tasks.enqueue_embedding(tenant_id, pending)


def _change_time(row: Memory, now: datetime) -> datetime:
    """Return when a change takes effect: `now`, but never before the start or end of the version that it ends."""
    return max(now, row.valid_from, row.recorded_from, row.archived_at or now)


def undo_values(rows: Iterable[Memory], field: str, *, after: Any, versions: int = 0) -> list[dict[str, Any]]:
    """Return what an undo needs to know of each row, before an action that adds `versions` versions."""
    same = {"field": field, "after": after}
    return [
        {"id": str(row.pk), "before": getattr(row, field), "version": row.version + versions, **same} for row in rows
    ]
