"""Curves over budgets: coordinates of a drawing 1,000 wide and 300 high, the template draws.

Budgets stand side by side at equal distances, whatever lies between them: a chart of a few doublings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 1000, 300
#: Room above the highest point and below the lowest.
MARGIN = 12
GRID_SHARES = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class ValueInterval:
    """A value and, where it is known, the interval that holds the true one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class CurvePointMark:
    """A point of a line with its interval; `budget` in tokens."""

    budget: int
    x: float
    y: float
    top: float
    bottom: float
    interval: ValueInterval


@dataclass(frozen=True)
class CurveLine:
    """One measure over the budgets; `number` (from 1) tells lines apart."""

    name: str
    number: int
    points: str
    marks: tuple[CurvePointMark, ...]


@dataclass(frozen=True)
class BudgetChart:
    """Lines over the same budgets. `knee` is the place of the budget where they bend, None without one."""

    budgets: tuple[int, ...]
    lines: tuple[CurveLine, ...]
    highest: float
    grid: tuple[tuple[float, float], ...]
    knee: CurvePointMark | None = None
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def scale(self) -> list[tuple[float, float]]:
        """Each value of the grid and where its name stands: in percent of the height, from the top."""
        return [(value, round(100 * y / self.height, 2)) for value, y in self.grid]


def budget_chart(
    budgets: Sequence[int],
    series: Sequence[tuple[str, Sequence[ValueInterval]]],
    *,
    highest: float = 1.0,
    knee: int | None = None,
) -> BudgetChart:
    """The named `series`, a value for each budget; `highest` is the value at the top, `knee` an index of budgets."""
    lines = tuple(_line(name, number, budgets, values, highest) for number, (name, values) in enumerate(series, 1))
    return BudgetChart(
        budgets=tuple(budgets),
        lines=lines,
        highest=highest,
        grid=tuple((share * highest, _y(share)) for share in GRID_SHARES),
        knee=lines[0].marks[knee] if lines and knee is not None else None,
    )


def _line(name: str, number: int, budgets: Sequence[int], values: Sequence[ValueInterval], highest: float) -> CurveLine:
    marks = tuple(
        _mark(budget, _x(place, len(budgets)), value, highest)
        for place, (budget, value) in enumerate(zip(budgets, values, strict=True))
    )
    return CurveLine(name, number, " ".join(f"{mark.x},{mark.y}" for mark in marks), marks)


def _mark(budget: int, x: float, value: ValueInterval, highest: float) -> CurvePointMark:
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    y, bottom, top = (_y(each / highest if highest else 0.0) for each in (value.value, low, high))
    return CurvePointMark(budget, x, y, top, bottom, value)


def _x(place: int, count: int) -> float:
    """The middle of the budget's column."""
    return round(WIDTH * (place + 0.5) / count, 1)


def _y(share: float) -> float:
    return round(HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN), 1)
