"""What changes from one preview to another, block by block and with reasons: added, removed, moved, rescored."""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, cast

from context.receipts.results import Anchor
from context.services.diff import (
    RANK_ADDED,
    RANK_CHANGES,
    RANK_REMOVED,
    RankChange,
    rank_changes,
    rank_overlap,
    unmoved_keys,
)
from context.services.workbench.exclusion_reasons import ExclusionReason, exclusion_reason
from context.workbench.explanation import requested_scope
from context.workbench.preview import ExcludedRow, IncludedRow, Preview

#: Scores that differ by less are displayed as the same number.
SCORE_SHOWN = 0.0005
#: The height of a row of the rank chart, which the stylesheet repeats, and the width of the gap between its columns.
ROW_HEIGHT_PX = 68
SLOPE_WIDTH_PX = 112
#: Maximum unmoved blocks shown; more are collapsed.
STILL_SHOWN_MAX = 6
#: Length of the line of an added or removed block.
STUB_PX = 34


@dataclass(frozen=True)
class BlockDiff:
    """A block of either preview with its ranks and rows, and why the side that lacks it does (that row is None).

    `exclusion`: that side excluded it. `version`: that side includes this version of the same item. Otherwise it was
    not a candidate there: for a memory, `absence` says why, and `candidates` counts the memories that were.
    """

    change: RankChange[Anchor]
    before: IncludedRow | None
    after: IncludedRow | None
    exclusion: ExcludedRow | None = None
    version: int | None = None
    absence: ExclusionReason | None = None
    candidates: int = 0

    @property
    def row(self) -> IncludedRow:
        """The block as the later preview includes it, else as the earlier one does."""
        return self.after or cast(IncludedRow, self.before)

    @property
    def is_rescored(self) -> bool:
        old, new = (row.block.score if row else None for row in (self.before, self.after))
        return old is not None and new is not None and abs(new - old) >= SCORE_SHOWN


class SlopeLine(NamedTuple):
    """The line of one block in the rank chart, in pixels; `mark_x` places the mark of an added or removed one."""

    change: RankChange[Anchor]
    x1: int
    y1: int
    x2: int
    y2: int
    mark_x: int | None = None


@dataclass(frozen=True)
class PreviewDiff:
    """Two previews and everything that differs; an edited memory is removed and added.

    `recorded_at` is the time whose data `before` shows, if that is not the time at which it was assembled.
    """

    before: Preview
    after: Preview
    recorded_at: datetime | None = None

    @cached_property
    def rows(self) -> Sequence[BlockDiff]:
        """Every block once: those of `after` in reading order, then the removed ones."""
        old, new = ({row.block.anchor: row for row in side.included} for side in (self.before, self.after))
        changes = rank_changes(list(old), list(new))
        return [self._block(BlockDiff(change, old.get(change.key), new.get(change.key))) for change in changes]

    def _block(self, block: BlockDiff) -> BlockDiff:
        if block.before and block.after:
            return block
        other, anchor = self.before if block.after else self.after, block.change.key
        versions, excluded = self._places_of[other is self.after]
        version = versions.get((anchor.type, anchor.id))
        if anchor in excluded or version or block.row.memory is None:
            return replace(block, exclusion=excluded.get(anchor), version=version)
        scope = requested_scope(other.context, self.recorded_at if other is self.before else None)
        absence = exclusion_reason(block.row.memory, scope)
        return replace(block, absence=absence, candidates=len(other.context.candidates))

    @cached_property
    def _places_of(self) -> list[tuple[dict[tuple[str, str], int], dict[Anchor, ExcludedRow]]]:
        """For each preview, the version of each included item, and the excluded rows by anchor."""
        return [
            (
                {(row.block.anchor.type, row.block.anchor.id): row.block.anchor.version for row in side.included},
                {row.exclusion.anchor: row for row in side.excluded},
            )
            for side in (self.before, self.after)
        ]

    @property
    def added(self) -> list[BlockDiff]:
        return [row for row in self.rows if row.change.kind == RANK_ADDED]

    @property
    def removed(self) -> list[BlockDiff]:
        return [row for row in self.rows if row.change.kind == RANK_REMOVED]

    @property
    def moved(self) -> list[BlockDiff]:
        """Those that passed other blocks; a block that only makes way for others did not move."""
        return [row for row in self.rows if row.before and row.after and row.change.key not in self._unmoved]

    @property
    def still(self) -> list[BlockDiff]:
        """Those that are on both sides and did not move."""
        return [row for row in self.rows if row.change.key in self._unmoved]

    @cached_property
    def _unmoved(self) -> Set[Anchor]:
        return set(unmoved_keys([row.change for row in self.rows]))

    @property
    def rescored(self) -> list[BlockDiff]:
        return [row for row in self.rows if row.is_rescored]

    @property
    def no_candidates(self) -> int:
        """How many items `before` considered and `after` did not."""
        old, new = (
            {row.block.anchor for row in side.included} | {row.exclusion.anchor for row in side.excluded}
            for side in (self.before, self.after)
        )
        return len(old - new)

    @property
    def tokens(self) -> int:
        return self.after.context.budget.used - self.before.context.budget.used

    @property
    def is_none(self) -> bool:
        """Whether blocks, their order and the tokens are the same."""
        return not (self.added or self.removed or self.moved or self.tokens)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to list."""
        return not (self.added or self.removed or self.moved or self.rescored)


def side_by_side(pair: PreviewDiff) -> dict[str, Any]:
    """Return what the page of two contexts shows: both columns, the lines between them, and sums.

    More than `STILL_SHOWN_MAX` blocks that did not move are `folded`, not in the columns.
    """
    kinds = Counter(row.change.kind for row in pair.rows)
    sides, still = (pair.before, pair.after), pair.still
    folded = still if len(still) > STILL_SHOWN_MAX else []
    hidden = {row.change.key for row in folded}
    shown = [row for row in pair.rows if row.change.key not in hidden]
    left = sorted((row for row in shown if row.before), key=lambda row: row.change.before or 0)
    right = [row for row in shown if row.after]
    places = [{row.change.key: place for place, row in enumerate(rows, start=1)} for rows in (left, right)]
    return {
        "shown_rows": shown,
        "folded_rows": folded,
        "left_rows": left,
        "right_rows": right,
        "lines": [slope_line(row.change, *(place.get(row.change.key) for place in places)) for row in shown],
        "slope_width": SLOPE_WIDTH_PX,
        "slope_height": ROW_HEIGHT_PX * max(len(left), len(right), 1),
        "counts": {kind: kinds[kind] for kind in RANK_CHANGES},
        "overlap": rank_overlap([row.change for row in pair.rows]),
        "blocks": len(pair.after.included) - len(pair.before.included),
        "score_sums": [sum(row.block.score or 0.0 for row in side.included) for side in sides],
    }


def slope_line(change: RankChange[Anchor], before: int | None, after: int | None) -> SlopeLine:
    """Return the line between both places, from 1, in the columns, or a stub for an added or removed block."""
    left, right = (place and place * ROW_HEIGHT_PX - ROW_HEIGHT_PX // 2 for place in (before, after))
    if left is None:
        start = SLOPE_WIDTH_PX - STUB_PX
        return SlopeLine(change, start, right or 0, SLOPE_WIDTH_PX, right or 0, mark_x=start)
    if right is None:
        return SlopeLine(change, 0, left, STUB_PX, left, mark_x=STUB_PX)
    return SlopeLine(change, 0, left, SLOPE_WIDTH_PX, right)
