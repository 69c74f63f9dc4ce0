"""What is wrong with a collection of memories, each threshold by name, and what merging makes of two (ADR-0083)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.services.hygiene.value_differences import has_value_difference

#: Cosine of two vectors from which on texts say nearly the same.
NEAR_DUPLICATE_SIMILARITY_MIN = 0.92
#: Cosine from which on two texts may be about the same thing, and are compared by their numbers and dates.
CANDIDATE_SIMILARITY_MIN = 0.75
#: Nearest memories that one is paired with, at most: a hundred like texts make no list of five thousand pairs.
NEIGHBOURS_MAX = 5
#: A new memory repeats a context when what it resembles was shown to an agent in so long a time before it.
LOOP_WINDOW = timedelta(days=7)
#: Held for so long without being shown to an agent once.
NEVER_RETRIEVED_AFTER = timedelta(days=30)
#: Shown so often: enough to tell that nobody made use of it.
UNHELPFUL_RETRIEVALS_MIN = 20
#: Gone within so long a time from now.
EXPIRES_WITHIN = timedelta(days=7)

NEAR_DUPLICATE_LIST, CONTRADICTION, RECALL_LOOP = "near_duplicate", "contradiction", "recall_loop"
NEVER_RETRIEVED, UNHELPFUL, EXPIRES_SOON = "never_retrieved", "unhelpful", "expires_soon"

PairKey = TypeVar("PairKey")
PairVectors = NDArray[np.float32]


@dataclass(frozen=True)
class HygieneList:
    """One list: its name in addresses, what it means with its thresholds, and the orders it can stand in.

    `sorts` are columns by the words for them, the first is the default.
    """

    kind: str
    title: str
    meaning: str
    sorts: Mapping[str, str]
    has_pairs: bool = False


_OF_PAIRS = {"similarity": "-similarity", "newest": "-found_at"}
LISTS: Mapping[str, HygieneList] = {
    each.kind: each
    for each in (
        HygieneList(
            NEAR_DUPLICATE_LIST,
            "Near duplicates",
            f"Two memories of one partition whose vectors have a cosine of {NEAR_DUPLICATE_SIMILARITY_MIN} or more;"
            f" each is paired with its {NEIGHBOURS_MAX} nearest at most.",
            _OF_PAIRS,
            has_pairs=True,
        ),
        HygieneList(
            CONTRADICTION,
            "Contradictions",
            "Two memories of one partition that say the same but for a number or a date"
            f" (cosine {CANDIDATE_SIMILARITY_MIN} or more, all other words alike): perhaps one is out of date.",
            _OF_PAIRS,
            has_pairs=True,
        ),
        HygieneList(
            RECALL_LOOP,
            "Recall loops",
            f"A memory that repeats what an agent was shown in the {LOOP_WINDOW.days} days before it was stored: equal"
            f" but for case and spaces, or with a cosine of {NEAR_DUPLICATE_SIMILARITY_MIN} or more in one partition.",
            _OF_PAIRS,
            has_pairs=True,
        ),
        HygieneList(
            NEVER_RETRIEVED,
            "Never retrieved",
            f"Held for more than {NEVER_RETRIEVED_AFTER.days} days and not once packed into a context.",
            {"oldest": "at", "tokens": "-weight"},
        ),
        HygieneList(
            UNHELPFUL,
            "Recalled, no vote for it",
            f"Packed into {UNHELPFUL_RETRIEVALS_MIN} contexts or more without a vote for it, by a person or by an"
            " answer that used it; or with more weight against it than for it.",
            {"retrievals": "-weight", "oldest": "at"},
        ),
        HygieneList(
            EXPIRES_SOON,
            "Expires soon",
            f"Agents stop reading these within {EXPIRES_WITHIN.days} days.",
            {"soonest": "at", "tokens": "-weight"},
        ),
    )
}


def nearest_pairs(own: PairVectors, others: PairVectors) -> list[tuple[int, int, float]]:
    """(row of `own`, row of `others`, cosine) of near rows; unit vectors of one dimension.

    Of each row of `own` the nearest `NEIGHBOURS_MAX` that are near enough, and one more: it may meet itself.
    """
    if not len(own) or not len(others):
        return []
    cosines = np.minimum(own @ others.T, np.float32(1.0))
    count = min(NEIGHBOURS_MAX + 1, len(others))
    nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
    rows = np.repeat(np.arange(len(own)), count)
    columns = nearest.ravel()
    values = cosines[rows, columns]
    near = np.flatnonzero(values >= CANDIDATE_SIMILARITY_MIN)
    return list(zip(rows[near].tolist(), columns[near].tolist(), values[near].tolist(), strict=True))


def limit_pairs_per_memory(found: Iterable[tuple[PairKey, PairKey, float]]) -> list[tuple[PairKey, PairKey, float]]:
    """Of (one, other, cosine) the `NEIGHBOURS_MAX` nearest of each `one`; ties in the order they came."""
    by_one: dict[PairKey, list[tuple[PairKey, PairKey, float]]] = {}
    for row in found:
        by_one.setdefault(row[0], []).append(row)
    return [row for rows in by_one.values() for row in sorted(rows, key=lambda row: -row[2])[:NEIGHBOURS_MAX]]


def classify_pair(older: str, newer: str, similarity: float, *, was_shown: bool) -> str | None:
    """The list a pair of texts stands in, None where in none. `was_shown`: see `was_recently_recalled`."""
    if has_value_difference(older, newer):
        return CONTRADICTION
    if similarity < NEAR_DUPLICATE_SIMILARITY_MIN:
        return None
    return RECALL_LOOP if was_shown else NEAR_DUPLICATE_LIST


def was_recently_recalled(first_shown_at: datetime, last_shown_at: datetime, stored_at: datetime) -> bool:
    """Whether a text was shown to an agent before another was stored, and as late as `LOOP_WINDOW` before it."""
    return first_shown_at <= stored_at and last_shown_at >= stored_at - LOOP_WINDOW


def texts_hash(older_hash: str, older_place: str, newer_hash: str, newer_place: str) -> str:
    """Hex SHA-256 of a pair as it was compared: another text or place of either makes it another pair."""
    return hashlib.sha256("\n".join((older_hash, older_place, newer_hash, newer_place)).encode()).hexdigest()


def is_unhelpful(retrievals: int, positive: float, negative: float, *, has_feedback: bool) -> bool:
    """Whether a memory is shown often and of no use. Sums of votes are amounts.

    Where a tenant's agents never give feedback (`has_feedback` false), silence about a memory says nothing.
    """
    if retrievals < UNHELPFUL_RETRIEVALS_MIN:
        return False
    return negative > positive or (has_feedback and positive == 0)


class Mergeable(Protocol):
    """What decides which of several memories is kept, and what it takes over."""

    @property
    def id(self) -> UUID: ...
    @property
    def usefulness_score(self) -> float: ...
    @property
    def retrieval_count(self) -> int: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def last_retrieved_at(self) -> datetime | None: ...
    @property
    def created_at(self) -> datetime: ...


M = TypeVar("M", bound=Mergeable)


def choose_kept_memory(memories: Sequence[M], *, prefers_newer: bool = False) -> M:
    """The one to keep where nobody chose: pinned, then retrieved most, then most useful, then newest.

    `prefers_newer` asks for the newest first: of two facts that contradict each other the later one.
    """

    def rank(memory: M) -> tuple[Any, ...]:
        standing = (memory.pinned, memory.retrieval_count, memory.usefulness_score)
        return (memory.created_at, *standing, memory.id) if prefers_newer else (*standing, memory.created_at, memory.id)

    return max(memories, key=rank)


def combine_memories(memories: Sequence[Mergeable]) -> tuple[float, int, bool, datetime | None]:
    """Usefulness, retrievals, pin and last retrieval of what several memories become.

    Usefulness is their mean weighted by retrievals + 1, retrievals are the sum, one pin pins.
    """
    weights = [memory.retrieval_count + 1 for memory in memories]
    useful = sum(memory.usefulness_score * weight for memory, weight in zip(memories, weights, strict=True))
    times = [memory.last_retrieved_at for memory in memories if memory.last_retrieved_at is not None]
    return (
        useful / sum(weights),
        sum(memory.retrieval_count for memory in memories),
        any(memory.pinned for memory in memories),
        max(times, default=None),
    )


def group_pairs(pairs: Iterable[tuple[PairKey, PairKey]]) -> list[list[PairKey]]:
    """Memories that hang together by pairs, each group and each member once, in the order they came."""
    group_of: dict[PairKey, list[PairKey]] = {}
    for one, other in pairs:
        left, right = group_of.setdefault(one, [one]), group_of.setdefault(other, [other])
        if left is not right:
            left.extend(right)
            group_of |= dict.fromkeys(right, left)
    return list({id(group): group for group in group_of.values()}.values())
