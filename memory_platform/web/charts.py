"""The layout of charts and bars; pages only supply the data.

static/js/charts.js draws a `Chart`, a table over time or another number (ADR-0086). Templates draw the bars of
`stacked` and the curves of `budget_chart`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Literal

from memory_platform.web.times import FormattedTime, format_time

ChartKind = Literal["time", "number"]
Shape = Literal["line", "bars"]
#: Heights that the stylesheet reserves, in CSS pixels.
Height = Literal[96, 120, 160, 200, 240, 320]
#: The size of a drawing of curves, in its own units.
WIDTH, HEIGHT = 1000, 300
#: Space above the highest point and below the lowest.
MARGIN = 12
GRID_SHARES = (0.25, 0.5, 0.75, 1.0)


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
class ChartCell:
    """A value for the script and as text; a gap has no data."""

    data: str
    text: str


@dataclass(frozen=True)
class TableRow:
    """One row of the table with its texts."""

    data: str
    name: str
    moment: FormattedTime | None
    mark: str
    cells: Sequence[ChartCell]


@dataclass(frozen=True)
class ChartRow:
    """One place on the horizontal axis, and the value of each series there; None is a gap.

    `label` replaces the number of the place, `mark` names an event at it.
    """

    x: datetime | float
    values: Sequence[float | None]
    label: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Chart:
    """A figure of one unit: `series` names the columns, `rows` are in the order of `x`.

    `caption` replaces the unit after the title.
    """

    title: str
    unit: str
    series: Sequence[str]
    rows: Sequence[ChartRow]
    kind: ChartKind = "time"
    shape: Shape = "line"
    x_name: str = "Time"
    caption: str = ""
    digits: int = 0
    height: Height = 160

    @property
    def is_empty(self) -> bool:
        """Whether every value is a gap."""
        return all(value is None for row in self.rows for value in row.values)

    @property
    def lines(self) -> list[TableRow]:
        """The rows of the table, values formatted with the digits of the chart."""
        return [self._line(row) for row in self.rows]

    def _line(self, row: ChartRow) -> TableRow:
        cells = [self._cell(value) for value in row.values]
        if isinstance(row.x, datetime):
            return TableRow(f"{row.x.timestamp():.0f}", row.label, format_time(row.x), row.mark, cells)
        return TableRow(f"{row.x}", row.label or f"{row.x:,g}", None, row.mark, cells)

    def _cell(self, value: float | None) -> ChartCell:
        return ChartCell("", "–") if value is None else ChartCell(f"{value}", f"{value:,.{self.digits}f}")


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
    points: str
    marks: tuple[CurveMark, ...]


@dataclass(frozen=True)
class BudgetChart:
    """Curves over the same budgets, at equal distances because budgets double.

    `knee` is the mark where the first curve bends, None without one.
    """

    budgets: tuple[int, ...]
    lines: tuple[Curve, ...]
    grid: tuple[tuple[float, float], ...]
    knee: CurveMark | None = None
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def scale(self) -> list[tuple[float, float]]:
        """Each value of the grid and the position of its label, in percent of the height from the top."""
        return [(value, round(100 * y / self.height, 2)) for value, y in self.grid]


def budget_chart(
    budgets: Sequence[int], series: Sequence[tuple[str, Sequence[Interval]]], *, knee: int | None = None
) -> BudgetChart:
    """Return the chart of the named `series`, a value from 0 to 1 for each budget; `knee` is an index of budgets."""
    lines = tuple(_curve(name, number, budgets, values) for number, (name, values) in enumerate(series, 1))
    return BudgetChart(
        budgets=tuple(budgets),
        lines=lines,
        grid=tuple((share, _y(share)) for share in GRID_SHARES),
        knee=lines[0].marks[knee] if lines and knee is not None else None,
    )


def _curve(name: str, number: int, budgets: Sequence[int], values: Sequence[Interval]) -> Curve:
    marks = tuple(
        _mark(budget, _x(place, len(budgets)), value)
        for place, (budget, value) in enumerate(zip(budgets, values, strict=True))
    )
    return Curve(name, number, " ".join(f"{mark.x},{mark.y}" for mark in marks), marks)


def _mark(budget: int, x: float, value: Interval) -> CurveMark:
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    y, bottom, top = (_y(each) for each in (value.value, low, high))
    return CurveMark(budget, x, y, top, bottom, value)


def _x(place: int, count: int) -> float:
    """Return the middle of the column of a budget."""
    return round(WIDTH * (place + 0.5) / count, 1)


def _y(share: float) -> float:
    return round(HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN), 1)
