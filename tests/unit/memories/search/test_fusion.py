"""Fusion of rankings, and the candidate gate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.services.search import fusion
from memories.services.search.fusion import RECIPROCAL_RANK_K, fuse, fused_score, gate_by_tokens

RANKING = st.lists(st.integers(0, 30), max_size=20, unique=True)


def test_the_constant_is_sixty():
    assert RECIPROCAL_RANK_K == 60


def _ranks(*keys):
    return {key: rank for rank, key in enumerate(keys, start=1)}


def test_the_rank_by_text_counts_twice():
    fused = fuse(_ranks("a", "b", "c"), _ranks("c", "a"))
    assert fused == pytest.approx({"c": 1 / 63 + 2 / 61, "a": 1 / 61 + 2 / 62, "b": 1 / 62})
    assert list(fused) == ["c", "a", "b"]


def test_one_ranking_keeps_its_order():
    assert list(fuse(_ranks(3, 1, 2), {})) == list(fuse({}, _ranks(3, 1, 2))) == [3, 1, 2]


def test_ties_go_to_the_better_best_rank_then_to_first_appearance(monkeypatch):
    monkeypatch.setattr(fusion, "TEXT_RANK_COUNTS", 1)
    assert list(fuse(_ranks("a", "b"), _ranks("b", "a"))) == ["a", "b"]
    assert list(fuse(_ranks("x"), _ranks("y"))) == ["x", "y"]


def test_nothing_in_nothing_out():
    assert fuse({}, {}) == {}


@given(RANKING, RANKING)
def test_fusion_is_the_union_best_first_with_the_scores_of_its_ranks(one, two):
    fused = fuse(_ranks(*one), _ranks(*two))
    assert set(fused) == {*one, *two}
    assert list(fused.values()) == sorted(fused.values(), reverse=True)
    assert fused == pytest.approx({key: fused_score(_ranks(*one).get(key), _ranks(*two).get(key)) for key in fused})


def test_gate_stops_once_the_mark_is_reached():
    tokens = [10] * 100
    assert gate_by_tokens(list(range(100)), tokens, budget=100, overfetch_ratio=1.25) == list(range(13))
    assert gate_by_tokens(list(range(100)), tokens, budget=100, overfetch_ratio=1.0) == list(range(10))


def test_gate_takes_at_least_the_minimum_and_at_most_the_maximum():
    tokens = [1] * 2_000
    assert len(gate_by_tokens(range(2_000), tokens, budget=0, overfetch_ratio=1.25)) == 5
    assert len(gate_by_tokens(range(2_000), tokens, budget=10**6, overfetch_ratio=1.25)) == 1_000
    assert len(gate_by_tokens(range(3), tokens, budget=10**6, overfetch_ratio=1.25)) == 3


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(50, 500), st.floats(1, 3))
def test_gate_takes_the_shortest_sufficient_beginning(counts, budget, ratio):
    ids = list(range(len(counts)))
    chosen = gate_by_tokens(ids, counts, budget=budget, overfetch_ratio=ratio)
    assert chosen == ids[: len(chosen)]
    if len(chosen) > 5:
        assert sum(counts[: len(chosen) - 1]) < budget * ratio
    if len(chosen) < len(ids):
        assert sum(counts[: len(chosen)]) >= budget * ratio
