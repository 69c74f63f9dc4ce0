"""The candidates of one query as numpy columns, each computed once and only if a signal needs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from context.services.assembly.near_duplicates import MAX_PRODUCT
from context.services.assembly.signals.texts import TextReading, read_text
from context.services.scorer import DEFAULT_SIMILARITY, ScoreColumn, clamp_unit, created_column, number_column
from memories.services.time_limits import in_time

CandidateFlags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]

#: Messages up to this distance in one session are adjacent.
REACH = 2
#: A lexeme is a name cut by a stemmer, so it must share this many letters with it, or all of a shorter one.
_STEM_LETTERS = 4


@dataclass(frozen=True)
class ScoringQuestion:
    """The text of a query, the time at which it is asked, and its lexemes in the search."""

    text: str
    asked_at: datetime
    lexemes: Sequence[str] = ()


class CandidatePool:
    """The candidates (mappings, as the scorer takes them), the query, and the vectors that are known."""

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
        """By distance, -REACH..REACH without 0: the index of the message that far off in its session, -1 for none."""
        beside = {distance: np.full(len(self), -1, dtype=np.intp) for distance in range(-REACH, REACH + 1) if distance}
        turns = np.flatnonzero(self.is_turn)
        rows = [self.rows[place] for place in turns.tolist()]
        keys = [(row.get("partition_path") or "", row["session"]) for row in rows]
        number_of = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        sessions = np.array([number_of[key] for key in keys], dtype=np.intp)
        positions = np.array([row["position"] for row in rows], dtype=np.int64)
        order = np.lexsort((positions, sessions))
        sessions, positions, turns = sessions[order], positions[order], turns[order]
        is_last = np.ones(len(turns), dtype=bool)  # of two messages in one position, the later counts
        is_last[:-1] = (sessions[1:] != sessions[:-1]) | (positions[1:] != positions[:-1])
        last = np.flatnonzero(is_last)
        own = np.cumsum(is_last) - is_last  # the number of the position of each message among all positions
        sessions, positions = sessions[last], positions[last]
        # the positions of rows that are `step` rows apart differ by at least `step`
        for step in range(1, REACH + 1):
            is_same = sessions[step:] == sessions[:-step]
            apart = positions[step:] - positions[:-step]
            for distance in range(step, REACH + 1):
                earlier = np.flatnonzero(is_same & (apart == distance))
                for towards, here, there in ((distance, earlier, earlier + step), (-distance, earlier + step, earlier)):
                    found = np.full(len(last), -1, dtype=np.intp)
                    found[here] = turns[last[there]]
                    places = found[own]
                    beside[towards][turns[places >= 0]] = places[places >= 0]
        return beside

    @cached_property
    def texts(self) -> list[TextReading]:
        """The reading of each text."""
        pairs = zip(self.rows, self.is_turn.tolist(), strict=True)
        return [read_text(str(row["content"]), is_turn) for row, is_turn in in_time(pairs)]

    @cached_property
    def holds(self) -> ScoreColumn:
        """Candidates x lexemes of the query: 1 where the memory's text vector contains it."""
        number_of = {lexeme: number for number, lexeme in enumerate(self.lexemes)}
        found = [
            (place, number_of[lexeme])
            for place, row in enumerate(self.rows)
            for lexeme in row.get("holds") or ()
            if lexeme in number_of
        ]
        contained = np.zeros((len(self.rows), len(self.lexemes)))
        if found:
            contained[tuple(np.array(found).T)] = 1.0
        return contained

    @cached_property
    def years(self) -> list[int]:
        """The years of the candidates."""
        seconds = np.floor(self.created[np.isfinite(self.created)]).astype("datetime64[s]")
        years: list[int] = (np.unique(seconds.astype("datetime64[Y]").astype(np.int64)) + 1970).tolist()
        return years

    @cached_property
    def lexeme_weights(self) -> ScoreColumn:
        """The weight of each lexeme, by how few candidates contain it; they sum to 1, or are all 0.

        The name of a speaker does not distinguish a text, because all messages of that person begin with it.
        """
        words = {word for speaker in {text.speaker for text in self.texts} for word in speaker.split()}
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
        """Whether its text ends with a question."""
        return np.array([text.is_question for text in self.texts], dtype=bool)

    def vectors_of(self, places: Sequence[int]) -> npt.NDArray[np.float32]:
        """Return the vectors of these candidates, one a row; zeros for a candidate without one."""
        found = [self._vectors.get(self.rows[place]["id"]) for place in places]
        size = next((len(vector) for vector in found if vector is not None), 0)
        rows = [np.zeros(size) if vector is None else vector for vector in found]
        return np.array(rows, dtype=np.float32).reshape(len(places), size)


def inner_products(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return `left @ right.T` in parts of a size for which the linear algebra library starts no threads."""
    step = max(MAX_PRODUCT // max(right.size, 1), 1)
    return np.concatenate([left[top : top + step] @ right.T for top in range(0, max(len(left), 1), step)])


def column_at(column: ScoreColumn, places: Places) -> ScoreColumn:
    """Return the column's values (or rows) at these indexes; 0 if there is none."""
    values: ScoreColumn = column[places]
    values[places < 0] = 0.0
    return values


def _is_stem(lexeme: str, word: str) -> bool:
    shared = min(len(lexeme), len(word))
    is_cut = shared >= _STEM_LETTERS and lexeme[: shared - 1] == word[: shared - 1]
    return lexeme == word or (is_cut and 0 <= len(word) - len(lexeme) <= 2)
