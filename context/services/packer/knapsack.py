"""The exact 0/1 knapsack, after Pisinger (1997) and Martello, Pisinger and Toth (1999).

The papers are "A minimal algorithm for the 0-1 knapsack problem" (Operations Research 45) and "Dynamic programming and
strong bounds for the 0-1 knapsack problem" (Management Science 45). Few items near the bound's own choices decide, and
if the linear bound is weak, a condition on the number of items strengthens it.

A first solution and a bound are computed directly. Then solutions further and further below the bound are searched
until no better one can remain (`BoundSearch`). Easy instances end with a small search under the linear bound; others
use the strongest of three bounds: the linear bound, the two cardinality rows, one of which every solution meets, and
the grid of the profits if they lie on one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from context.services.packer.core import CoreSearch, CoreSolution, WorkMeter
from context.services.packer.relaxation import (
    ItemFlags,
    Knapsack,
    Relaxation,
    cardinality_rows,
    grid_row,
    relax_knapsack,
)

#: The number of items that the first search may choose differently, and its factor for each further search.
FIRST_CORE_ITEMS = 16
CORE_GROWTH = 3
#: Rows that leave more than this share of the gap are not worth more searches.
MAX_GAP_SHARE = 0.9
#: Sums up to here are exact in floats, which the bounds use.
MAX_SUM = 1 << 53


@dataclass(frozen=True)
class KnapsackSolution:
    """The chosen positions, their profit, and a bound that no solution exceeds; proven optimal if both are equal."""

    taken: list[int]
    profit: int
    upper_bound: int
    nodes: int


def solve_knapsack(
    profits: Sequence[int], weights: Sequence[int], capacity: int, work_limit: int | None = None
) -> KnapsackSolution:
    """Return the most profitable of the items that fit `capacity` together. Profits and weights are positive.

    After `work_limit` examined states, the best solution so far. The same input always gives the same result.
    """
    fitting = [position for position, weight in enumerate(weights) if weight <= capacity]
    total = sum(profits[position] for position in fitting)
    if sum(weights[position] for position in fitting) <= capacity:
        return KnapsackSolution(fitting, total, total, 0)
    fitting.sort(key=lambda position: (-profits[position] / weights[position], weights[position], position))
    profit_unit = math.gcd(*(profits[position] for position in fitting))
    weight_unit = math.gcd(*(weights[position] for position in fitting))
    found, upper_bound, nodes = _solve_reduced(
        [profits[position] // profit_unit for position in fitting],
        [weights[position] // weight_unit for position in fitting],
        capacity // weight_unit,
        WorkMeter(work_limit),
    )
    taken = sorted(fitting[place] for place in np.flatnonzero(found.taken).tolist())
    return KnapsackSolution(taken, found.profit * profit_unit, upper_bound * profit_unit, nodes)


def _solve_reduced(
    profits: list[int], weights: list[int], capacity: int, meter: WorkMeter
) -> tuple[CoreSolution, int, int]:
    """Return the best solution, its bound, and the examined states; items by profit per weight, best first."""
    best, upper_bound = first_solution(profits, weights, capacity)
    if best.profit >= upper_bound or max(sum(profits), sum(weights)) > MAX_SUM:
        return best, upper_bound, 0
    problem = Knapsack(np.array(profits, np.int64), np.array(weights, np.int64), capacity)
    best = improve_by_exchange(problem, best)
    if best.profit < upper_bound:
        best, upper_bound = _climb(problem, best, upper_bound, meter)
    return best, upper_bound, meter.nodes


def _climb(problem: Knapsack, best: CoreSolution, upper_bound: int, meter: WorkMeter) -> tuple[CoreSolution, int]:
    """Return the best solution above `best`, and the bound then left."""
    plain = BoundSearch(problem, relax_knapsack(problem), FIRST_CORE_ITEMS)
    best = plain.step(best, meter)
    upper_bound = min(upper_bound, plain.upper_bound)
    if upper_bound > best.profit and not meter.is_spent:
        ladders = _strongest(problem, plain, best)
        for ladder in ladders:
            best = ladder.climb(best, meter)
        upper_bound = min(upper_bound, max(ladder.upper_bound for ladder in ladders))
    return best, max(best.profit, upper_bound)


def _strongest(problem: Knapsack, plain: BoundSearch, best: CoreSolution) -> list[BoundSearch]:
    """Return the searches that leave the smallest gap above `best`; every solution is under one of them."""
    grid = grid_row(problem)
    row_choices = [cardinality_rows(problem), *([] if grid is None else [[grid]])]
    core_items = FIRST_CORE_ITEMS * CORE_GROWTH
    others = [[BoundSearch(problem, relax_knapsack(problem, row), core_items) for row in rows] for rows in row_choices]
    gaps = [max(ladder.gap(best) for ladder in ladders) for ladders in others]
    return others[gaps.index(min(gaps))] if min(gaps) < MAX_GAP_SHARE * plain.gap(best) else [plain]


class BoundSearch:
    """Searches in steps below one bound, until no better solution that meets its row is possible."""

    def __init__(self, problem: Knapsack, relaxation: Relaxation, core_items: int) -> None:
        """Prepare a first search that may choose differently for about `core_items` items."""
        self._problem = problem
        self._relaxation = relaxation
        self._costs = np.sort(relaxation.costs)
        self._core_items = core_items
        self._searched_gap = 0.0
        self.upper_bound = math.floor(relaxation.bound + problem.margin)

    def gap(self, best: CoreSolution) -> float:
        """Return by how much a solution may exceed `best` under the relaxation alone."""
        return self._relaxation.bound - best.profit

    def climb(self, best: CoreSolution, meter: WorkMeter) -> CoreSolution:
        """Return `best` or a better solution, once no better one can remain or the work limit is reached."""
        while self.upper_bound > best.profit and not meter.is_spent:
            best = self.step(best, meter)
        return best

    def step(self, best: CoreSolution, meter: WorkMeter) -> CoreSolution:
        """Return `best` or a better solution after one search."""
        least = self._least(best)
        found = CoreSearch(self._problem, self._relaxation, least, self.upper_bound, meter).run()
        if found is not None and found.profit > best.profit:
            best = found
        if not meter.is_spent:
            self.upper_bound = max(best.profit, least - 1)
            self._searched_gap = self._relaxation.bound - least + self._problem.margin
            reached = int(np.searchsorted(self._costs, self._searched_gap, side="right"))
            self._core_items = max(CORE_GROWTH * self._core_items, reached + 1)
        return best

    def _least(self, best: CoreSolution) -> int:
        """Return the least profit to search for: one that leaves about `core_items` items free, or any better one."""
        dearest = float(self._costs[min(self._core_items, len(self._costs) - 1)])
        gap = max(dearest, CORE_GROWTH * self._searched_gap)
        if self.gap(best) <= CORE_GROWTH * gap:
            return best.profit + 1
        return min(max(best.profit + 1, math.ceil(self._relaxation.bound - gap)), self.upper_bound)


def first_solution(profits: Sequence[int], weights: Sequence[int], capacity: int) -> tuple[CoreSolution, int]:
    """Return what fits in order of profit per weight, and the exact linear bound. The items do not all fit together."""
    taken = np.zeros(len(profits), np.bool_)
    profit, available, first_miss = 0, capacity, len(profits)
    for place, weight in enumerate(weights):
        if weight <= available:
            taken[place] = True
            profit += profits[place]
            available -= weight
        else:
            first_miss = min(first_miss, place)
    cut_profit, cut_weight = profits[first_miss], weights[first_miss]
    gains = (one * cut_weight - cut_profit * weight for one, weight in zip(profits, weights, strict=True))
    surplus = sum(gain for gain in gains if gain > 0)
    return CoreSolution(profit, taken), (cut_profit * capacity + surplus) // cut_weight


def improve_by_exchange(problem: Knapsack, found: CoreSolution) -> CoreSolution:
    """Return the best exchange of one item, from `found` or from one item too many; `found` if none helps."""
    crowded = np.arange(len(problem.profits)) <= problem.break_position()
    exchanges = (_best_exchange(problem, found.taken), _best_exchange(problem, crowded))
    return max((found, *filter(None, exchanges)), key=lambda one: one.profit)


def _best_exchange(problem: Knapsack, taken: ItemFlags) -> CoreSolution | None:
    """Return the best of `taken` with one item removed and one added that fits; None if none fits."""
    inside, outside = np.flatnonzero(taken), np.flatnonzero(~taken)
    if not len(inside) or not len(outside):
        return None
    outside = outside[np.lexsort((-problem.profits[outside], problem.weights[outside]))]
    highest = np.maximum.accumulate(problem.profits[outside])
    available = problem.capacity - int(problem.weights[taken].sum()) + problem.weights[inside]
    affordable = np.searchsorted(problem.weights[outside], available, side="right") - 1
    able = np.flatnonzero(affordable >= 0)
    if not len(able):
        return None
    gains = highest[affordable[able]] - problem.profits[inside[able]]
    chosen = int(able[gains.argmax()])
    enters = outside[int(problem.profits[outside[: int(affordable[chosen]) + 1]].argmax())]
    exchanged = taken.copy()
    exchanged[inside[chosen]], exchanged[enters] = False, True
    return CoreSolution(int(problem.profits[exchanged].sum()), exchanged)
