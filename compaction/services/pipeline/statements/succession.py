"""Which sentence of a conversation makes an earlier one outdated, as learned from annotated sessions (ADR-0118)."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from compaction.services.pipeline.statements.languages import Language
from compaction.services.pipeline.statements.prediction import KIND_LETTERS, Prediction
from compaction.services.pipeline.statements.rarity import word_weights
from memories.services.time_limits import in_time

#: Earlier sentences with which one is compared: by its rarest words, how many per word, and the directly preceding
#: ones.
STEMS_COMPARED_MAX, COMPARED_PER_STEM_MAX, RECENT_MAX = 6, 8, 8
#: Words of a short conversation count as rare as in one with this many sentences.
SENTENCES_MIN = 40
#: A sentence that is outdated with a higher probability is not a statement; a later one names it as replaced.
OUTDATED_MIN = 0.6
#: Pairs that are decided together, so that their nodes stay in the processor's cache.
ROWS_AT_ONCE = 256
FOREST_FILE = Path(__file__).with_name("succession.npz")

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_IDENTIFIER = re.compile(r"(?<!\w)(?=[\w-]{0,64}[^\W\d_])(?=[\w-]{0,64}\d)\w+(?:-\w+)+|\b[^\W\d_]+\d+\b")
_NAME = re.compile(r"(?<=[\w,;:] )[A-ZÀ-Þ][\w'-]+")


@dataclass(frozen=True)
class Claim:
    """A sentence with its features. `number` counts messages from 0; earlier summaries come before, below 0.

    `can_replace`: it may make an earlier sentence outdated.
    """

    text: str
    speaker: str
    role: str
    number: int
    language: Language
    prediction: Prediction
    can_replace: bool = True


@dataclass(frozen=True)
class Outdated:
    """The probability that a sentence is outdated at the end, and the later one that replaced it, or None."""

    probability: float
    by: int | None = None


@dataclass(frozen=True)
class _ComparedClaim:
    """The compared features of a claim."""

    stems: frozenset[str]
    numbers: frozenset[str]
    days: frozenset[str]
    names: frozenset[str]
    identifiers: frozenset[str]
    pairs: frozenset[str]
    values: tuple[float, ...]


def find_outdated(claims: Sequence[Claim]) -> list[Outdated]:
    """Return for each sentence whether a later one makes it outdated; they come in the order of the conversation."""
    pairs, rows = compared_pairs(claims)
    best: dict[int, tuple[float, int]] = {}
    if pairs:
        for (older, newer), share in zip(pairs, _stored().forest.decide(np.array(rows, np.float32)), strict=True):
            if share > best.get(older, (0.0, 0))[0]:
                best[older] = (float(share), newer)
    outdated = []
    for number, claim in enumerate(claims):
        share, newer = best.get(number, (0.0, -1))
        probability = _stored().outdated(claim.prediction.replaced, share)
        outdated.append(Outdated(probability, newer if probability >= OUTDATED_MIN and newer >= 0 else None))
    return outdated


def compared_pairs(claims: Sequence[Claim]) -> tuple[list[tuple[int, int]], list[list[float]]]:
    """Return the pairs (older, newer) that are compared, and the features of each."""
    conversation = _Conversation(claims)
    pairs: list[tuple[int, int]] = []
    rows: list[list[float]] = []
    for newer in in_time(range(len(claims))):
        for older, features in conversation.compared(newer) if claims[newer].can_replace else ():
            pairs.append((older, newer))
            rows.append(features)
        conversation.add(newer)
    return pairs, rows


class _Conversation:
    def __init__(self, claims: Sequence[Claim]) -> None:
        self._claims = claims
        self._reads = [_read(claim) for claim in in_time(claims)]
        counts = Counter(stem for read in self._reads for stem in read.stems)
        size = max(len(claims), SENTENCES_MIN) + 1
        self._rarity = {stem: math.log(size / count) for stem, count in counts.items()}
        self._weights = [sum(self._rarity[stem] for stem in read.stems) for read in self._reads]
        self._by_stem: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, number: int) -> None:
        """Index a claim, so that later claims are compared with it."""
        for stem in self._reads[number].stems:
            self._by_stem[stem].append(number)

    def compared(self, newer: int) -> Iterator[tuple[int, list[float]]]:
        """Yield the earlier claims that may be outdated by this one, with the features of each pair."""
        rarest = sorted(self._reads[newer].stems, key=lambda stem: (-self._rarity[stem], stem))
        found = {
            other
            for stem in rarest[:STEMS_COMPARED_MAX]
            for other in islice(reversed(self._by_stem[stem]), COMPARED_PER_STEM_MAX)
        }
        found.update(range(max(newer - RECENT_MAX, 0), newer))
        found = {older for older in found if not _is_about_another(self._reads[older], self._reads[newer])}
        stems = {older: self._reads[older].stems & self._reads[newer].stems for older in found}
        shared = {older: sum(self._rarity[stem] for stem in common) for older, common in stems.items()}
        order = sorted(found, key=lambda older: (-shared[older], -older))
        for rank, older in enumerate(order):
            yield older, self._features(older, newer, shared[older], rank)

    def _features(self, older: int, newer: int, shared: float, rank: int) -> list[float]:
        old, new = self._claims[older], self._claims[newer]
        before, after = self._reads[older], self._reads[newer]
        weights = self._weights[older], self._weights[newer]
        alike = len(before.pairs & after.pairs) / (math.sqrt(len(before.pairs) * len(after.pairs)) or 1.0)
        return [
            shared,
            shared / (weights[0] + 1.0),
            shared / (weights[1] + 1.0),
            len(before.stems & after.stems),
            *weights,
            alike,
            rank,
            new.number - old.number,
            newer - older,
            old.speaker == new.speaker,
            old.role == "assistant",
            new.role == "assistant",
            *_conflict(before.numbers, after.numbers),
            *_conflict(before.days, after.days),
            *_conflict(before.names, after.names),
            *_conflict(before.identifiers, after.identifiers),
            sum(before.values[-len(KIND_LETTERS) + i] * after.values[-len(KIND_LETTERS) + i] for i in _KINDS),
            *before.values,
            *after.values,
        ]


_KINDS = range(len(KIND_LETTERS))


def _conflict(before: frozenset[str], after: frozenset[str]) -> tuple[float, float, float]:
    """How many values of one sort both have in common, and how many each has alone."""
    return len(before & after), len(before - after), len(after - before)


def _read(claim: Claim) -> _ComparedClaim:
    lower = claim.text.lower()
    predicted = claim.prediction
    language = claim.language
    cues = [bool(language.cues[name].search(lower)) if name in language.cues else False for name in _CUES]
    return _ComparedClaim(
        frozenset(word_weights(claim.text)),
        frozenset(_NUMBER.findall(claim.text)),
        frozenset(match[0] for match in language.days.finditer(lower)) if language.days else frozenset(),
        frozenset(name.lower() for name in _NAME.findall(claim.text)),
        frozenset(_IDENTIFIER.findall(lower)),
        frozenset(lower[place : place + 3] for place in range(len(lower) - 2)),
        (
            min(len(claim.text), 300),
            claim.text.rstrip().endswith("?"),
            *cues,
            predicted.worth,
            predicted.lasting,
            predicted.replaced,
            predicted.replaces,
            *predicted.forms.values(),
            *predicted.kinds.values(),
        ),
    )


_CUES = ("correction", "changed", "done", "hedges")


def _is_about_another(before: _ComparedClaim, after: _ComparedClaim) -> bool:
    """Whether both name identifiers, such as FR-2210 and INV-7731, and none in common."""
    return bool(before.identifiers and after.identifiers) and before.identifiers.isdisjoint(after.identifiers)


@dataclass(frozen=True)
class Forest:
    """Boosted regression trees, with all nodes in sequence; the successor of a leaf is the leaf itself.

    `decide` returns the probability of each row. Learned with scikit-learn's `HistGradientBoostingClassifier`.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float32]
    roots: NDArray[np.int64]
    depth: int
    base: float

    def decide(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the probability of each row of features."""
        parts = [
            self._decide(rows[start : start + ROWS_AT_ONCE]) for start in in_time(range(0, len(rows), ROWS_AT_ONCE))
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _decide(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        nodes = np.tile(self.roots, (len(rows), 1))
        numbers = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            is_left = rows[numbers, self.feature[nodes]] <= self.threshold[nodes]
            nodes = np.where(is_left, self.left[nodes], self.right[nodes])
        sums: NDArray[np.float64] = self.value[nodes].sum(axis=1, dtype=np.float64) + self.base
        return 1.0 / (1.0 + np.exp(-sums))

    @classmethod
    def of(cls, stored: Mapping[str, NDArray[np.float32]]) -> "Forest":
        """Return the forest of the arrays of its file."""
        return cls(
            feature=stored["feature"].astype(np.int64),
            threshold=stored["threshold"],
            left=stored["left"].astype(np.int64),
            right=stored["right"].astype(np.int64),
            value=stored["value"],
            roots=stored["roots"].astype(np.int64),
            depth=int(stored["depth"]),
            base=float(stored["base"]),
        )


@dataclass(frozen=True)
class _Stored:
    """The learned forest of pairs, and how its best pair is combined with the prediction for a single sentence."""

    forest: Forest
    weights: tuple[float, float, float]

    def outdated(self, by_itself: float, by_another: float) -> float:
        """Return how probably a sentence is outdated."""
        first, second, base = self.weights
        return 1.0 / (1.0 + math.exp(-(first * log_odds(by_itself) + second * log_odds(by_another) + base)))


def log_odds(share: float) -> float:
    """Return the logarithm of the odds of a probability, at most that of .9999."""
    bounded = min(max(share, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1.0 - bounded))


@cache
def _stored() -> _Stored:
    with np.load(FOREST_FILE) as stored:
        first, second, base = map(float, stored["together"])
        return _Stored(Forest.of(stored), (first, second, base))
