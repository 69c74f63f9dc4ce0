"""Bulk actions of operators; `undo_hygiene` undoes them (ADR-0089)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memories.models import Partition, StoredAct
from memories.services.partitions.paths import PartitionPath
from memories.services.store import bulk
from memories.services.store.drafts import is_kind_name
from memories.services.tenancy.act_labels import STORED_VERBS
from memories.store.bulk_rows import (
    archive_rows,
    lock_seen_rows,
    move_rows,
    open_next_versions,
    unavailable_rows,
    undo_values,
    unrestorable_rows,
)
from memories.store.live_rows import ensure_partitions
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict, InvalidInput


@dataclass(frozen=True)
class BulkActionResult:
    """A performed action: the number of changed memories, and of skipped ones by reason."""

    act: StoredAct
    count: int
    left: Mapping[str, int]


@transaction.atomic
def apply_bulk_action(
    *, tenant_id: UUID, action: str, seen: Mapping[UUID, int], kind: str = "", by: Actor, now: datetime
) -> BulkActionResult:
    """Perform an action of `BULK_ACTIONS` on the memories in the version of `seen`, in a constant number of queries.

    Raises `InvalidInput`, or `Conflict` `nothing_left` if every memory is skipped.
    """
    definition = bulk.BULK_ACTIONS.get(action)
    if definition is None or action == bulk.BULK_MERGE:
        raise InvalidInput("invalid_choice", "There is no such action.", "action")
    if not 1 <= len(seen) <= bulk.BULK_MEMORIES_MAX:
        raise InvalidInput("out_of_range", f"An action applies to 1 to {bulk.BULK_MEMORIES_MAX:,} memories.", "id")
    if action == bulk.BULK_CHANGE_KIND and not kind:
        raise InvalidInput("required", "Name the new kind.", "kind")
    if action == bulk.BULK_CHANGE_KIND and not is_kind_name(kind):
        raise InvalidInput("bad_kind", "A kind must be a lower-case word of at most 32 characters.", "kind")
    rows, left = lock_seen_rows(tenant_id, definition, seen, kind)
    if action == bulk.RESTORE:
        twins = unrestorable_rows(rows, by=by, now=now)
        rows = [row for row in rows if row.pk not in twins]
        left += Counter(twins.values())
    if not rows:
        raise Conflict("nothing_left", f"Nothing was changed: {bulk.describe_skipped(left)}.")
    is_archiving = action == bulk.BULK_ARCHIVE
    value: Any = now if is_archiving else definition.value
    if action == bulk.BULK_CHANGE_KIND:
        value = kind
    changed = undo_values(rows, definition.field, after=value, versions=0 if is_archiving else 1)
    if is_archiving:
        archive_rows(rows, now)
    else:
        open_next_versions(rows, now, {} if action == bulk.RESTORE else {definition.field: value})
    archived_ids = [row.pk for row in rows] if is_archiving else []
    done = StoredAct.objects.create(tenant_id=tenant_id, act=action, at=now, archived_ids=archived_ids, changed=changed)
    audit_rows(STORED_VERBS[action], rows, fields=[definition.field], act_id=done.pk, by=by, now=now)
    return BulkActionResult(done, len(rows), {reason: count for reason, count in left.items() if count})


@transaction.atomic
def move_memories(
    *, tenant_id: UUID, seen: Mapping[UUID, int], to: PartitionPath, by: Actor, now: datetime
) -> BulkActionResult:
    """Move the memories in the version of `seen` to the partition `to`, in a constant number of queries.

    A memory whose text or `source_id` is there already is skipped. Raises `InvalidInput`, or `Conflict`
    `nothing_left` if every memory is skipped.
    """
    if not 1 <= len(seen) <= bulk.BULK_MEMORIES_MAX:
        raise InvalidInput("out_of_range", f"An action applies to 1 to {bulk.BULK_MEMORIES_MAX:,} memories.", "ids")
    partition = ensure_partitions(tenant_id, [to])[to.path]
    Partition.objects.with_ids([partition.pk]).lock()  # before the rows, as writers of a source_id do
    rows, left = lock_seen_rows(tenant_id, bulk.MOVE, seen, to.path)
    skipped = unavailable_rows(rows, partition, by=by, now=now)
    rows = [row for row in rows if row.pk not in skipped]
    left += Counter(skipped.values())
    if not rows:
        raise Conflict("nothing_left", f"Nothing was moved: {bulk.describe_skipped(left)}.")
    changed = undo_values(rows, bulk.MOVE.field, after=to.path, versions=1)
    move_rows(rows, partition, now)
    done = StoredAct.objects.create(tenant_id=tenant_id, act=StoredAct.Act.MOVE, at=now, changed=changed)
    audit_rows("move_memories", rows, fields=["partition"], act_id=done.pk, by=by, now=now)
    return BulkActionResult(done, len(rows), {reason: count for reason, count in left.items() if count})
