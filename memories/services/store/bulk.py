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

ARCHIVE, RESTORE, PIN, UNPIN, KIND, MERGE = "archive", "restore", "pin", "unpin", "kind", "merge"


@dataclass(frozen=True)
class BulkAct:
    """An act by its name: the field it changes and to what (None where it is asked), and whether to archived ones."""

    name: str
    field: str
    value: Any = None
    is_for_archived: bool = False


ACTS: Mapping[str, BulkAct] = {
    act.name: act
    for act in (
        BulkAct(ARCHIVE, "archived_at"),
        BulkAct(RESTORE, "archived_at", is_for_archived=True),
        BulkAct(PIN, "pinned", True),
        BulkAct(UNPIN, "pinned", False),
        BulkAct(KIND, "kind"),
        BulkAct(MERGE, "archived_at"),
    )
}

#: Why a memory is left alone: the code, and what to say of so many of them.
GONE, CHANGED, IS_ARCHIVED, IS_LIVE, AS_WANTED, DUPLICATE = (
    "gone",
    "changed",
    "archived",
    "live",
    "as_wanted",
    "duplicate",
)
REASONS: Mapping[str, str] = {
    GONE: "no longer there",
    CHANGED: "changed by somebody since this page was opened",
    IS_ARCHIVED: "archived already",
    IS_LIVE: "not archived",
    AS_WANTED: "like that already",
    DUPLICATE: "not to be restored: a live memory holds the same text",
}


class Standing(Protocol):
    """What decides whether an act is about a memory."""

    @property
    def version(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def archived_at(self) -> datetime | None: ...


def reason_to_leave(act: BulkAct, memory: Standing | None, *, seen_version: int, kind: str = "") -> str:
    """Why `act` leaves a memory alone that was seen in a version; "" where it does not."""
    if memory is None:
        return GONE
    if memory.version != seen_version:
        return CHANGED
    if (memory.archived_at is not None) != act.is_for_archived:
        return IS_LIVE if act.is_for_archived else IS_ARCHIVED
    if act.name in (PIN, UNPIN) and memory.pinned == act.value:
        return AS_WANTED
    return AS_WANTED if act.name == KIND and kind and memory.kind == kind else ""


def told(left: Mapping[str, int]) -> str:
    """The reasons with how many memories each is about, as people read them."""
    return ", ".join(f"{count:,} {REASONS[reason]}" for reason, count in left.items() if count)


def left_alone(count: int) -> str:
    """So many were not taken back, as people read it."""
    return f"{count:,} {'was changed since and is' if count == 1 else 'were changed since and are'} left alone"


def taken_back(count: int, left: int, *, one: str = "memory", several: str = "memories") -> str:
    """What an undo did, as people read it."""
    done = f"Undone: {count:,} {one if count == 1 else several} {'is as it was' if count == 1 else 'are as they were'}"
    return f"{done}; {left_alone(left)}." if left else f"{done}."
