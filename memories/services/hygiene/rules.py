"""The hygiene lists with their thresholds, and the rules of merging (ADR-0083)."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.services.hygiene.statements import states_the_same
from memories.services.hygiene.value_differences import has_value_difference
from memories.services.store.bulk import BULK_ARCHIVE, BULK_MERGE, RESTORE

#: Minimum cosine of near-duplicates.
NEAR_DUPLICATE_SIMILARITY_MIN = 0.92
#: Minimum cosine of texts that may be about the same thing; their numbers and dates are compared.
CANDIDATE_SIMILARITY_MIN = 0.75
#: Maximum pairs per memory, so that a hundred similar texts do not make five thousand pairs.
NEIGHBOURS_MAX = 5
#: A new memory is a recall loop if an agent saw the text that it repeats within this time before.
LOOP_WINDOW = timedelta(days=7)
#: Age of memories that no context has included yet.
NEVER_RETRIEVED_AFTER = timedelta(days=30)
#: Retrievals from which a memory counts as retrieved often.
UNHELPFUL_RETRIEVALS_MIN = 20
#: Time to expiry.
EXPIRES_WITHIN = timedelta(days=7)

NEAR_DUPLICATE_LIST, CONTRADICTION, RECALL_LOOP = "near_duplicate", "contradiction", "recall_loop"
REPLACED = "replaced"
NEVER_RETRIEVED, UNHELPFUL, EXPIRES_SOON = "never_retrieved", "unhelpful", "expires_soon"

PairKey = TypeVar("PairKey")
Other = TypeVar("Other")
PairVectors = NDArray[np.float32]


@dataclass(frozen=True)
class HygieneList:
    """One list: its name in URLs, its meaning, and its orders by name, the default first."""

    kind: str
    title: str
    meaning: str
    sorts: Mapping[str, str]
    has_pairs: bool = False
    #: The action on its rows, in addition to dismissing them.
    action: str = BULK_ARCHIVE


_OF_PAIRS = {"similarity": "-similarity", "newest": "-found_at"}
LISTS: Mapping[str, HygieneList] = {
    each.kind: each
    for each in (
        HygieneList(
            NEAR_DUPLICATE_LIST,
            "Near-duplicates",
            "Two memories of one partition that make the same statement, with the same names, numbers, dates and"
            f" conditions (cosine {NEAR_DUPLICATE_SIMILARITY_MIN} or more). Each is paired with at most"
            f" {NEIGHBOURS_MAX} others.",
            _OF_PAIRS,
            has_pairs=True,
            action=BULK_MERGE,
        ),
        HygieneList(
            CONTRADICTION,
            "Contradictions",
            "Two memories of one partition that differ only in a number or date"
            f" (cosine {CANDIDATE_SIMILARITY_MIN} or more, all other words equal). One may be outdated.",
            _OF_PAIRS,
            has_pairs=True,
            action=BULK_MERGE,
        ),
        HygieneList(
            RECALL_LOOP,
            "Recall loops",
            f"A memory that repeats what an agent received in the {LOOP_WINDOW.days} days before it was stored: the"
            " same text within the partition of that context, or a near-duplicate in one partition. Memories of two"
            " users are never paired.",
            _OF_PAIRS,
            has_pairs=True,
            action=BULK_MERGE,
        ),
        HygieneList(
            REPLACED,
            "Replaced facts",
            "A memory that another one replaced, because its writer said so or because a compaction found another value"
            " of the same attribute. Agents receive the newer one; the older one was true until then.",
            {"newest": "-found_at"},
            has_pairs=True,
            action=RESTORE,
        ),
        HygieneList(
            NEVER_RETRIEVED,
            "Never retrieved",
            f"Stored for more than {NEVER_RETRIEVED_AFTER.days} days and never included in a context.",
            {"oldest": "at", "tokens": "-weight"},
        ),
        HygieneList(
            UNHELPFUL,
            "No positive feedback",
            f"Included in {UNHELPFUL_RETRIEVALS_MIN} contexts or more, with at least one negative vote, no positive one"
            " and no answer that used it.",
            {"retrievals": "-weight", "oldest": "at"},
        ),
        HygieneList(
            EXPIRES_SOON,
            "Expiring soon",
            f"These memories expire within {EXPIRES_WITHIN.days} days.",
            {"soonest": "at", "tokens": "-weight"},
        ),
    )
}


def nearest_pairs(
    own: PairVectors, others: PairVectors, *, count: int = NEIGHBOURS_MAX + 1, minimum: float = CANDIDATE_SIMILARITY_MIN
) -> list[tuple[int, int, float]]:
    """Return (row of `own`, row of `others`, cosine) of near unit vectors, at most `count` per row."""
    if not len(own) or not len(others):
        return []
    cosines = np.minimum(own @ others.T, np.float32(1.0))
    count = min(count, len(others))
    nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
    rows = np.repeat(np.arange(len(own)), count)
    columns = nearest.ravel()
    values = cosines[rows, columns]
    near = np.flatnonzero(values >= minimum)
    return list(zip(rows[near].tolist(), columns[near].tolist(), values[near].tolist(), strict=True))


def limit_pairs_per_memory(
    found: Iterable[tuple[PairKey, Other, float]], count: int = NEIGHBOURS_MAX
) -> list[tuple[PairKey, Other, float]]:
    """Return the `count` nearest (one, other, cosine) of each `one`; ties in input order."""
    by_one = defaultdict[PairKey, list[tuple[PairKey, Other, float]]](list)
    for row in found:
        by_one[row[0]].append(row)
    return [row for rows in by_one.values() for row in sorted(rows, key=lambda row: -row[2])[:count]]


def classify_pair(older: str, newer: str, similarity: float, *, was_shown: bool) -> str | None:
    """Return the list of a pair of texts, or None. `was_shown`: see `was_recently_recalled`."""
    is_near = similarity >= NEAR_DUPLICATE_SIMILARITY_MIN
    has_difference = has_value_difference(older, newer)
    if (is_near or has_difference) and states_the_same(older, newer):
        return (RECALL_LOOP if was_shown else NEAR_DUPLICATE_LIST) if is_near else None
    return CONTRADICTION if has_difference else None


def was_recently_recalled(first_shown_at: datetime, last_shown_at: datetime, stored_at: datetime) -> bool:
    """Whether an agent saw a text within `LOOP_WINDOW` before another one was stored."""
    return first_shown_at <= stored_at and last_shown_at >= stored_at - LOOP_WINDOW


def texts_hash(older_hash: str, older_place: str, newer_hash: str, newer_place: str) -> str:
    """Return the hex SHA-256 of a pair's texts and partitions; a change of any makes another pair."""
    return hashlib.sha256("\n".join((older_hash, older_place, newer_hash, newer_place)).encode()).hexdigest()


