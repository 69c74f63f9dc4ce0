"""What may be done to many memories at once, and which of them an act leaves alone, and why (ADR-0089)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

#: Memories that one act may be about.
ACT_MEMORIES_MAX = 1_000
#: Memories that one merge may make one of: a person reads them all.
MERGED_MIN, MERGED_MAX = 2, 20

BULK_ARCHIVE, RESTORE, _PIN, UNPIN, BULK_CHANGE_KIND, BULK_MERGE = "archive", "restore", "pin", "unpin", "kind", "merge"


@dataclass(frozen=True)
class BulkAction:
    """An act by its name: the field it changes and to what (None where it is asked), and whether to archived ones."""

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

#: Why a memory is left alone: the code, and what to say of so many of them.
GONE, _CHANGED, IS_ARCHIVED, IS_LIVE, AS_WANTED, SKIPPED_DUPLICATE = (
    "gone",
    "changed",
    "archived",
    "live",
    "as_wanted",
    "duplicate",
)
SKIP_REASONS: Mapping[str, str] = {
    GONE: "no longer there",
    _CHANGED: "changed by somebody since this page was opened",
    IS_ARCHIVED: "archived already",
    IS_LIVE: "not archived",
    AS_WANTED: "like that already",
    SKIPPED_DUPLICATE: "not to be restored: a live memory holds the same text",
}


class BulkCandidate(Protocol):
    """What decides whether an act is about a memory."""

    @property
    def version(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def archived_at(self) -> datetime | None: ...


def skip_reason(act: BulkAction, memory: BulkCandidate | None, *, seen_version: int, kind: str = "") -> str:
    """Why `act` leaves a memory alone that was seen in a version; "" where it does not."""
    if memory is None:
        return GONE
    if memory.version != seen_version:
        return _CHANGED
    if (memory.archived_at is not None) != act.is_for_archived:
        return IS_LIVE if act.is_for_archived else IS_ARCHIVED
    if act.name in (_PIN, UNPIN) and memory.pinned == act.value:
        return AS_WANTED
    return AS_WANTED if act.name == BULK_CHANGE_KIND and kind and memory.kind == kind else ""


def describe_skipped(left: Mapping[str, int]) -> str:
    """The reasons with how many memories each is about, as people read them."""
    return ", ".join(f"{count:,} {SKIP_REASONS[reason]}" for reason, count in left.items() if count)


def describe_not_undone(count: int) -> str:
    """So many were not taken back, as people read it."""
    return f"{count:,} {'was changed since and is' if count == 1 else 'were changed since and are'} left alone"


def describe_undone(count: int, left: int, *, one: str = "memory", several: str = "memories") -> str:
    """What an undo did, as people read it."""
    done = f"Undone: {count:,} {one if count == 1 else several} {'is as it was' if count == 1 else 'are as they were'}"
    return f"{done}; {describe_not_undone(left)}." if left else f"{done}."
