"""A simulated session as a curve: coordinates of a drawing 1,000 wide and 300 high, the template draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.gauges import thresholds
from compaction.services.simulator import APPENDED, Point, Simulation
from context.services.compaction_policy import CompactionPolicy

WIDTH, HEIGHT = 1000, 300
#: Room above the highest point.
HEADROOM = 1.08
#: Points drawn and listed; of more, those between compactions are thinned out evenly.
POINTS_MAX = 400
ROWS_MAX = 60


@dataclass(frozen=True)
class Line:
    """A horizontal line: what it marks, its tokens, its height in the drawing."""

    name: str
    tokens: int
    y: float


@dataclass(frozen=True)
class Dot:
    """A compaction on the curve."""

    x: float
    y: float
    point: Point


@dataclass(frozen=True)
class Curve:
    """The drawing of a simulation, and the points that stand in the table behind it."""

    points: str
    lines: tuple[Line, ...]
    dots: tuple[Dot, ...]
    rows: tuple[Point, ...]
    highest: int
    width: int = WIDTH
    height: int = HEIGHT


def curve_of(simulation: Simulation, policy: CompactionPolicy, window: int) -> Curve:
    """The tokens over the messages, the window and the policy's thresholds."""
    every = simulation.points
    highest = max([window, *(point.tokens for point in every)]) * HEADROOM
    places = {index: _x(index, len(every)) for index in range(len(every))}

    def height(tokens: float) -> float:
        return round(HEIGHT - HEIGHT * tokens / highest, 1)

    drawn = thinned(every, POINTS_MAX)
    marks = [("window", 1.0), *thresholds(policy), ("target", policy.target)]
    return Curve(
        points=" ".join(f"{places[index]},{height(every[index].tokens)}" for index in drawn),
        lines=tuple(Line(name, round(share * window), height(share * window)) for name, share in marks),
        dots=tuple(
            Dot(places[index], height(point.tokens), point)
            for index, point in enumerate(every)
            if point.event != APPENDED
        ),
        rows=tuple(every[index] for index in thinned(every, ROWS_MAX)),
        highest=round(highest),
    )


def thinned(points: Sequence[Point], most: int) -> list[int]:
    """Indices of the first, the last, every compaction with the point before it, and of the others evenly to `most`."""
    kept = {0, len(points) - 1} if points else set()
    for index, point in enumerate(points):
        if point.event != APPENDED:
            kept |= {max(index - 1, 0), index}
    step = max(len(points) // max(most - len(kept), 1), 1)
    return sorted(kept | set(range(0, len(points), step)) if len(points) > most else set(range(len(points))))


def _x(index: int, count: int) -> float:
    return round(WIDTH * index / max(count - 1, 1), 1)
