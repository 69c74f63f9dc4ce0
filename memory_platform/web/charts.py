"""The layout of charts. Templates draw bars and budget curves, static/js/charts.js draws a `Chart` (ADR-0086)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal

from memory_platform.web.numerals import counted
from memory_platform.web.times import format_time

#: Heights that the stylesheet reserves, in CSS pixels.
Height = Literal[96, 120, 160, 200, 240, 320]
#: The size of a drawing of curves, in its own units.
WIDTH, HEIGHT = 1000, 300
#: Space above the highest point and below the lowest.
MARGIN = 12
#: Units of counts, in singular and plural.
CONTEXTS, TOKENS = ("context", "contexts"), ("token", "tokens")
GRID_SHARES = (0.25, 0.5, 0.75, 1.0)


def _y(share: float) -> float:
    return round(HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN), 1)


@dataclass(frozen=True)
class BarPart:
    """A part of a bar: its value, where it starts and how wide it is (percent of the bar), and its pattern."""

    name: str
    value: float
    start_percent: float
    width_percent: float
    pattern: str = ""


def stacked(
    values: Iterable[tuple[str, float]],
    *,
    full: float | None = None,
    patterns: Mapping[str, str] = MappingProxyType({}),
) -> list[BarPart]:
    """Return the parts of a bar that `full`, or else the sum, fills; a negative value has no width."""
    listed = list(values)
    whole = full or sum(max(value, 0) for _, value in listed) or 1
    parts, start = [], 0.0
    for name, value in listed:
        width = 100 * max(value, 0) / whole
        parts.append(BarPart(name, value, round(start, 3), round(width, 3), patterns.get(name, "")))
        start += width
    return parts


@dataclass(frozen=True)
class ChartRow:
    """A position on the horizontal axis with the value of each series; None is a gap. `mark` names an event there.

    `url` leads to the rows that the values count.
    """

    x: datetime | float
    values: Sequence[float | None]
    label: str = ""
    mark: str = ""
    url: str = ""


@dataclass(frozen=True)
class Chart:
    """A figure of one unit: `series` names the columns, `rows` are ordered by `x`; `caption` replaces the unit.

    `unit_of_one` is the unit after the number 1, if it differs.
    """

    title: str
    unit: str
    series: Sequence[str]
    rows: Sequence[ChartRow]
    kind: Literal["time", "number"] = "time"
    shape: Literal["line", "bars"] = "line"
    x_name: str = "Time"
    unit_of_one: str = ""
    caption: str = ""
    digits: int = 0
    height: Height = 160

    @property
    def is_empty(self) -> bool:
        """Whether every value is a gap."""
        return all(value is None for row in self.rows for value in row.values)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The rows of the table; each cell is a value for the script, "" for a gap, and the same as text."""
        return [
            {
                "data": f"{row.x.timestamp():.0f}" if isinstance(row.x, datetime) else f"{row.x}",
                "moment": format_time(row.x) if isinstance(row.x, datetime) else None,
                "name": row.label or ("" if isinstance(row.x, datetime) else f"{row.x:,g}"),
                "mark": row.mark,
                "url": row.url,
                "cells": [
                    ("", "–") if value is None else (f"{value}", f"{value:,.{self.digits}f}") for value in row.values
                ],
            }
            for row in self.rows
        ]


def count_chart(title: str, units: tuple[str, str], rows: Sequence[ChartRow], *, total: int, height: Height) -> Chart:
    """Return bars that count something, with its unit in singular and plural; the caption is the total."""
    one, many = units
    caption = counted(total, one, many)
    return Chart(title, many, [title], rows, shape="bars", unit_of_one=one, caption=caption, height=height)


@dataclass(frozen=True)
class Interval:
    """A value and, where known, its confidence interval."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class CurveMark:
    """A point of a line with its interval; `budget` in tokens."""

    budget: int
    x: float
    y: float
    top: float
    bottom: float
    interval: Interval


@dataclass(frozen=True)
class Curve:
    """One measure over the budgets; `number` counts from 1 and selects the style."""

    name: str
    number: int
    marks: Sequence[CurveMark]

    @property
    def points(self) -> str:
        """The marks as the `points` of an SVG polyline."""
        return " ".join(f"{mark.x},{mark.y}" for mark in self.marks)


@dataclass(frozen=True)
class BudgetChart:
    """Curves over budgets at equal distances; `grid` has the y of values, `scale` the same in percent of the height."""

    budgets: Sequence[int]
    lines: Sequence[Curve]
    knee: CurveMark | None = None
    width: int = WIDTH
    height: int = HEIGHT
    grid: Sequence[tuple[float, float]] = tuple((share, _y(share)) for share in GRID_SHARES)
    scale: Sequence[tuple[float, float]] = tuple((share, round(100 * _y(share) / HEIGHT, 2)) for share in GRID_SHARES)


def budget_chart(
    budgets: Sequence[int], series: Sequence[tuple[str, Sequence[Interval]]], *, knee: int | None = None
) -> BudgetChart:
    """Return the chart of the named `series`, a value from 0 to 1 for each budget; `knee` is an index of budgets."""
    middles = [round(WIDTH * (place + 0.5) / len(budgets), 1) for place in range(len(budgets))]
    lines = [
        Curve(name, number, [_mark(*each) for each in zip(budgets, middles, values, strict=True)])
        for number, (name, values) in enumerate(series, 1)
    ]
    return BudgetChart(budgets, lines, lines[0].marks[knee] if lines and knee is not None else None)


def _mark(budget: int, x: float, value: Interval) -> CurveMark:
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    return CurveMark(budget, x, _y(value.value), _y(high), _y(low), value)
