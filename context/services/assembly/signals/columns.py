"""The candidates of one query as numpy columns, each made once and only when a signal needs it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from context.services.scorer import DEFAULT_SIMILARITY, ScoreColumn, clamp_unit, created_column, number_column
from memories.services.time_limits import in_time

CandidateFlags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]

#: Messages up to this distance in one session are adjacent.
REACH = 2
#: "Ann:" or "Ann Marie:" at the start of a message.
_SPEAKER = re.compile(r"([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2}):\s+")
#: A lexeme is a name cut by a stemmer, so it must share this many letters with it, or all of a shorter one.
_STEM_LETTERS = 4


@dataclass(frozen=True)
class ScoringQuestion:
    """The text of a query, when it is asked, and the lexemes that the search made of it."""

    text: str
    asked_at: datetime
    lexemes: Sequence[str] = ()


class CandidatePool:
    """The candidates (mappings, as the scorer takes them), the query, and the vectors there are."""

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        question: ScoringQuestion,
        vectors: Mapping[UUID, npt.NDArray[np.float32]],
    ) -> None:
        self.rows = rows
        self.question = question
        self.lexemes = list(dict.fromkeys(question.lexemes))
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def similarity(self) -> ScoreColumn:
        """Cosine to the query, 0..1; 0 where unknown."""
        return clamp_unit(number_column(self.rows, "similarity", DEFAULT_SIMILARITY))

    @cached_property
    def created(self) -> ScoreColumn:
        """Seconds since 1970; minus infinity where unknown."""
        return created_column(self.rows)

    @cached_property
    def is_turn(self) -> CandidateFlags:
        """Whether it is one message of a conversation: it has a session and a position in it, whatever its kind."""
        return np.array([bool(row.get("session")) and row.get("position") is not None for row in self.rows], bool)

    @cached_property
    def beside(self) -> dict[int, Places]:
        """By distance, -REACH..REACH without 0: the place of the message so far off in its session, -1 for none."""
        keys = [
            (str(row.get("partition_path") or ""), str(row["session"]), row["position"]) if is_turn else None
            for row, is_turn in zip(self.rows, self.is_turn.tolist(), strict=True)
        ]
        place_of = {key: place for place, key in enumerate(keys) if key}
        return {
            distance: np.array(
                [place_of.get((*key[:2], key[2] + distance), -1) if key else -1 for key in keys], dtype=np.intp
            )
            for distance in range(-REACH, REACH + 1)
            if distance
        }

    @cached_property
    def speakers(self) -> list[str]:
        """The speaker, in lower case, of messages that begin with "Name:"; else the empty text."""
        return [match[1].lower() if match else "" for match in self._prefixes]

    @cached_property
    def bodies(self) -> list[str]:
        """The texts without the name of their speaker."""
        return [
            str(row["content"])[match.end() if match else 0 :].strip()
            for row, match in in_time(zip(self.rows, self._prefixes, strict=True))
        ]

    @cached_property
    def _prefixes(self) -> list[re.Match[str] | None]:
        return [
            _SPEAKER.match(str(row["content"])) if is_turn else None
            for row, is_turn in zip(self.rows, self.is_turn.tolist(), strict=True)
        ]

    @cached_property
    def holds(self) -> ScoreColumn:
        """Candidates x lexemes of the query: 1 where the memory's text vector contains it."""
        number_of = {lexeme: number for number, lexeme in enumerate(self.lexemes)}
        held = np.zeros((len(self.rows), len(self.lexemes)))
        for place, row in enumerate(self.rows):
            for lexeme in row.get("holds") or ():
                if lexeme in number_of:
                    held[place, number_of[lexeme]] = 1.0
        return held

    @cached_property
    def lexeme_weights(self) -> ScoreColumn:
        """The weight of each lexeme, by how few candidates contain it; they sum to 1, or are all 0.

        The name of a speaker says nothing about a text: all of that person's messages begin with it.
        """
        words = {word for speaker in set(self.speakers) for word in speaker.split()}
        is_name = np.array([any(_is_stem(lexeme, word) for word in words) for lexeme in self.lexemes], dtype=bool)
        weights = np.log((len(self.rows) + 1.0) / (self.holds.sum(axis=0) + 0.5)) * ~is_name
        total = weights.sum()
        return np.asarray(weights / total if total > 0 else np.zeros(len(self.lexemes)))

    @cached_property
    def strength(self) -> ScoreColumn:
        """How relevant each is by itself: half its cosine, half the weight of the lexemes it contains, 0..1."""
        return np.asarray(0.5 * self.similarity + 0.5 * (self.holds @ self.lexeme_weights))

    @cached_property
    def is_question(self) -> CandidateFlags:
        """Whether its text ends by asking."""
        return np.array([body.endswith(("?", "？", "؟")) for body in self.bodies], dtype=bool)

    def vectors_of(self, places: Sequence[int]) -> npt.NDArray[np.float32]:
        """Return the vectors of these candidates, one a row; zeros for a candidate without one."""
        found = [self._vectors.get(self.rows[place]["id"]) for place in places]
        size = next((len(vector) for vector in found if vector is not None), 0)
        return np.array([np.zeros(size) if vector is None else vector for vector in found], dtype=np.float32)


def column_at(column: ScoreColumn, places: Places) -> ScoreColumn:
    """Return the column's values (or rows) at these places; 0 where there is none."""
    values: ScoreColumn = column[places]
    values[places < 0] = 0.0
    return values


def _is_stem(lexeme: str, word: str) -> bool:
    shared = min(len(lexeme), len(word))
    is_cut = shared >= _STEM_LETTERS and lexeme[: shared - 1] == word[: shared - 1]
    return lexeme == word or (is_cut and 0 <= len(word) - len(lexeme) <= 2)
