"""Versions of a text as pages list them: what changed in each, who saved it, whether it can be brought back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memories.models import PartitionSummary, TenantMemo
from memories.services.store.text_diff import DiffPiece, diff_words

Text = TenantMemo | PartitionSummary


@dataclass(frozen=True)
class TextVersion:
    """A version, the one in force beside it (None where none is), and who saved it where that is known.

    `pieces` lead from the version before it to this one; there are none for the first.
    """

    row: Text
    current: Text | None
    saved_by: str = ""
    pieces: Sequence[DiffPiece] = ()

    @property
    def seen_version(self) -> int:
        """What is in force for whoever saves this text again."""
        return self.current.version if self.current else 0

    @property
    def is_another_text(self) -> bool:
        return self.current is None or self.row.content != self.current.content


def build_text_versions(rows: Sequence[Text], saved_by: Mapping[object, str]) -> list[TextVersion]:
    """Versions of one text, the newest first, with what each changed; `saved_by` by primary key."""
    current = rows[0] if rows and rows[0].recorded_to is None else None
    former = [*rows[1:], None] if rows else []
    return [
        TextVersion(
            row,
            current,
            saved_by.get(row.pk, ""),
            diff_words(before.content, row.content) if before is not None else (),
        )
        for row, before in zip(rows, former, strict=True)
    ]
