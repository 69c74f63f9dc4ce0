"""Bulk actions, and the reasons why they skip memories (ADR-0089)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

#: Maximum memories of one bulk action.
BULK_MEMORIES_MAX = 1_000
#: Maximum memories of one merge, because a person reads them all.
MERGED_MIN, MERGED_MAX = 2, 20

BULK_ARCHIVE, RESTORE, BULK_CHANGE_KIND, BULK_MERGE = "archive", "restore", "kind", "merge"


@dataclass(frozen=True)
class BulkAction:
    """A bulk action: the field it changes and the new value, None if the operator enters it."""

    name: str
    field: str
    value: Any = None
    is_for_archived: bool = False


BULK_ACTIONS: Mapping[str, BulkAction] = {
    action.name: action
    for action in (
        BulkAction(BULK_ARCHIVE, "archived_at"),
        BulkAction(RESTORE, "archived_at", is_for_archived=True),
        BulkAction("pin", "pinned", True),
        BulkAction("unpin", "pinned", False),
        BulkAction(BULK_CHANGE_KIND, "kind"),
        BulkAction(BULK_MERGE, "archived_at"),
    )
}

#: This action needs a target, so another function performs it.
MOVE = BulkAction("move", "partition_path")
#: The actions that lists offer.
LISTED_ACTIONS: Mapping[str, BulkAction] = {**BULK_ACTIONS, MOVE.name: MOVE}

#: Skip reasons by code.
SKIPPED_DUPLICATE, SKIPPED_SOURCE, SKIPPED_SUMMARY = "duplicate", "source_taken", "live_summary"
SKIP_REASONS: Mapping[str, str] = {
    "not_found": "no longer available",
    "changed": "changed since this page was opened",
    "archived": "already archived",
    "live": "not archived",
    "unchanged": "already in this state",
    SKIPPED_DUPLICATE: "with the text of another live memory",
    SKIPPED_SOURCE: "with the source_id of a live memory there",
    SKIPPED_SUMMARY: "of a session with another live summary",
}


class BulkCandidate(Protocol):
    """The fields of a memory that decide whether an action skips it."""

    version: int
    kind: str
    pinned: bool
    archived_at: datetime | None


def skip_reason(action: BulkAction, memory: BulkCandidate | None, *, seen_version: int, kind: str | None = "") -> str:
    """Return the reason why `action` skips a memory that was seen in a version, "" for none.

    `kind` is the value that the caller enters (for a move, the path), None before it is entered.
    """
    if memory is None:
        return "not_found"
    if memory.version != seen_version:
        return "changed"
    if (memory.archived_at is not None) != action.is_for_archived:
        return "live" if action.is_for_archived else "archived"
    value = action.value if action.value is not None else kind
    has_value = value is not None and (action is MOVE or value != "")
    return "unchanged" if has_value and getattr(memory, action.field) == value else ""


def describe_skipped(left: Mapping[str, int]) -> str:
    """Describe the skip reasons with their counts."""
    return ", ".join(f"{count:,} {SKIP_REASONS[reason]}" for reason, count in left.items() if count)


def describe_not_undone(count: int) -> str:
    """Describe how many changes were not undone."""
    return f"{count:,} {'was' if count == 1 else 'were'} changed since and skipped"


def describe_undone(count: int, left: int, *, one: str = "memory", several: str = "memories") -> str:
    """Describe the result of an undo."""
    former = f"restored to {'its' if count == 1 else 'their'} former state"
    done = f"Undone: {count:,} {one if count == 1 else several} {former}"
    return f"{done}; {describe_not_undone(left)}." if left else f"{done}."
