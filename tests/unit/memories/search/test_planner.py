"""Whether a vector search is exact or uses the index, and how much it reads."""

import pytest

from memories.services.search import planner
from memories.services.search.fusion import RECIPROCAL_RANK_K
from memories.services.search.planner import (
    ScopeSize,
    SearchMethod,
    SearchPlanReason,
    VectorPlan,
    plan_vector_search,
    retriever_depth,
    rows_to_retrieve,
)


def planned(rows: int, index_rows: int | None, *, wanted: int = 200, **scope: bool) -> VectorPlan:
    return plan_vector_search(ScopeSize(rows, index_rows, **scope), wanted=wanted)


@pytest.mark.parametrize(
    ("rows", "index_rows", "search", "reason"),
    [
        (0, 100_000, SearchMethod.EXACT, SearchPlanReason.FEW_ROWS),
        (5_000, 5_000, SearchMethod.EXACT, SearchPlanReason.FEW_ROWS),
        (7_800, 7_800, SearchMethod.EXACT, SearchPlanReason.FEW_ROWS),
        (7_801, 7_801, SearchMethod.HNSW, SearchPlanReason.MANY_ROWS),
        (100_000, 100_000, SearchMethod.HNSW, SearchPlanReason.MANY_ROWS),
        (100_000, 0, SearchMethod.HNSW, SearchPlanReason.MANY_ROWS),
        (100_000, None, SearchMethod.EXACT, SearchPlanReason.NO_INDEX),
        (100_000, 10_000_000, SearchMethod.EXACT, SearchPlanReason.SHARED_INDEX),
        (20_000, 160_000, SearchMethod.EXACT, SearchPlanReason.SHARED_INDEX),
        (50_000, 150_000, SearchMethod.HNSW, SearchPlanReason.MANY_ROWS),
    ],
)
def test_way_follows_from_the_rows_in_scope_and_in_the_index(
    rows: int, index_rows: int | None, search: SearchMethod, reason: SearchPlanReason
) -> None:
    plan = planned(rows, index_rows)
    assert (plan.search, plan.reason) == (search, reason)


def test_fewer_rows_wanted_make_the_index_worth_while_sooner() -> None:
    assert planned(7_000, 7_000, wanted=10).search is SearchMethod.HNSW
    assert planned(7_000, 7_000, wanted=200).search is SearchMethod.EXACT
    assert planned(21_000, 21_000, wanted=1_000).search is SearchMethod.EXACT


def test_small_scopes_are_ranked_as_deep_as_ever() -> None:
    assert planned(planner.ALWAYS_EXACT_ROWS, None, wanted=1).limit == 1_000
    assert planned(planner.ALWAYS_EXACT_ROWS + 1, None, wanted=1).limit == 200


def test_tiny_and_filtered_scopes_read_memories_with_the_vectors() -> None:
    assert planned(planner.BY_MEMORY_ROWS, None).reads_memories
    assert not planned(planner.BY_MEMORY_ROWS + 1, None).reads_memories
    assert not planned(100_000, 100_000).reads_memories
    for rows, index_rows in ((3_000, None), (8_000, None), (8_000, 900_000), (100_000, 100_000)):
        assert planned(rows, index_rows, is_filtered=True).reads_memories


def test_scan_is_wider_and_longer_in_a_shared_index() -> None:
    alone, shared = planned(100_000, 100_000), planned(100_000, 200_000)
    assert (alone.ef_search, alone.max_scan_tuples) == (300, 520)
    assert (shared.ef_search, shared.max_scan_tuples) == (520, 1_040)
    assert planned(100_000, 100_000, wanted=1).ef_search == planner.MIN_EF_SEARCH
    filtered = planned(100_000, 100_000, is_filtered=True)
    assert (filtered.ef_search, filtered.max_scan_tuples) == (520, 520)


@pytest.mark.parametrize(
    ("wanted", "depth"), [(0, 200), (140, 200), (141, 201), (200, 260), (940, 1_000), (1_000, 1_000)]
)
def test_depth_includes_the_first_of_the_fused_ranking(wanted: int, depth: int) -> None:
    assert retriever_depth(wanted) == depth


@pytest.mark.parametrize("wanted", [141, 200, 470])
def test_what_either_retriever_ranks_among_the_wanted_is_within_its_depth(wanted: int) -> None:
    assert retriever_depth(wanted) >= wanted + RECIPROCAL_RANK_K


def test_rows_wanted_come_from_pool_limit_or_tokens() -> None:
    assert rows_to_retrieve(tokens=5_000, limit=None, pool_size=0) == 200
    assert rows_to_retrieve(tokens=5_000, limit=13, pool_size=0) == 13
    assert rows_to_retrieve(tokens=5_000, limit=13, pool_size=150) == 150
    assert rows_to_retrieve(tokens=10**7, limit=None, pool_size=0) == 1_000
    assert rows_to_retrieve(tokens=0, limit=None, pool_size=99_999) == 1_000


def test_spare_vectors_replace_expired_memories() -> None:
    plan = planned(100_000, 100_000, has_expired=True)
    assert (plan.limit_with_spare, plan.min_rows, plan.is_all_live) == (260 + 32, 130, False)
    plan = planned(100_000, 100_000)
    assert (plan.limit_with_spare, plan.min_rows, plan.is_all_live) == (260, 130, True)
    assert plan.enough_rows == 228, "a few deleted vectors do not repeat the scan"
    assert not planned(100_000, 100_000, is_filtered=True).is_all_live


def test_a_scope_that_is_nearly_the_whole_index_is_searched_with_one_look() -> None:
    assert planned(100_000, 100_000).is_single_scan
    assert planned(90_000, 100_000).is_single_scan
    assert not planned(89_999, 100_000).is_single_scan
    assert not planned(100_000, 100_000, is_filtered=True).is_single_scan
    assert planned(100_000, 100_000).ef_search >= planned(100_000, 100_000).limit_with_spare
    widest = planned(100_000, 100_000, wanted=1_000, has_expired=True)
    assert widest.ef_search < widest.limit_with_spare
    assert not widest.is_single_scan
