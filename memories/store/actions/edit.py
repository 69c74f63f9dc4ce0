"""Edit, archive and restore a memory: an edit or a restore adds a version, archiving ends the current one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memories.models import Memory
from memories.services.store.drafts import memory_change_problems
from memories.store.bulk_rows import archive_rows, duplicate_conflict, open_next_versions, restore_rows, source_conflict
from memories.store.live_rows import archive_expired, changed_values, source_holders, unarchived_rows_by_key
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict, StaleVersion, invalid
from memories.tenancy.required_rows import find_row

#: The fields that undoing an edit restores.
RESTORED_FIELDS = ("content", "kind", "confidence", "pinned", "metadata", "expires_at")


@transaction.atomic
def update_memory(
    *, memory: Memory, changes: Mapping[str, Any], if_version: int | None = None, by: Actor, now: datetime
) -> Memory:
    """Apply changes of `CHANGEABLE_MEMORY_FIELDS` as a new version, if they change anything.

    Raises `InvalidInput`, `Conflict` (`archived`, or `duplicate` or `source_taken` by a live memory) or `StaleVersion`.
    """
    current = _locked(memory, if_version)
    if current.archived_at is not None:
        raise Conflict("archived", "The memory is archived. Restore it before changing it.")
    problems = memory_change_problems(changes, created_at=current.created_at, expires_at=current.expires_at, now=now)
    if problems:
        raise invalid(problems)
    fields, values = changed_values(current, changes)
    if not fields:
        return current
    columns = vars(current) | values
    key = (columns["partition_id"], columns["content_hash"], columns["source_id"])
    holder = unarchived_rows_by_key(current.tenant_id, [key]).get(key)
    if holder is not None and holder.pk != current.pk and not archive_expired([holder], by=by, now=now):
        raise duplicate_conflict()
    if {"partition", "source_id"} & set(fields):
        holders = [row for row in source_holders(current.tenant_id, [key]) if row.pk != current.pk]
        if len(archive_expired(holders, by=by, now=now)) < len(holders):
            raise source_conflict()
    open_next_versions([current], now, values)
    audit_rows("update_memory", [current], fields=fields, by=by, now=now)
    return current


@transaction.atomic
def archive_memory(*, memory: Memory, if_version: int | None = None, by: Actor, now: datetime) -> Memory:
    """Archive the memory; has no effect on an archived one."""
    current = _locked(memory, if_version)
    if current.archived_at is None:
        archive_rows([current], now)
        audit_rows("archive_memory", [current], fields=["archived_at"], by=by, now=now)
    return current


@transaction.atomic
def restore_memory(*, memory: Memory, if_version: int | None = None, by: Actor, now: datetime) -> Memory:
    """Make an archived memory live again as a new version.

    Raises `Conflict` `duplicate` or `source_taken`, or `live_summary` for a summary of a session that has another.
    """
    current = _locked(memory, if_version)
    if current.archived_at is None:
        return current
    restore_rows([current], by=by, now=now)
    audit_rows("restore_memory", [current], fields=["archived_at"], by=by, now=now)
    return current


def _locked(memory: Memory, if_version: int | None) -> Memory:
    current = find_row(Memory.objects.for_tenant(memory.tenant_id).with_id(memory.pk).locked(), Memory)
    if if_version is not None and if_version != current.version:
        detail = f"The memory has changed since version {if_version} and now has version {current.version}."
        raise StaleVersion("stale_version", detail)
    return current


@dataclass(frozen=True)
class MemoryCounters:
    """Usefulness, number of retrievals and last retrieval of a memory."""

    usefulness_score: float
    retrieval_count: int
    last_retrieved_at: datetime | None


@transaction.atomic
def import_counters(*, tenant_id: UUID, counters: Mapping[UUID, MemoryCounters], by: Actor, now: datetime) -> int:
    """Set the counters of memories by id, without a new version; return how many memories there were."""
    rows = list(Memory.objects.for_tenant(tenant_id).with_ids(counters).locked())
    for row in rows:
        for name, value in vars(counters[row.pk]).items():
            setattr(row, name, value)
    Memory.objects.bulk_update(rows, ["usefulness_score", "retrieval_count", "last_retrieved_at"])
    if rows:
        audit_rows("adopt_counters", rows, fields=["usefulness_score", "retrieval_count"], by=by, now=now)
    return len(rows)
