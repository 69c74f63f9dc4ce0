"""Joining rankings and gating by tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.services.search.fusion import RECIPROCAL_RANK_K, gate_by_tokens, reciprocal_rank_fusion

RANKING = st.lists(st.integers(0, 30), max_size=20)


def test_the_constant_is_sixty():
    assert RECIPROCAL_RANK_K == 60


def test_worked_example():
    fused = reciprocal_rank_fusion(["a", "b", "c"], ["c", "a"])
    assert [key for key, _ in fused] == ["a", "c", "b"]
    assert dict(fused) == pytest.approx({"a": 1 / 61 + 1 / 62, "c": 1 / 63 + 1 / 61, "b": 1 / 62})


def test_one_ranking_keeps_its_order():
    assert [key for key, _ in reciprocal_rank_fusion([3, 1, 2])] == [3, 1, 2]


def test_ties_go_to_the_better_best_rank_then_to_first_appearance():
    assert [key for key, _ in reciprocal_rank_fusion(["a", "b"], ["b", "a"], [])] == ["a", "b"]
    assert [key for key, _ in reciprocal_rank_fusion(["x"], ["y"])] == ["x", "y"]


def test_a_repeated_id_counts_once_a_ranking():
    assert reciprocal_rank_fusion(["a", "a", "b"]) == reciprocal_rank_fusion(["a", "b"])


def test_nothing_in_nothing_out():
    assert reciprocal_rank_fusion() == reciprocal_rank_fusion([], []) == []


@given(RANKING, RANKING)
def test_fusion_is_the_union_best_first(one, two):
    fused = reciprocal_rank_fusion(one, two)
    assert {key for key, _ in fused} == set(one) | set(two)
    assert len(fused) == len(set(one) | set(two))
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)


def test_gate_stops_once_the_mark_is_reached():
    tokens = [10] * 100
    assert gate_by_tokens(list(range(100)), tokens, budget=100, overfetch_ratio=1.25) == list(range(13))
    assert gate_by_tokens(list(range(100)), tokens, budget=100, overfetch_ratio=1.0) == list(range(10))


def test_gate_takes_at_least_the_minimum_and_at_most_the_maximum():
    tokens = [1] * 2_000
    assert len(gate_by_tokens(range(2_000), tokens, budget=0, overfetch_ratio=1.25)) == 5
    assert len(gate_by_tokens(range(2_000), tokens, budget=10**6, overfetch_ratio=1.25)) == 1_000
    assert len(gate_by_tokens(range(3), tokens, budget=10**6, overfetch_ratio=1.25)) == 3


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(0, 500), st.floats(1, 3))
def test_gate_takes_the_shortest_sufficient_beginning(counts, budget, ratio):
    ids = list(range(len(counts)))
    chosen = gate_by_tokens(ids, counts, budget=budget, overfetch_ratio=ratio)
    assert chosen == ids[: len(chosen)]
    if len(chosen) > 5:
        assert sum(counts[: len(chosen) - 1]) < budget * ratio
    if len(chosen) < len(ids):
        assert sum(counts[: len(chosen)]) >= budget * ratio
