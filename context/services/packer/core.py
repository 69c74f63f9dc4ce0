"""Search all solutions that lose little against a bound, with two lists of partial solutions.

A solution is described by the items where it differs from the bound's own choices ("flips"), each of which costs
something. The affordable flips are divided between two lists; each list contains what its flips can add to weight and
profit; the best pair that fits is the best solution within the gap (Horowitz and Sahni 1974). Each list drops states
that another of its states dominates, so it is one half of Pisinger's core recursion (1997), with about the square root
of its length.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from context.services.packer.relaxation import Integers, ItemFlags, Knapsack, Relaxation
from context.services.packer.states import SMALL_PROFITS, DenseStates, Flip, SparseStates
from memories.services.time_limits import in_time

#: A longer list is indexed by weight if the weights that it can reach are few enough; otherwise it is pruned.
MAX_SPARSE_STATES = 500
MAX_CELLS = 1 << 22
#: The maximum number of bits that record which flip reached which cell: 64 MiB.
MAX_TRACE_BITS = 1 << 29
#: A longer pruned list takes too much memory: the search ends as if its work limit were reached.
MAX_STATES = 1 << 18
#: Pairs of states after which to check whether the aim is met; the next check is at four times as many pairs or half as
#: many flips more.
FIRST_CHECK_PAIRS = 1_000
PAIRS_GROWTH = 4
FLIPS_GROWTH = 1.5


@dataclass(frozen=True)
class CoreSolution:
    """A solution: its profit and the items it takes."""

    profit: int
    taken: ItemFlags


@dataclass
class WorkMeter:
    """Counts the states examined, up to a limit if there is one."""

    limit: int | None = None
    nodes: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether the limit is reached."""
        return self.limit is not None and self.nodes >= self.limit


