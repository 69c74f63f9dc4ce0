"""Upper bounds of a knapsack: the linear bound (Dantzig 1957), and the same under one more row, a cut.

A price for capacity (`slope`) and one for the row (`multiplier`) turn the knapsack into one choice per item: take it if
its profit exceeds its price. The sum of those choices is a bound, and changing one of them costs exactly the
difference. `Relaxation` contains the bound, the choices and those costs; the search computes everything exactly.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ItemFlags = npt.NDArray[np.bool_]

#: Costs below this are rounding errors.
TIE = 1e-6
#: The maximum number of steps to find the row's price; about eight are usual.
MAX_PRICE_STEPS = 64
#: The minimum of units between a grid's lines, and of steps between profits.
MIN_GRID_UNITS = 100
MIN_GRID_STEPS = 2


@dataclass(frozen=True)
class Knapsack:
    """Positive profits and weights in order of profit per weight, best first; each weight fits, all together do not."""

    profits: Integers
    weights: Integers
    capacity: int

    @cached_property
    def margin(self) -> float:
        """More than the sum of all rounding errors in a bound, and for scores far less than one unit of profit."""
        return 1e-3 * max(1.0, float(self.profits.sum()) / 1e9)

    def break_position(self) -> int:
        """Return how many of the first items fit together."""
        return int(np.searchsorted(np.cumsum(self.weights), self.capacity, side="right"))


@dataclass(frozen=True)
class ConstraintRow:
    """A condition on the items taken: their coefficients sum to `limit` at most."""

    coefficients: Floats
    limit: int


@dataclass(frozen=True)
class Relaxation:
    """No solution that meets the row exceeds `bound`.

    One that differs from `base` loses the `costs` of the items where it does, and `slope` for each unit left empty.
    """

    bound: float
    base: ItemFlags
    costs: Floats
    slope: float


def relax_knapsack(problem: Knapsack, row: ConstraintRow | None = None) -> Relaxation:
    """Return the best bound of its kind, with the row if one is given."""
    if row is None:
        multiplier, slope = 0.0, _LinearOptimum(problem.profits.astype(np.float64), problem).slope
        row = ConstraintRow(np.zeros(len(problem.profits)), 0)
    else:
        multiplier, slope = _best_prices(problem, row)
    gains = problem.profits - slope * problem.weights - multiplier * row.coefficients
    bound = slope * problem.capacity + multiplier * row.limit + float(gains[gains > 0].sum())
    return Relaxation(bound, _choices(problem, gains), np.abs(gains), slope)


def cardinality_rows(problem: Knapsack) -> list[ConstraintRow]:
    """Return "at most b items" and "at least b + 1", one of which every solution meets (Martello et al. 1999).

    b is how many of the best items fit. The second row is omitted if that many items cannot fit at all.
    """
    fitting = problem.break_position()
    ones = np.ones(len(problem.profits))
    smallest = int(np.sort(problem.weights)[: fitting + 1].sum())
    rows = [ConstraintRow(ones, fitting)]
    return rows if smallest > problem.capacity else [*rows, ConstraintRow(-ones, -fitting - 1)]


def grid_row(problem: Knapsack) -> ConstraintRow | None:
    """Return the maximum sum of multiples in a solution, if all profits are rounded multiples of one number.

    Scores that are fractions (7 of 12) are on such a grid; rounding to millionths hides their common divisor.
    """
    steps = np.diff(np.sort(problem.profits))
    steps = steps[steps > 0]
    if len(steps) < MIN_GRID_STEPS or steps.min() < MIN_GRID_UNITS:
        return None
    unit = float(steps[steps < 1.5 * steps.min()].mean())
    unit = float(steps.sum() / np.rint(steps / unit).sum())
    unit = float(problem.profits.sum() / np.rint(problem.profits / unit).sum())
    multiples = np.rint(problem.profits / unit)
    if np.abs(problem.profits - unit * multiples).max() > 1.0:
        return None
    return ConstraintRow(multiples, math.floor(_LinearOptimum(multiples, problem).value + TIE))


class _LinearOptimum:
    """The knapsack with other values and divisible items: the best per weight are taken, the last one in part."""

    def __init__(self, values: Floats, problem: Knapsack) -> None:
        useful = np.flatnonzero(values > 0)
        order = useful[np.argsort(-(values[useful] / problem.weights[useful]), kind="stable")]
        loads = np.cumsum(problem.weights[order])
        fitting = int(np.searchsorted(loads, problem.capacity, side="right"))
        self._whole = order[:fitting]
        self._cut: int | None = None
        self._share = 0.0
        self.slope = 0.0
        self.value = float(values[self._whole].sum())
        if fitting < len(order):
            self._cut = int(order[fitting])
            available = problem.capacity - (int(loads[fitting - 1]) if fitting else 0)
            self._share = available / int(problem.weights[self._cut])
            self.slope = float(values[self._cut]) / int(problem.weights[self._cut])
            self.value += self._share * float(values[self._cut])

    def total(self, coefficients: Floats) -> float:
        """Return the sum of the coefficients of the items taken."""
        part = 0.0 if self._cut is None else self._share * float(coefficients[self._cut])
        return float(coefficients[self._whole].sum()) + part


@dataclass(frozen=True)
class _Point:
    """The bound at one price of the row: its value, its tangent's rise, and the price of capacity that goes with it."""

    price: float
    value: float
    rise: float
    slope: float


def _best_prices(problem: Knapsack, row: ConstraintRow) -> tuple[float, float]:
    """Return the prices of the row and of capacity at which the bound is lowest.

    The bound is convex and piecewise linear in the row's price: the next price is where a falling and a rising tangent
    meet; if the bound meets them there, that is the minimum.
    """
    low = _point(problem, row, 0.0)
    if low.rise >= 0:
        return low.price, low.slope
    high = low
    price = float(problem.profits.max()) / float(np.abs(row.coefficients).max())
    while high.rise < 0:
        low, high = high, _point(problem, row, price)
        price *= 2
    best = high
    for _ in range(MAX_PRICE_STEPS):
        price = (low.value - high.value + high.rise * high.price - low.rise * low.price) / (high.rise - low.rise)
        if not low.price < price < high.price:
            break
        point = _point(problem, row, price)
        best = min(best, point, key=lambda one: one.value)
        if point.value <= low.value + low.rise * (price - low.price) + problem.margin / 10:
            break
        low, high = (point, high) if point.rise < 0 else (low, point)
    return best.price, best.slope


def _point(problem: Knapsack, row: ConstraintRow, price: float) -> _Point:
    optimum = _LinearOptimum(problem.profits - price * row.coefficients, problem)
    return _Point(price, optimum.value + price * row.limit, row.limit - optimum.total(row.coefficients), optimum.slope)


def _choices(problem: Knapsack, gains: Floats) -> ItemFlags:
    """Return the items to take: those that gain, and of those that neither gain nor lose the first that fit."""
    is_tie = np.abs(gains) < TIE
    base = (gains > 0) & ~is_tie
    available = problem.capacity - int(problem.weights[base].sum())
    ties = np.flatnonzero(is_tie)
    fitting = int(np.searchsorted(np.cumsum(problem.weights[ties]), available, side="right"))
    base[ties[:fitting]] = True
    return base
