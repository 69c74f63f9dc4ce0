"""The list of a pair, unhelpful memories, and the result of a merge."""

import tracemalloc
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest

from memories.hygiene.maintenance import COMPARED_BATCH, ROWS_READ
from memories.services.hygiene.rules import (
    LOOP_WINDOW,
    NEAR_DUPLICATE_SIMILARITY_MIN,
    NEIGHBOURS_MAX,
    UNHELPFUL_RETRIEVALS_MIN,
    choose_kept_memory,
    classify_pair,
    combine_memories,
    group_pairs,
    is_unhelpful,
    limit_pairs_per_memory,
    nearest_pairs,
    texts_hash,
    was_recently_recalled,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    id: UUID
    usefulness_score: float = 0.5
    retrieval_count: int = 0
    pinned: bool = False
    last_retrieved_at: datetime | None = None
    created_at: datetime = NOW


def row(number: int, **fields: object) -> Row:
    return Row(UUID(int=number), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("newer", "similarity", "was_shown", "kind"),
    [
        ("the fee is 15 EUR here", 0.99, False, "contradiction"),
        ("the fee is 15 EUR here", 0.99, True, "contradiction"),
        ("the fee is EUR 14.00 here", NEAR_DUPLICATE_SIMILARITY_MIN, False, "near_duplicate"),
        ("the fee is EUR 14.00 here", NEAR_DUPLICATE_SIMILARITY_MIN, True, "recall_loop"),
        ("the fee is EUR 14.00 here", NEAR_DUPLICATE_SIMILARITY_MIN - 0.001, True, None),
        ("the fee was 14 EUR here", 0.99, False, None),
        ("the fee is 14 EUR there", 0.99, True, None),
    ],
)
def test_pair_is_in_one_list(newer: str, similarity: float, was_shown: bool, kind: str | None) -> None:
    assert classify_pair("the fee is 14 EUR here", newer, similarity, was_shown=was_shown) == kind


def test_shown_before_is_within_the_window_and_not_after() -> None:
    moment = timedelta(microseconds=1)
    assert was_recently_recalled(NOW, NOW, NOW)
    assert was_recently_recalled(NOW - LOOP_WINDOW, NOW - LOOP_WINDOW, NOW)
    assert not was_recently_recalled(NOW - LOOP_WINDOW - moment, NOW - LOOP_WINDOW - moment, NOW)
    assert not was_recently_recalled(NOW + moment, NOW + moment, NOW)
    assert was_recently_recalled(NOW - LOOP_WINDOW * 9, NOW + moment, NOW)


def test_comparing_memories_takes_a_few_megabytes() -> None:
    own, others = np.ones((COMPARED_BATCH, 8), np.float32), np.ones((ROWS_READ, 8), np.float32)
    tracemalloc.start()
    nearest_pairs(own, others)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000


def test_nearest_are_few_and_near() -> None:
    vectors = np.eye(4, dtype=np.float32)
    assert nearest_pairs(vectors[:2], vectors) == [(0, 0, 1.0), (1, 1, 1.0)]
    assert nearest_pairs(vectors[:0], vectors) == nearest_pairs(vectors, vectors[:0]) == []
    same = np.tile(vectors[0], (50, 1))
    assert len(nearest_pairs(same[:1], same)) == NEIGHBOURS_MAX + 1
    assert nearest_pairs(vectors[:1], vectors, count=2, minimum=-1.0)[:1] == [(0, 0, 1.0)]
    many = [("a", number, number / 100) for number in range(80, 100)]
    assert [cosine for *_, cosine in limit_pairs_per_memory(many)] == [0.99, 0.98, 0.97, 0.96, 0.95]


@pytest.mark.parametrize(
    ("retrievals", "up", "down", "is_so"),
    [
        (UNHELPFUL_RETRIEVALS_MIN, 0, 0, False),
        (UNHELPFUL_RETRIEVALS_MIN - 1, 0, 3, False),
        (UNHELPFUL_RETRIEVALS_MIN, 0.25, 0, False),
        (UNHELPFUL_RETRIEVALS_MIN, 0, 1, True),
        (UNHELPFUL_RETRIEVALS_MIN, 0.25, 3, False),
        (UNHELPFUL_RETRIEVALS_MIN, 1, 3, False),
    ],
)
def test_unhelpful_is_retrieved_often_and_only_judged_negatively(
    retrievals: int, up: float, down: float, is_so: bool
) -> None:
    assert is_unhelpful(retrievals, up, down) is is_so


def test_kept_is_pinned_then_retrieved_then_useful_then_newest() -> None:
    rows = [
        row(1, created_at=NOW + timedelta(days=1)),
        row(2, usefulness_score=0.9),
        row(3, retrieval_count=1),
        row(4, pinned=True),
    ]
    for expected in (4, 3, 2, 1):
        assert choose_kept_memory(rows).id.int == expected
        rows.pop()
    assert (
        choose_kept_memory([row(1, pinned=True), row(2, created_at=NOW + timedelta(days=1))], prefers_newer=True).id.int
        == 2
    )


def test_combined_adds_retrievals_weighs_usefulness_and_keeps_a_pin() -> None:
    rows = [
        row(1, usefulness_score=0.8, retrieval_count=3),
        row(2, usefulness_score=0.2, retrieval_count=1, pinned=True),
    ]
    usefulness, retrievals, is_pinned, last = combine_memories(rows)
    assert usefulness == pytest.approx((0.8 * 4 + 0.2 * 2) / 6)
    assert (retrievals, is_pinned, last) == (4, True, None)
    assert combine_memories([row(1, last_retrieved_at=NOW), row(2)])[3] == NOW


def test_pairs_hang_together_in_groups() -> None:
    assert group_pairs([("a", "b"), ("c", "d"), ("b", "c"), ("x", "y")]) == [["a", "b", "c", "d"], ["x", "y"]]
    assert group_pairs([("a", "b"), ("b", "a"), ("a", "b")]) == [["a", "b"]]


def test_stamp_of_a_pair_changes_with_every_part() -> None:
    hashes_and_paths = {
        texts_hash(*parts) for parts in (("a", "b", "c", "d"), ("x", "b", "c", "d"), ("a", "x", "c", "d"))
    }
    assert len(hashes_and_paths) == 3