class CoreSearch:
    """Searches the best solution worth `least` or more; ends as soon as one is worth `enough`.

    Complete unless the meter is spent: no solution that meets the relaxation's row and is worth `least` or more is
    better than the result. The result may be worth less, or break the row, but is a solution.
    """

    def __init__(self, problem: Knapsack, relaxation: Relaxation, least: int, enough: int, meter: WorkMeter) -> None:
        self._base = relaxation.base
        self._base_profit = int(problem.profits[self._base].sum())
        self._enough = enough
        self._meter = meter
        self._gap = relaxation.bound - least + problem.margin
        flips = affordable_flips(problem, relaxation, self._gap)
        # weights in the flips' common unit: fewer cells, and no capacity that nothing can fill
        unit = math.gcd(*(flip.weight for flip in flips)) or 1
        self._flips = [flip._replace(weight=flip.weight // unit) for flip in flips] if unit > 1 else flips
        self._available = (problem.capacity - int(problem.weights[self._base].sum())) // unit
        self._slope = relaxation.slope * unit
        self._are_profits_small = int(problem.profits.sum()) < SMALL_PROFITS
        # The cheapest flips alone probably meet a single aim. Otherwise all are needed, and the lists stay short
        # longest with the most expensive first.
        self._stops_early = least == enough
        dealt = self._flips if self._stops_early else self._flips[::-1]
        self._hands = (dealt[0::2], dealt[1::2])
        self._lists: list[SparseStates | DenseStates] = []
        self._tidy_from = [MAX_SPARSE_STATES, MAX_SPARSE_STATES]
        self._best: CoreSolution | None = None

    def run(self) -> CoreSolution | None:
        """Return the best solution, None if there is none."""
        for hand in self._hands:
            # each list starts with no flip, and each flip over half the gap, of which none can afford two
            dear = [] if self._stops_early else [flip for flip in hand if 2 * flip.cost > self._gap]
            self._lists.append(SparseStates(self._gap, dear))
            self._meter.nodes += len(dear)
        next_pairs, next_number = FIRST_CHECK_PAIRS, 0.0
        for number, (side, flip) in enumerate(in_time(self._deal())):
            if self._meter.is_spent:
                break
            states = self._lists[side]
            if isinstance(states, SparseStates) and len(states) > self._tidy_from[side]:
                states = self._lists[side] = self._tidied(states, side)
            self._meter.nodes += states.add(flip)
            pairs = len(self._lists[0]) * len(self._lists[1])
            is_due = pairs >= next_pairs or (pairs >= FIRST_CHECK_PAIRS and number >= next_number)
            if self._stops_early and is_due:
                next_pairs, next_number = max(next_pairs, pairs * PAIRS_GROWTH), number * FLIPS_GROWTH
                self._pair()
                if self._best is not None and self._best.profit >= self._enough:
                    return self._best
        self._pair()
        return self._best

    def _deal(self) -> Iterator[tuple[int, Flip]]:
        """Yield, alternately for both lists, the flips that are not on them from the start."""
        rests = [hand[len(states) - 1 :] for hand, states in zip(self._hands, self._lists, strict=True)]
        for flips in zip_longest(*rests):
            yield from ((side, flip) for side, flip in enumerate(flips) if flip is not None)

    def _tidied(self, states: SparseStates, side: int) -> SparseStates | DenseStates:
        """Return the states by weight if that takes few cells, else without those that others dominate."""
        low, high = self._window(side)
        is_small = high - low < MAX_CELLS and (high - low) * len(self._flips) < MAX_TRACE_BITS
        if is_small and len(states.within(low, high).sources):
            return DenseStates(states, low, high, are_profits_small=self._are_profits_small)
        states.prune()
        if len(states) > MAX_STATES:
            self._meter.limit = self._meter.nodes
        self._tidy_from[side] = max(2 * len(states), MAX_SPARSE_STATES)
        return states

    def _window(self, side: int) -> tuple[int, int]:
        """Return the lowest and highest weight of a list's part of a solution within the gap, at any time."""
        lowest, highest = flip_weight_range(self._flips, self._gap)
        low, high = flip_weight_range(self._hands[side], self._gap)
        high = min(high, self._available - lowest)
        if self._slope > 0:
            low = max(low, self._available - highest - math.ceil(self._gap / self._slope))
        return low, high

    def _pair(self) -> None:
        """Keep the best pair of states that fits, if it is better than the best so far."""
        first, second = (states.frontier() for states in self._lists)
        partner = np.searchsorted(second.weights, self._available - first.weights, side="right") - 1
        fitting = np.flatnonzero(partner >= 0)
        if not len(fitting):
            return
        profits = first.profits[fitting] + second.profits[partner[fitting]]
        best = int(profits.argmax())
        profit, position = self._base_profit + int(profits[best]), int(fitting[best])
        if profit > (-1 if self._best is None else self._best.profit):
            taken = self._base.copy()
            taken[self._lists[0].flipped(int(first.sources[position]))] ^= True
            taken[self._lists[1].flipped(int(second.sources[partner[position]]))] ^= True
            self._best = CoreSolution(profit, taken)


def affordable_flips(problem: Knapsack, relaxation: Relaxation, gap: float) -> list[Flip]:
    """Return the flips that cost at most `gap`, cheapest first; those of equal items in lots of 1, 2, 4, ... items."""
    kinds = _kinds(problem, relaxation, np.flatnonzero(relaxation.costs <= gap))
    flips = [lot for kind in kinds for lot in ([kind] if len(kind.items) == 1 else _lots(kind, gap))]
    return flips if len(flips) == len(kinds) else sorted(flips, key=lambda flip: flip.cost)


def _kinds(problem: Knapsack, relaxation: Relaxation, free: Integers) -> list[Flip]:
    """Return a flip for each kind of item among `free`, with cost and gain of one of them, cheapest first."""
    if not len(free):
        return []
    keys = (relaxation.base[free], problem.profits[free], problem.weights[free], relaxation.costs[free])
    free = free[np.lexsort(keys)]
    weights, profits, base = problem.weights[free], problem.profits[free], relaxation.base[free]
    is_other = (weights[1:] != weights[:-1]) | (profits[1:] != profits[:-1]) | (base[1:] != base[:-1])
    starts = np.append(0, np.flatnonzero(is_other) + 1)
    signs = np.where(base[starts], -1, 1)
    items = free.tolist()
    return [
        Flip(cost, weight, profit, items[start:stop])
        for cost, weight, profit, start, stop in zip(
            relaxation.costs[free[starts]].tolist(),
            (signs * weights[starts]).tolist(),
            (signs * profits[starts]).tolist(),
            starts.tolist(),
            [*starts[1:].tolist(), len(items)],
            strict=True,
        )
    ]


def flip_weight_range(flips: list[Flip], gap: float) -> tuple[int, int]:
    """Return how far flips that together cost at most `gap` can lower and raise the weight."""
    ends = []
    for sign in (-1, 1):
        able = [(flip.cost / abs(flip.weight), flip.cost, abs(flip.weight)) for flip in flips if flip.weight * sign > 0]
        total, left = 0, gap
        for _, cost, weight in sorted(able):
            total += weight
            left -= cost
            if left < 0:
                break
        ends.append(sign * total)
    return ends[0], ends[1]


def _lots(one: Flip, gap: float) -> Iterator[Flip]:
    """Yield the flip of equal items in lots, which add up to any affordable number of them."""
    items = one.items if one.cost <= 0 else one.items[: int(gap / one.cost)]
    size, start = 1, 0
    while start < len(items):
        lot = items[start : start + size]
        yield Flip(len(lot) * one.cost, len(lot) * one.weight, len(lot) * one.profit, lot)
        start += size
        size *= 2
