"""The exact knapsack (ADR-0043) compared with a dense table, on hard instances, with each storage of states."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import hard_knapsacks
from context.services.packer import core
from context.services.packer.knapsack import solve_knapsack
from context.services.packer.relaxation import Knapsack, cardinality_rows, grid_row, relax_knapsack

SMALL = st.integers(1, 20)
MILLIONTHS = st.integers(1, 10**6)
ITEMS = st.lists(st.tuples(MILLIONTHS, SMALL) | st.tuples(SMALL, SMALL), max_size=14) | st.lists(
    st.integers(1, 60).map(lambda weight: (round(1e6 * weight / 61), weight)), max_size=30
)


def optimum(profits, weights, capacity):
    """The best profit by the table of all capacities."""
    best = np.zeros(capacity + 1, np.int64)
    for profit, weight in zip(profits, weights, strict=True):
        if weight <= capacity:
            best[weight:] = np.maximum(best[weight:], best[: capacity + 1 - weight] + profit)
    return int(best[capacity])


def check_solution(solution, profits, weights, capacity):
    assert solution.taken == sorted(set(solution.taken))
    assert sum(weights[place] for place in solution.taken) <= capacity
    assert sum(profits[place] for place in solution.taken) == solution.profit <= solution.upper_bound


def check_optimum(profits, weights, capacity):
    solution = solve_knapsack(profits, weights, capacity)
    check_solution(solution, profits, weights, capacity)
    assert solution.profit == solution.upper_bound == optimum(profits, weights, capacity)


@settings(max_examples=500)
@given(ITEMS, st.integers(1, 200))
def test_optimum_of_small_instances(items, capacity):
    check_optimum([profit for profit, _ in items], [weight for _, weight in items], capacity)


HELD = {"as they come": {}, "by weight": {"MAX_SPARSE_STATES": 20}, "pruned": {"MAX_SPARSE_STATES": 20, "MAX_CELLS": 0}}


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("name", hard_knapsacks.KNAPSACK_CLASS_NAMES)
def test_optimum_of_hard_instances_in_each_storage_of_states(name, held, monkeypatch):
    for constant, value in HELD[held].items():
        monkeypatch.setattr(core, constant, value)
    for items, share in itertools.product((8, 30, 90), (0.05, 0.3, 0.5, 0.8)):
        instance = hard_knapsacks.make(name, items, seed=int(share * 100))
        check_optimum(instance.scores, instance.tokens, int(sum(instance.tokens) * share))


@pytest.mark.parametrize("name", hard_knapsacks.KNAPSACK_CLASS_NAMES)
def test_optimum_of_500_items_into_80_000_tokens(name):
    instance = hard_knapsacks.make(name, 500, seed=1)
    check_optimum(instance.scores, instance.tokens, 80_000)


@settings(max_examples=300)
@given(st.sampled_from(hard_knapsacks.KNAPSACK_CLASS_NAMES), st.integers(0, 50), st.integers(0, 20_000))
def test_beyond_the_work_limit_the_bound_is_correct(name, seed, limit):
    instance = hard_knapsacks.make(name, 60, seed)
    capacity = sum(instance.tokens) * 2 // 5
    solution = solve_knapsack(instance.scores, instance.tokens, capacity, work_limit=limit)
    check_solution(solution, instance.scores, instance.tokens, capacity)
    best = optimum(instance.scores, instance.tokens, capacity)
    assert solution.profit <= best <= solution.upper_bound
    assert solution == solve_knapsack(instance.scores, instance.tokens, capacity, work_limit=limit)


def test_a_limit_stops_the_search_and_a_larger_one_does_not():
    instance = hard_knapsacks.make("circle", 500, seed=1)
    stopped = solve_knapsack(instance.scores, instance.tokens, 80_000, work_limit=2_000)
    whole = solve_knapsack(instance.scores, instance.tokens, 80_000)
    assert 2_000 <= stopped.nodes < 4_000 < whole.nodes
    assert stopped.profit <= whole.profit < stopped.upper_bound
    assert solve_knapsack(instance.scores, instance.tokens, 80_000, work_limit=whole.nodes + 1) == whole


def test_without_work_the_linear_bound_is_what_is_known():
    assert solve_knapsack([60, 100, 120], [10, 20, 30], 50, work_limit=0).upper_bound == 240
    assert solve_knapsack([60, 100, 120], [10, 20, 30], 50).upper_bound == 220


@pytest.mark.parametrize(
    ("profits", "weights", "capacity", "taken"),
    [
        ([], [], 5, []),
        ([7], [5], 5, [0]),
        ([7], [6], 5, []),
        ([1, 1, 1], [1, 1, 1], 2, [0, 1]),
        ([60, 100, 120], [10, 20, 30], 50, [1, 2]),
        ([10, 40, 30, 50], [5, 4, 6, 3], 10, [1, 3]),
    ],
)
def test_known_answers(profits, weights, capacity, taken):
    assert solve_knapsack(profits, weights, capacity).taken == taken


@pytest.mark.parametrize("scale", [2**33, 2**60, 10**40])
def test_numbers_of_any_size(scale):
    profits, weights = [60 * scale, 100 * scale + 1, 120 * scale], [10 * scale, 20 * scale, 30 * scale + 1]
    solution = solve_knapsack(profits, weights, 50 * scale)
    check_solution(solution, profits, weights, 50 * scale)
    assert 160 * scale + 1 <= solution.profit <= 180 * scale <= solution.upper_bound


def spread_out(chance, items):
    """Weights up to 32 million and profits in line with them: what fits no table by capacity."""
    weights = chance.integers(1, 32_000, items) * 1_000 + chance.integers(0, 1_000, items)
    return (weights * 3 + 7).tolist(), weights.tolist(), int(weights.sum()) // 3


def test_capacities_of_any_size_take_no_cell_each():
    profits, weights, capacity = spread_out(np.random.default_rng(3), 120)
    solution = solve_knapsack(profits, weights, capacity)
    check_solution(solution, profits, weights, capacity)
    assert solution.nodes < 20_000_000


def test_what_would_fill_memory_ends_like_a_work_limit(monkeypatch):
    monkeypatch.setattr(core, "MAX_STATES", 2_000)
    profits, weights, capacity = spread_out(np.random.default_rng(3), 120)
    solution = solve_knapsack(profits, weights, capacity)
    check_solution(solution, profits, weights, capacity)
    assert solution.profit < solution.upper_bound
    assert solution.nodes < 200_000


def sorted_knapsack(items, capacity):
    items = sorted(items, key=lambda item: -item[0] / item[1])
    profits, weights = (np.array(column, np.int64) for column in zip(*items, strict=True))
    return Knapsack(profits, weights, capacity)


def selections(problem):
    """Every selection that fits, as rows of flags."""
    flags = np.array(list(itertools.product((False, True), repeat=len(problem.profits))))
    return flags[flags @ problem.weights <= problem.capacity]


@settings(max_examples=150)
@given(st.lists(st.tuples(MILLIONTHS, SMALL), min_size=2, max_size=9), st.floats(0.1, 0.9))
def test_bounds_of_a_row_apply_to_every_value_in_it(items, share):
    heaviest, total = max(weight for _, weight in items), sum(weight for _, weight in items)
    capacity = max(heaviest, int(total * share))
    if capacity >= total:
        return
    problem = sorted_knapsack(items, capacity)
    fitting = selections(problem)
    profits = fitting @ problem.profits
    rows = cardinality_rows(problem)
    meets = [fitting @ row.coefficients <= row.limit for row in rows]
    assert np.logical_or.reduce(meets).all()
    for row, flags in [(None, np.ones(len(fitting), bool)), *zip(rows, meets, strict=True)]:
        relaxation = relax_knapsack(problem, row)
        lost = (fitting != relaxation.base) @ relaxation.costs
        empty = problem.capacity - fitting @ problem.weights
        allowed = relaxation.bound - lost - relaxation.slope * empty + problem.margin
        assert (profits[flags] <= allowed[flags]).all()


def test_scores_that_are_fractions_lie_on_a_grid():
    chance = np.random.default_rng(1)
    parts = chance.integers(1, 1_003, 400)
    problem = sorted_knapsack(zip(np.rint(1e6 * parts / 1_003), chance.integers(50, 300, 400), strict=True), 20_000)
    row = grid_row(problem)
    assert row is not None
    assert np.abs(problem.profits - 1e6 / 1_003 * row.coefficients).max() <= 0.5 + 1e-6
    assert relax_knapsack(problem, row).bound <= relax_knapsack(problem).bound + problem.margin


def test_scores_without_a_grid_get_no_row():
    chance = np.random.default_rng(1)
    items = zip(chance.integers(1, 10**6, 400), chance.integers(50, 300, 400), strict=True)
    assert grid_row(sorted_knapsack(items, 20_000)) is None
    assert grid_row(sorted_knapsack([(500, 3)] * 9, 10)) is None
