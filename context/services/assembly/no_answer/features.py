"""What the candidates of a query say about whether one of them answers it, as numbers for a logistic function."""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import log1p
from typing import Protocol, TypeVar
from uuid import UUID

import numpy as np
import numpy.typing as npt

from context.services.assembly.no_answer.query_parts import QueryParts, language_of, words_in
from context.services.assembly.superseded.statements import STEM_LETTERS

_Row = TypeVar("_Row", bound="ComparedRow")
Column = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: Candidates that are compared: those of the highest cosine and those of the best text rank, each so many.
COMPARED_EACH = 10
#: Texts that are remembered, and the characters that are read of a text; a longer query is not judged.
TEXTS_CACHED, CHARACTERS_READ = 8_192, 1_000
#: Similarity of an answer where no candidate can be one: less than nearly all have.
NO_SIMILARITY = -0.1


class ComparedRow(Protocol):
    """What is read of a candidate."""

    @property
    def id(self) -> UUID: ...
    @property
    def content(self) -> str: ...
    @property
    def similarity(self) -> float | None: ...
    @property
    def text_rank(self) -> int | None: ...


def compared_rows(candidates: Sequence[_Row]) -> list[_Row]:
    """Return the candidates of the highest cosine, the highest first, then those of the best text rank."""
    nearest = sorted(candidates, key=lambda row: -(row.similarity or 0.0))[:COMPARED_EACH]
    ranked = [(row.text_rank, row) for row in candidates if row.text_rank is not None]
    by_text = [row for _, row in sorted(ranked, key=lambda pair: pair[0])[:COMPARED_EACH]]
    return list({row.id: row for row in (*nearest, *by_text)}.values())


def answer_features(
    text: str, parts: QueryParts, rows: Sequence[ComparedRow], attribute_similarity: Column
) -> dict[str, float]:
    """Return the features of a query and its compared candidates (at least one), by name.

    `attribute_similarity` is the cosine of each candidate to the attribute words of the query. A candidate may answer
    if it contains a name of the query, where any does, and has the form of an answer.
    """
    texts = [row.content[:CHARACTERS_READ] for row in rows]
    named = _contains(texts, parts.names)
    is_named = named.any(axis=1) if named.any() else np.ones(len(texts), dtype=bool)
    may_answer = is_named & _has_form(parts, texts)
    own_language = language_of(text)
    return {
        "answer_similarity": float(attribute_similarity[may_answer].max(initial=NO_SIMILARITY)),
        "attribute_similarity": float(attribute_similarity.max()),
        "attribute_words": log1p(len(parts.attributes)),
        "is_composite": float(parts.is_composite),
        "other_language": float(np.mean([language_of(each) not in (own_language, None) for each in texts])),
    }


def _contains(texts: Sequence[str], words: Sequence[str]) -> Flags:
    """Return texts x words: whether the text has a word with the same beginning."""
    stems = [_stem(word) for word in words]
    held = [[stem in known for stem in stems] for known in map(_stems_of, texts)]
    return np.array(held, dtype=bool).reshape(len(texts), len(stems))


def _has_form(parts: QueryParts, texts: Sequence[str]) -> Flags:
    """Return which texts have the form of an answer; what is in the names of the query does not count."""
    form = parts.answer_form
    if form is None:
        return np.ones(len(texts), dtype=bool)
    names = re.compile("|".join(map(re.escape, parts.names)) or r"(?!)", re.IGNORECASE)
    return np.array([form.search(names.sub("", text)) is not None for text in texts])


def _stem(word: str) -> str:
    """Return the beginning that stands for a word in lower case; an identifier stands for itself."""
    return word[:STEM_LETTERS] if word.isalpha() else word


@lru_cache(TEXTS_CACHED)
def _stems_of(text: str) -> frozenset[str]:
    return frozenset(_stem(word.lower()) for word in words_in(text))
