"""The usefulness of a memory from its votes, and which memories a model's answer used (ADR-0065)."""

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

# SPEC, Feedback.
EXPLICIT_WEIGHTS = {"POSITIVE": 1.0, "NEGATIVE": -1.0, "VERY_NEGATIVE": -3.0}
IMPLICIT_WEIGHT = 0.25
#: A memory counts as used if the answer contains this many of its rare words, or this share of them ...
RARE_WORDS_MIN = 3
RARE_WORDS_SHARE = 0.5
#: ... or if the cosine of a sentence of the answer is at least this.
SIMILARITY_MIN = 0.6

# ADR-0065. A word is rare if at most this share of the sampled memories contains it, or only one.
RARE_DOCUMENT_SHARE = 0.02
#: Newest memories of the tenant that are sampled in addition to those of the context.
SAMPLE_MEMORIES = 500
#: Sentences of an answer that are embedded; words of the whole answer are compared.
ANSWER_SENTENCES_MAX = 200
WORD_CHARACTERS_MIN = 3

_WORD = re.compile(r"\w+")
#: Scripts without spaces: pairs of characters count as words.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"'»”’)\]])\s+|(?<=[。！？])|\n+")
#: Words that never count as rare; in a small collection, every word would.
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
    """How much of a memory is in an answer. `similarity` is None if no vectors could be compared."""

    rare_words: frozenset[str]
    shared_words: frozenset[str]
    similarity: float | None

    @property
    def is_used(self) -> bool:
        shared = len(self.shared_words)
        is_used_by_words = shared >= RARE_WORDS_MIN or 0 < RARE_WORDS_SHARE * len(self.rare_words) <= shared
        return is_used_by_words or (self.similarity or 0.0) >= SIMILARITY_MIN


def usefulness_from_votes(positive: float, negative: float) -> float:
    """Return usefulness from the sums of the weights of votes, both without sign: 0.5 without votes, never 0 or 1."""
    if positive < 0 or negative < 0:
        raise ValueError("sums of votes are not below 0")
    return (1 + positive) / (2 + positive + negative)


def find_overlaps(
    memories: Mapping[Id, str], answer: str, *, sample: Iterable[str], similarities: Mapping[Id, float]
) -> dict[Id, AnswerOverlap]:
    """Return how much of each of `memories` (texts by id) is in `answer`.

    `sample` are texts that show which words are rare, with or without those of `memories`; `similarities` are the best
    cosines of any sentence of the answer.
    """
    answered = comparison_words(answer)
    words = {key: comparison_words(text) for key, text in memories.items()}
    vocabulary, texts = frozenset().union(*words.values()), {*memories.values(), *sample}
    frequencies = Counter(word for text in texts for word in comparison_words(text) & vocabulary)
    limit = max(1, int(len(texts) * RARE_DOCUMENT_SHARE))
    rare = {key: frozenset(word for word in own if frequencies[word] <= limit) for key, own in words.items()}
    return {key: AnswerOverlap(own, own & answered, similarities.get(key)) for key, own in rare.items()}


def comparison_words(text: str) -> frozenset[str]:
    """Return the words of a text for comparison: in compatibility form and folded case, without short and stop words.

    A word with a digit needs two characters; scripts without spaces give pairs of characters.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = {word for word in _WORD.findall(_UNSPACED.sub(" ", folded)) if _says_something(word)}
    pairs = {run[i : i + 2] for run in _UNSPACED.findall(folded) for i in range(len(run) - 1)}
    return frozenset(spaced | pairs)


def leading_sentences(text: str) -> list[str]:
    """Return the first sentences of a text that contain a word, at most `ANSWER_SENTENCES_MAX`."""
    sentences = (part.strip() for part in _SENTENCE_END.split(text))
    return [sentence for sentence in sentences if _WORD.search(sentence)][:ANSWER_SENTENCES_MAX]


def best_similarities(memories: Mapping[Id, Sequence[float] | _Vectors], sentences: _Vectors) -> dict[Id, float]:
    """Return the cosine of each memory's unit vector to the nearest sentence; nothing without sentences."""
    if not memories or not len(sentences):
        return {}
    matrix = np.asarray(list(memories.values()), dtype=np.float32)
    best = (matrix @ sentences.T).max(axis=1)
    return {key: float(value) for key, value in zip(memories, best, strict=True)}


def _says_something(word: str) -> bool:
    if word in _STOP_WORDS:
        return False
    return len(word) >= WORD_CHARACTERS_MIN or (len(word) > 1 and any(character.isdigit() for character in word))
