"""Versions of the memo or a summary, with changes and authors, for pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from memories.models import PartitionSummary, TenantMemo
from memories.services.store.text_diff import DiffPiece, diff_words

VersionedText = TenantMemo | PartitionSummary


@dataclass(frozen=True)
class TextVersion:
    """A version with its author, if known, and its word differences; `current` is the active version or None."""

    row: VersionedText
    current: VersionedText | None
    saved_by: str = ""
    pieces: Sequence[DiffPiece] = ()

    @property
    def seen_version(self) -> int:
        """The active version's number, for a form that restores this one."""
        return self.current.version if self.current else 0

    @property
    def is_another_text(self) -> bool:
        return self.current is None or self.row.content != self.current.content


def build_text_versions(rows: Sequence[VersionedText], saved_by: Mapping[object, str]) -> list[TextVersion]:
    """Return versions of one text, newest first, with changes; `saved_by` has authors by primary key."""
    current = rows[0] if rows and rows[0].recorded_to is None else None
    steps = [
        (row, diff_words(before.content, row.content) if before else ()) for row, before in zip_longest(rows, rows[1:])
    ]
    return [TextVersion(row, current, saved_by.get(row.pk, ""), pieces) for row, pieces in steps]
