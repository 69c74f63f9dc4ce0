"""Two contexts of one question side by side: what another profile would bring in, leave out and move (ADR-0088)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from context.receipts.results import Anchor
from context.services.workbench.rank_changes import (
    DOWN,
    IN,
    RANK_REMOVED,
    RANK_UNCHANGED,
    UP,
    RankChange,
    rank_changes,
    rank_overlap,
)
from context.workbench.preview import ExcludedRow, IncludedRow, Preview

#: Of one row of the drawing, and of the room between its two columns. The stylesheet repeats the height.
ROW_HEIGHT_PX = 68
SLOPE_WIDTH_PX = 112
#: How far the line of what came or went reaches.
STUB_PX = 34


@dataclass(frozen=True)
class SlopeLine:
    """The line of one change, in pixels; `mark_x` is where the sign of what came or went stands."""

    change: RankChange[Anchor]
    x1: int
    y1: int
    x2: int
    y2: int
    mark_x: int | None = None


@dataclass(frozen=True)
class ComparedBlock:
    """One block with its places on both sides; `omission` says why the side that lacks it left it out, where known."""

    change: RankChange[Anchor]
    left: IncludedRow | None
    right: IncludedRow | None
    omission: ExcludedRow | None = None

    @property
    def either(self) -> IncludedRow:
        """The block as one of the sides holds it."""
        row = self.right or self.left
        if row is None:
            raise ValueError("a row stands on one side at least")
        return row


@dataclass(frozen=True)
class PreviewComparison:
    """Two previews and what changes from the left one to the right one."""

    left: Preview
    right: Preview

    @cached_property
    def changes(self) -> list[RankChange[Anchor]]:
        """Every block once, in reading order of the right side; a version of a memory is a block of its own."""
        return rank_changes(*([row.block.anchor for row in side.kept] for side in (self.left, self.right)))

    @cached_property
    def rows(self) -> list[ComparedBlock]:
        """The same with the blocks on both sides."""
        lefts, rights = ({row.block.anchor: row for row in side.kept} for side in (self.left, self.right))
        missed = {row.omission.anchor: row for side in (self.left, self.right) for row in side.left_out}
        return [
            ComparedBlock(change, lefts.get(change.key), rights.get(change.key), missed.get(change.key))
            for change in self.changes
        ]

    @property
    def left_rows(self) -> list[ComparedBlock]:
        """Those of the left side in its own order."""
        return sorted((row for row in self.rows if row.left), key=lambda row: row.change.left or 0)

    @property
    def right_rows(self) -> list[ComparedBlock]:
        return [row for row in self.rows if row.right]

    @property
    def lines(self) -> list[SlopeLine]:
        return slope_lines(self.changes)

    @property
    def height_px(self) -> int:
        """Of the drawing between the columns."""
        return ROW_HEIGHT_PX * max(len(self.left.kept), len(self.right.kept), 1)

    @property
    def counts(self) -> dict[str, int]:
        """How many blocks came in, went out, rose, fell and stayed."""
        found = Counter(change.kind for change in self.changes)
        return {kind: found[kind] for kind in (IN, RANK_REMOVED, UP, DOWN, RANK_UNCHANGED)}

    @property
    def overlap(self) -> float:
        """The share of all blocks that both sides hold."""
        return rank_overlap(self.changes)

    @property
    def tokens(self) -> int:
        """How many more the right side uses."""
        return self.right.context.budget.used - self.left.context.budget.used

    @property
    def blocks(self) -> int:
        """How many more the right side holds."""
        return len(self.right.kept) - len(self.left.kept)

    @property
    def score_sums(self) -> tuple[float, float]:
        left, right = (sum(row.block.score or 0.0 for row in side.kept) for side in (self.left, self.right))
        return left, right


def slope_lines(changes: Sequence[RankChange[Anchor]]) -> list[SlopeLine]:
    """A line for each change: across for what stands in both, a stub for what came or went."""
    return [_line(change) for change in changes]


def _line(change: RankChange[Anchor]) -> SlopeLine:
    if change.left is None:
        y, start = _middle(change.right or 1), SLOPE_WIDTH_PX - STUB_PX
        return SlopeLine(change, start, y, SLOPE_WIDTH_PX, y, mark_x=start)
    if change.right is None:
        y = _middle(change.left)
        return SlopeLine(change, 0, y, STUB_PX, y, mark_x=STUB_PX)
    return SlopeLine(change, 0, _middle(change.left), SLOPE_WIDTH_PX, _middle(change.right))


def _middle(place: int) -> int:
    return place * ROW_HEIGHT_PX - ROW_HEIGHT_PX // 2
