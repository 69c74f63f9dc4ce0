"""Which words of a query a row must hold to be looked at, and which only tell how good it is (ADR-0076)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memories.services.search.lexemes import STOP_WORD_MARK

#: Rows of a tenant that the words of one query may match together, as far as they can be foretold.
MATCHED_ROWS_MAX = 5_000
#: Rows that are looked through where even the rarest word of the query is in more than that: the newest in scope.
NEWEST_ROWS = 2_000


@dataclass(frozen=True)
class TextQuery:
    """What a query asks for in words.

    `lexemes` rank the rows; a row is found when it holds one of `matched`, with `newest` only if it is among so many
    of the newest in scope.
    """

    lexemes: Sequence[str]
    matched: Sequence[str]
    newest: int | None = None

    @property
    def has_dropped(self) -> bool:
        """Whether rows that hold one of the lexemes may be passed over."""
        return len(self.matched) < len(self.lexemes) or self.newest is not None


def significant_lexemes(lexemes: Iterable[str]) -> list[str]:
    """Without the words that the language drops, as long as others remain."""
    asked = list(lexemes)
    telling = [lexeme for lexeme in asked if not lexeme.startswith(STOP_WORD_MARK)]
    return telling or asked


def match_all(lexemes: Sequence[str]) -> TextQuery:
    """Every row that holds any of them is found."""
    return TextQuery(lexemes, lexemes)


def match_rarest(lexemes: Sequence[str], common_rows: Mapping[str, int]) -> TextQuery:
    """Match by the rarest lexemes whose rows together stay under `MATCHED_ROWS_MAX`; else by all in the newest rows.

    `common_rows` estimates how many rows of the tenant hold a lexeme; one that is not in it is rare and costs nothing.
    """
    rows = 0
    matched: list[str] = []
    for lexeme in sorted(lexemes, key=lambda lexeme: (common_rows.get(lexeme, 0), lexeme)):
        rows += common_rows.get(lexeme, 0)
        if rows > MATCHED_ROWS_MAX:
            break
        matched.append(lexeme)
    if matched or not lexemes:
        return TextQuery(lexemes, matched)
    return TextQuery(lexemes, lexemes, NEWEST_ROWS)
