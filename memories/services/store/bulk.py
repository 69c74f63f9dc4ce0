"""Bulk actions, and the reasons for which they skip memories (ADR-0089)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

#: Memories of one bulk action.
ACT_MEMORIES_MAX = 1_000
#: Memories of one merge; a person reads them all.
MERGED_MIN, MERGED_MAX = 2, 20

BULK_ARCHIVE, RESTORE, _PIN, UNPIN, BULK_CHANGE_KIND, BULK_MERGE = "archive", "restore", "pin", "unpin", "kind", "merge"


@dataclass(frozen=True)
class BulkAction:
    """A bulk action: the field it changes and the new value, None where the operator enters it."""

    name: str
    field: str
    value: Any = None
    is_for_archived: bool = False


ACTS: Mapping[str, BulkAction] = {
    act.name: act
    for act in (
        BulkAction(BULK_ARCHIVE, "archived_at"),
        BulkAction(RESTORE, "archived_at", is_for_archived=True),
        BulkAction(_PIN, "pinned", True),
        BulkAction(UNPIN, "pinned", False),
        BulkAction(BULK_CHANGE_KIND, "kind"),
        BulkAction(BULK_MERGE, "archived_at"),
    )
}

#: Codes of skip reasons.
NOT_FOUND, _CHANGED, IS_ARCHIVED, IS_LIVE, UNCHANGED, SKIPPED_DUPLICATE = (
    "not_found",
    "changed",
    "archived",
    "live",
    "unchanged",
    "duplicate",
)
SKIP_REASONS: Mapping[str, str] = {
    NOT_FOUND: "no longer available",
    _CHANGED: "changed since this page was opened",
    IS_ARCHIVED: "already archived",
    IS_LIVE: "not archived",
    UNCHANGED: "already in this state",
    SKIPPED_DUPLICATE: "a live memory has the same text",
}


class BulkCandidate(Protocol):
    """The fields of a memory that decide whether an action skips it."""

    @property
    def version(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def archived_at(self) -> datetime | None: ...


def skip_reason(act: BulkAction, memory: BulkCandidate | None, *, seen_version: int, kind: str = "") -> str:
    """Return the reason for which `act` skips a memory that was seen in a version, "" for none."""
    if memory is None:
        return NOT_FOUND
    if memory.version != seen_version:
        return _CHANGED
    if (memory.archived_at is not None) != act.is_for_archived:
        return IS_LIVE if act.is_for_archived else IS_ARCHIVED
    if act.name in (_PIN, UNPIN) and memory.pinned == act.value:
        return UNCHANGED
    return UNCHANGED if act.name == BULK_CHANGE_KIND and kind and memory.kind == kind else ""


def describe_skipped(left: Mapping[str, int]) -> str:
    """Describe the skip reasons with their counts."""
    return ", ".join(f"{count:,} {SKIP_REASONS[reason]}" for reason, count in left.items() if count)


def describe_not_undone(count: int) -> str:
    """Describe how many changes were not undone."""
    return f"{count:,} {'was' if count == 1 else 'were'} changed since and skipped"


def describe_undone(count: int, left: int, *, one: str = "memory", several: str = "memories") -> str:
    """Describe the result of an undo."""
    done = f"Undone: {count:,} {one if count == 1 else several} {'is as it was' if count == 1 else 'are as they were'}"
    return f"{done}; {describe_not_undone(left)}." if left else f"{done}."
