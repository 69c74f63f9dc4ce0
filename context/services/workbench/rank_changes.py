"""Two orders of the same kind of things: what came in, went out, rose and fell, and the lines that draw it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

IN, RANK_REMOVED, UP, DOWN, RANK_UNCHANGED = "in", "out", "up", "down", "same"
#: Of one row of the drawing, and of the room between its two columns. The stylesheet repeats the height.
ROW_HEIGHT_PX = 68
SLOPE_WIDTH_PX = 112
#: How far the line of what came or went reaches.
STUB_PX = 34

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class RankChange(Generic[K]):
    """One thing with its places, from 1; None where that order does not hold it."""

    key: K
    left: int | None
    right: int | None

    @property
    def kind(self) -> str:
        """What became of it, seen from the left."""
        if self.left is None:
            return IN
        if self.right is None:
            return RANK_REMOVED
        return RANK_UNCHANGED if self.left == self.right else UP if self.right < self.left else DOWN

    @property
    def steps(self) -> int:
        """By how many places it rose or fell."""
        return 0 if self.left is None or self.right is None else abs(self.left - self.right)


@dataclass(frozen=True)
class SlopeLine(Generic[K]):
    """The line of one change, in pixels; `mark_x` is where the sign of what came or went stands."""

    change: RankChange[K]
    x1: int
    y1: int
    x2: int
    y2: int
    mark_x: int | None = None


def rank_changes(left: Sequence[K], right: Sequence[K]) -> list[RankChange[K]]:
    """Every thing once: those of the right order in its order, then those that only the left one holds."""
    lefts, rights = ({key: place for place, key in enumerate(keys, start=1)} for keys in (left, right))
    both = [RankChange(key, lefts.get(key), place) for key, place in rights.items()]
    return both + [RankChange(key, place, None) for key, place in lefts.items() if key not in rights]


def rank_overlap(changes: Sequence[RankChange[K]]) -> float:
    """The share of all things that stand in both orders; 1 where there is nothing."""
    shared = sum(change.left is not None and change.right is not None for change in changes)
    return shared / len(changes) if changes else 1.0


def slope_lines(changes: Sequence[RankChange[K]]) -> list[SlopeLine[K]]:
    """A line for each change: across for what stands in both, a stub for what came or went."""
    return [_line(change) for change in changes]


def _line(change: RankChange[K]) -> SlopeLine[K]:
    if change.left is None:
        y, start = _middle(change.right or 1), SLOPE_WIDTH_PX - STUB_PX
        return SlopeLine(change, start, y, SLOPE_WIDTH_PX, y, mark_x=start)
    if change.right is None:
        y = _middle(change.left)
        return SlopeLine(change, 0, y, STUB_PX, y, mark_x=STUB_PX)
    return SlopeLine(change, 0, _middle(change.left), SLOPE_WIDTH_PX, _middle(change.right))


def _middle(place: int) -> int:
    return place * ROW_HEIGHT_PX - ROW_HEIGHT_PX // 2
