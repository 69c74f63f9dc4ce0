"""The candidates of one question as numpy columns, each made once and only when a signal asks for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from context.services.scorer import DEFAULT_SIMILARITY, ScoreColumn, clamp_unit, created_column, number_column

CandidateFlags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]
VectorMatrix = npt.NDArray[np.float32]

#: Messages that count as beside one another: so far apart, in one session.
REACH = 2
#: "Ann:" or "Ann Marie:" at the start of a message.
_SPEAKER = re.compile(r"([^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){0,2}):\s+")
#: A lexeme is a name cut by a stemmer, so it must share this many letters with it, or all of a shorter one.
_STEM_LETTERS = 4


class CandidatePool:
    """The candidates (mappings, as contract of the scorer), the question's text and lexemes, the vectors there are."""

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        text: str,
        lexemes: Sequence[str] = (),
        vectors: Mapping[UUID, npt.NDArray[np.float32]] | None = None,
    ) -> None:
        self.rows = rows
        self.text = text
        self.lexemes = list(dict.fromkeys(lexemes))
        self._vectors = vectors or {}

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def similarity(self) -> ScoreColumn:
        """Cosine to the question, 0..1; 0 where unknown."""
        return clamp_unit(number_column(list(self.rows), "similarity", DEFAULT_SIMILARITY))

    @cached_property
    def created(self) -> ScoreColumn:
        """Seconds since 1970; minus infinity where unknown."""
        return created_column(list(self.rows))

    @cached_property
    def is_turn(self) -> CandidateFlags:
        """Whether it is one message of a conversation: it has a session and a place in it, whatever its kind."""
        return np.array([bool(row.get("session")) and row.get("position") is not None for row in self.rows], bool)

    @cached_property
    def sessions(self) -> list[tuple[str, str] | None]:
        """Which session each is a message of; None for what is no message."""
        return [
            (str(row.get("partition_path") or ""), str(row["session"])) if is_turn else None
            for row, is_turn in zip(self.rows, self.is_turn.tolist(), strict=True)
        ]

    @cached_property
    def beside(self) -> dict[int, Places]:
        """By distance, -REACH..REACH without 0: the place of the message so far off in its session, -1 for none."""
        keys = [
            (session, row["position"]) if session else None
            for row, session in zip(self.rows, self.sessions, strict=True)
        ]
        place_of = {key: place for place, key in enumerate(keys) if key}
        found = {distance: np.full(len(keys), -1, dtype=np.intp) for distance in range(-REACH, REACH + 1) if distance}
        for place, key in enumerate(keys):
            if key:
                session, position = key
                for distance, places in found.items():
                    places[place] = place_of.get((session, position + distance), -1)
        return found

    @cached_property
    def speakers(self) -> list[str]:
        """Who says it, in small letters, for messages that begin with "Name:"; else the empty text."""
        return [match[1].lower() if match else "" for match in self._prefixes]

    @cached_property
    def bodies(self) -> list[str]:
        """The texts without the name of their speaker."""
        return [
            str(row["content"])[match.end() if match else 0 :].strip()
            for row, match in zip(self.rows, self._prefixes, strict=True)
        ]

    @cached_property
    def _prefixes(self) -> list[re.Match[str] | None]:
        return [
            _SPEAKER.match(str(row["content"])) if is_turn else None
            for row, is_turn in zip(self.rows, self.is_turn.tolist(), strict=True)
        ]

    @cached_property
    def holds(self) -> ScoreColumn:
        """Candidates x lexemes of the question: 1 where the memory's text vector holds it."""
        number_of = {lexeme: number for number, lexeme in enumerate(self.lexemes)}
        held = np.zeros((len(self.rows), len(self.lexemes)))
        for place, row in enumerate(self.rows):
            for lexeme in row.get("holds") or ():
                if lexeme in number_of:
                    held[place, number_of[lexeme]] = 1.0
        return held

    @cached_property
    def lexeme_weights(self) -> ScoreColumn:
        """What each lexeme tells, by how few candidates hold it; they sum to 1, or are all 0.

        The name of somebody who speaks here tells nothing about a text: all of that person's messages begin with it.
        """
        if not self.lexemes:
            return np.zeros(0)
        held_by = self.holds.sum(axis=0)
        weights = np.log((len(self.rows) + 1.0) / (held_by + 0.5)) * ~self._names
        total = weights.sum()
        return np.asarray(weights / total if total > 0 else np.zeros(len(self.lexemes)))

    @cached_property
    def _names(self) -> CandidateFlags:
        words = {word for speaker in set(self.speakers) for word in speaker.split()}
        return np.array([any(_is_stem(lexeme, word) for word in words) for lexeme in self.lexemes], dtype=bool)

    @cached_property
    def own_words(self) -> ScoreColumn:
        """The weight of the question's lexemes that each candidate holds itself, 0..1."""
        return np.asarray(self.holds @ self.lexeme_weights)

    @cached_property
    def strength(self) -> ScoreColumn:
        """How much each has to do with the question by itself: half its cosine, half its words, 0..1."""
        return np.asarray(0.5 * self.similarity + 0.5 * self.own_words)

    @cached_property
    def is_question(self) -> CandidateFlags:
        """Whether its text ends by asking."""
        return np.array([body.endswith(("?", "？", "؟")) for body in self.bodies], dtype=bool)

    def vectors_of(self, places: Sequence[int]) -> VectorMatrix:
        """The vectors of these candidates, one a row; zeros for a candidate without one."""
        found = [self._vectors.get(self.rows[place]["id"]) for place in places]
        size = next((len(vector) for vector in found if vector is not None), 0)
        return np.array([np.zeros(size) if vector is None else vector for vector in found], dtype=np.float32)


def column_at(column: ScoreColumn, places: Places) -> ScoreColumn:
    """The column's values (or rows) at these places; 0 where there is none."""
    values: ScoreColumn = column[places]
    values[places < 0] = 0.0
    return values


def _is_stem(lexeme: str, word: str) -> bool:
    shared = min(len(lexeme), len(word))
    return lexeme == word or (
        shared >= _STEM_LETTERS and lexeme[: shared - 1] == word[: shared - 1] and _near(lexeme, word)
    )


def _near(lexeme: str, word: str) -> bool:
    return 0 <= len(word) - len(lexeme) <= 2