def replacement_hash(older_id: UUID, newer_id: UUID, at: datetime) -> str:
    """Return the hex SHA-256 of a replacement; the same memories replaced again make another pair."""
    return hashlib.sha256(f"{older_id}\n{newer_id}\n{at.isoformat()}".encode()).hexdigest()


def is_unhelpful(retrievals: int, positive: float, negative: float) -> bool:
    """Whether a memory is retrieved often, was judged, and never positively.

    `positive`, which includes answers that used the memory, and `negative` are sums of votes, both without sign.
    """
    return retrievals >= UNHELPFUL_RETRIEVALS_MIN and negative > 0 and not positive


class Mergeable(Protocol):
    """The fields of a memory that decide a merge."""

    id: UUID
    usefulness_score: float
    retrieval_count: int
    pinned: bool
    last_retrieved_at: datetime | None
    created_at: datetime


M = TypeVar("M", bound=Mergeable)


def choose_kept_memory(memories: Sequence[M], *, prefers_newer: bool = False) -> M:
    """Return the memory to keep: pinned, most retrieved, most useful, newest; the newest first if `prefers_newer`."""

    def rank(memory: M) -> tuple[Any, ...]:
        standing = (memory.pinned, memory.retrieval_count, memory.usefulness_score)
        return (memory.created_at, *standing, memory.id) if prefers_newer else (*standing, memory.created_at, memory.id)

    return max(memories, key=rank)


def combine_memories(memories: Sequence[Mergeable]) -> tuple[float, int, bool, datetime | None]:
    """Return a merge's usefulness (mean weighted by retrievals + 1), retrievals (sum), pin (any) and last retrieval."""
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
    """Return the connected groups of pairs, each member once, in input order."""
    above: dict[PairKey, PairKey] = {}

    def first_of(key: PairKey) -> PairKey:
        while above[key] != key:
            above[key] = key = above[above[key]]
        return key

    for one, other in pairs:
        above.setdefault(one, one), above.setdefault(other, other)
        above[first_of(other)] = first_of(one)
    groups = defaultdict[PairKey, list[PairKey]](list)
    for key in above:
        groups[first_of(key)].append(key)
    return list(groups.values())
