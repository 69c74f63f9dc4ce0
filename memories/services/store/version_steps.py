"""The changes of each version of a memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from memories.services.store.text_diff import DiffPiece, diff_words

#: Labels of the compared fields other than the text.
_FIELDS = {
    "kind": "kind",
    "confidence": "confidence",
    "pinned": "pinned",
    "expires_at": "expires",
    "created_at": "created",
    "partition_path": "partition",
    "source_id": "source id",
    "session": "session",
    "position": "position",
}


class ComparableVersion(Protocol):
    """The compared fields of a version."""

    version: int
    content: str
    metadata: Mapping[str, Any]
    recorded_from: datetime


@dataclass(frozen=True)
class FieldChange:
    """A changed field; None for an absent value."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class VersionStep:
    """A version with its changes and, if known, its author."""

    row: Any
    is_current: bool
    is_first: bool
    pieces: Sequence[DiffPiece]
    changes: Sequence[FieldChange]
    by: str

    @property
    def has_new_text(self) -> bool:
        return any(piece.kind != "same" for piece in self.pieces)


def version_steps(
    current: ComparableVersion, earlier: Sequence[ComparableVersion], authors: Mapping[datetime, str]
) -> list[VersionStep]:
    """Return one step per version, newest first, except for an oldest one without known predecessor."""
    return [
        VersionStep(
            row=row,
            is_current=row is current,
            is_first=before is None,
            pieces=diff_words(before.content, row.content) if before else [DiffPiece("same", row.content)],
            changes=field_changes(before, row) if before else [],
            by=authors.get(row.recorded_from, ""),
        )
        for row, before in zip([current, *earlier], [*earlier, None], strict=True)
        if before is not None or row.version == 1 or row is current
    ]


def field_changes(before: ComparableVersion, after: ComparableVersion) -> list[FieldChange]:
    """Return the changed fields other than the text, metadata key by key."""
    changes = [
        FieldChange(words, getattr(before, name), getattr(after, name))
        for name, words in _FIELDS.items()
        if getattr(before, name) != getattr(after, name)
    ]
    return changes + [
        FieldChange(f"metadata {key}", before.metadata.get(key), after.metadata.get(key))
        for key in dict.fromkeys([*before.metadata, *after.metadata])
        if before.metadata.get(key) != after.metadata.get(key)
    ]
