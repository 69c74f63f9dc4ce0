"""What a chart shows: a table of numbers over time or over another number, drawn by static/js/charts.js (ADR-0086)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memory_platform.web.times import FormattedTime, format_time

ChartKind = Literal["time", "number"]
Shape = Literal["line", "bars"]
#: Heights that the stylesheet reserves, in CSS pixels.
Height = Literal[96, 120, 160, 200, 240, 320]


@dataclass(frozen=True)
class ChartCell:
    """A value as the drawing reads it and as people do; a gap is empty for both."""

    data: str
    text: str


@dataclass(frozen=True)
class ChartTableLine:
    """One row of the table, its texts ready to be written."""

    data: str
    name: str
    moment: FormattedTime | None
    mark: str
    cells: Sequence[ChartCell]


@dataclass(frozen=True)
class ChartRow:
    """One place on the horizontal axis, and the value of each series there; None is a gap.

    `label` is how the place reads where its number is not enough, `mark` names what is to be seen at it.
    """

    x: datetime | float
    values: Sequence[float | None]
    label: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Chart:
    """A figure of one unit: `series` names the columns, `rows` stand in the order of their places.

    `caption` stands beside the title in place of the unit, where that says too little.
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
        """Whether there is nothing to draw."""
        return all(value is None for row in self.rows for value in row.values)

    @property
    def lines(self) -> list[ChartTableLine]:
        """The rows of the table, each value written with the chart's digits."""
        return [self._line(row) for row in self.rows]

    def _line(self, row: ChartRow) -> ChartTableLine:
        cells = [self._cell(value) for value in row.values]
        if isinstance(row.x, datetime):
            return ChartTableLine(f"{row.x.timestamp():.0f}", row.label, format_time(row.x), row.mark, cells)
        return ChartTableLine(f"{row.x}", row.label or f"{row.x:,g}", None, row.mark, cells)

    def _cell(self, value: float | None) -> ChartCell:
        return ChartCell("", "–") if value is None else ChartCell(f"{value}", f"{value:,.{self.digits}f}")
