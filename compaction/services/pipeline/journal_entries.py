"""The states of the entries of a journal, as compactions store them."""

from collections.abc import Iterable, Mapping
from typing import Any

NEW, DUPLICATE, NEAR_DUPLICATE = "new", "duplicate", "near_duplicate"
RECALLED, STORED, INVALID = "recalled", "stored", "invalid"
#: Stored, or to be stored, and replaces other memories.
REPLACES = "replaces"
#: A reviewer decided that it is not stored.
STRUCK = "struck"
#: Entries that are stored when the compaction is applied or, if they may be instructions, approved.
WAITING = (NEW, REPLACES)


def is_waiting(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry waits to be stored."""
    return entry["status"] in WAITING and not entry.get("memory_id")


def is_reviewed(entry: Mapping[str, Any]) -> bool:
    """Return whether a reviewer decides about an entry: it waits to be stored or was struck."""
    return is_waiting(entry) or entry["status"] == STRUCK


def is_under_review(journal: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a reviewer decides about any entry."""
    return any(map(is_reviewed, journal))


def stored_count(journal: Iterable[Mapping[str, Any]]) -> int:
    """Return the number of entries of an applied compaction that were stored as memories."""
    return sum(entry["status"] in (STORED, REPLACES) for entry in journal)


def strike_entry(entry: dict[str, Any], *, is_struck: bool) -> None:
    """Strike an entry that waits to be stored, or keep it again."""
    kept = REPLACES if entry.get("replaced_memory_ids") else NEW
    entry["status"] = STRUCK if is_struck else kept


def reset_entries(journal: Iterable[dict[str, Any]]) -> None:
    """Mark the entries that a rolled-back compaction stored as waiting again."""
    for entry in journal:
        if entry["status"] in (STORED, REPLACES):
            entry["memory_id"] = None
            entry.pop("replacement_act_ids", None)
            strike_entry(entry, is_struck=False)
