"""What votes make of a memory's usefulness, and which memories a model's answer made use of (ADR-0065)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Id = TypeVar("Id", bound=Hashable)
_Vectors = NDArray[np.float32]

# SPEC, Feedback. What a vote weighs.
EXPLICIT_WEIGHTS = {"POSITIVE": 1.0, "NEGATIVE": -1.0, "VERY_NEGATIVE": -3.0}
IMPLICIT_WEIGHT = 0.25
#: So many of a memory's rare words in an answer, or this share of them, mean that it was used ...
RARE_WORDS_MIN = 3
RARE_WORDS_SHARE = 0.5
#: ... and so does a sentence of the answer this close to it.
SIMILARITY_MIN = 0.6

# ADR-0065. A word is rare when it stands in at most this share of the sampled memories, and always when in one alone.
RARE_DOCUMENT_SHARE = 0.02
#: Newest memories of the tenant that are looked through beside those of the context.
SAMPLE_MEMORIES = 500
#: Sentences of an answer that are embedded; words are looked for in all of it.
ANSWER_SENTENCES_MAX = 200
WORD_CHARACTERS_MIN = 3

_WORD = re.compile(r"\w+")
#: Written without spaces: pairs of characters stand for words.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"'»”’)\]])\s+|(?<=[。！？])|\n+")
#: In a small collection every word is rare; these say nothing about any text.
_STOP_WORDS_TEXT = """
about above after again against all also although always among and another any are around because been before being
below between both but can cannot could did does doing done down during each either else enough even ever every few
first for from further get gets give given goes had has have having her here hers herself him himself his how
however into its itself just last least less let like made make makes many may maybe might more most much must
myself neither never next nor not nothing now off often once one only other others our ours ourselves out over own
perhaps please put rather said same say says see seen shall she should since some something still such sure take
than that the their theirs them themselves then there these they thing things this those though through thus too two
under until upon use used uses using very want wants was way well were what when where whether which while who whom
whose why will with within without would yes yet you your yours yourself yourselves
"""
_STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())


@dataclass(frozen=True)
class AnswerOverlap:
    """How much of a memory recurs in an answer. `similarity` is None where no vectors could be compared."""

    rare_words: frozenset[str]
    shared_words: frozenset[str]
    similarity: float | None

    @property
    def is_used(self) -> bool:
        """Whether the answer made use of the memory."""
        return self.is_used_by_words or (self.similarity or 0.0) >= SIMILARITY_MIN

    @property
    def is_used_by_words(self) -> bool:
        """Whether its rare words alone say so."""
        shared = len(self.shared_words)
        return shared >= RARE_WORDS_MIN or 0 < RARE_WORDS_SHARE * len(self.rare_words) <= shared


def usefulness_from_votes(positive: float, negative: float) -> float:
    """A memory's usefulness by the sums of its votes' weights, both as amounts: 0.5 without any, never 0 or 1."""
    if positive < 0 or negative < 0:
        raise ValueError("sums of votes are amounts, not below 0")
    return (1 + positive) / (2 + positive + negative)


def find_overlaps(
    memories: Mapping[Id, str], answer: str, *, sample: Iterable[str], similarities: Mapping[Id, float]
) -> dict[Id, AnswerOverlap]:
    """How each of `memories` (texts by id) recurs in `answer`.

    `sample` are texts that tell common words from rare ones, those of `memories` among them or not; `similarities` are
    the best cosines of any sentence of the answer.
    """
    answered = comparison_words(answer)
    words = {key: comparison_words(text) for key, text in memories.items()}
    frequencies, documents = _frequencies(words.values(), {*memories.values(), *sample})
    limit = max(1, int(documents * RARE_DOCUMENT_SHARE))
    rare = {key: frozenset(word for word in own if frequencies[word] <= limit) for key, own in words.items()}
    return {key: AnswerOverlap(own, own & answered, similarities.get(key)) for key, own in rare.items()}


def comparison_words(text: str) -> frozenset[str]:
    """The words of a text as they are compared: compatibility forms and case folded, no short or empty ones.

    A word with a digit counts from two characters on; scripts without spaces give pairs of characters.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = {word for word in _WORD.findall(_UNSPACED.sub(" ", folded)) if _says_something(word)}
    pairs = {run[i : i + 2] for run in _UNSPACED.findall(folded) for i in range(len(run) - 1)}
    return frozenset(spaced | pairs)


def leading_sentences(text: str) -> list[str]:
    """The first sentences of a text, at most `ANSWER_SENTENCES_MAX`, without those that hold no word."""
    sentences = (part.strip() for part in _SENTENCE_END.split(text))
    return [sentence for sentence in sentences if _WORD.search(sentence)][:ANSWER_SENTENCES_MAX]


def best_similarities(memories: Mapping[Id, Sequence[float] | _Vectors], sentences: _Vectors) -> dict[Id, float]:
    """The cosine of each memory's unit vector to the sentence that is nearest to it; nothing without sentences."""
    if not memories or not len(sentences):
        return {}
    matrix = np.asarray(list(memories.values()), dtype=np.float32)
    best = (matrix @ sentences.T).max(axis=1)
    return {key: float(value) for key, value in zip(memories, best, strict=True)}


def _says_something(word: str) -> bool:
    if word in _STOP_WORDS:
        return False
    return len(word) >= WORD_CHARACTERS_MIN or (len(word) > 1 and any(character.isdigit() for character in word))


def _frequencies(wanted: Iterable[frozenset[str]], texts: Iterable[str]) -> tuple[Counter[str], int]:
    """In how many of the texts each wanted word stands, and how many texts there are."""
    vocabulary = frozenset().union(*wanted)
    frequencies: Counter[str] = Counter()
    documents = 0
    for text in texts:
        frequencies.update(comparison_words(text) & vocabulary)
        documents += 1
    return frequencies, documents
