"""What a chart shows: a table of numbers over time or over another number, drawn by static/js/charts.js (ADR-0086)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal["time", "number"]
Shape = Literal["line", "bars"]
#: Heights that the stylesheet reserves, in CSS pixels.
Height = Literal[96, 120, 160, 200, 240, 320]


@dataclass(frozen=True)
class Cell:
    """A value and how it reads; a gap has neither."""

    value: float | None
    text: str


@dataclass(frozen=True)
class ChartRow:
    """One place on the horizontal axis, and the value of each series there; None is a gap.

    `label` is how the place reads where its number is not enough, `mark` names what is to be seen at it.
    """

    x: datetime | float
    values: Sequence[float | None]
    label: str = ""
    mark: str = ""

    @property
    def position(self) -> float:
        """Seconds since the epoch, or the number itself."""
        return self.x.timestamp() if isinstance(self.x, datetime) else self.x

    @property
    def name(self) -> str:
        """How a number reads."""
        return self.label or ("" if isinstance(self.x, datetime) else f"{self.x:,g}")


@dataclass(frozen=True)
class Chart:
    """A figure of one unit: `series` names the columns, `rows` stand in the order of their places.

    `caption` stands beside the title in place of the unit, where that says too little.
    """

    title: str
    unit: str
    series: Sequence[str]
    rows: Sequence[ChartRow]
    kind: Kind = "time"
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
    def lines(self) -> list[tuple[ChartRow, list[Cell]]]:
        """The rows of the table, each value written with the chart's digits."""
        return [(row, [self._cell(value) for value in row.values]) for row in self.rows]

    def _cell(self, value: float | None) -> Cell:
        return Cell(value, "" if value is None else f"{value:,.{self.digits}f}")
