"""What changes from one preview to another, block by block and with reasons: added, removed, moved, rescored."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, cast

from context.receipts.results import MEMORY, Anchor
from context.services.diff import RANK_ADDED, RANK_CHANGES, RANK_REMOVED, RankChange, rank_changes, rank_overlap
from context.services.workbench.exclusion_reasons import ExclusionReason, RequestedScope, exclusion_reason
from context.workbench.preview import ExcludedRow, IncludedRow, Preview
from memories.services.store.moments import PointInTime

#: Scores that differ by less are displayed as the same number.
SCORE_SHOWN = 0.0005
#: Of one row of the rank chart, and of the gap between its two columns. The stylesheet repeats the height.
ROW_HEIGHT_PX = 68
SLOPE_WIDTH_PX = 112
#: Length of the line of an added or removed block.
STUB_PX = 34


@dataclass(frozen=True)
class BlockDiff:
    """A block of either preview with its ranks and rows, and why the side that lacks it does (that row is None).

    `omission`: that side excluded it. `version`: that side includes this version of the same item. Otherwise it was no
    candidate there: `absence` says why, for a memory, and `candidates` counts the memories that were.
    """

    change: RankChange[Anchor]
    before: IncludedRow | None
    after: IncludedRow | None
    omission: ExcludedRow | None = None
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

    `recorded_at` is the time whose data `before` shows, where that is not the time it was assembled.
    """

    before: Preview
    after: Preview
    recorded_at: datetime | None = None

    @cached_property
    def rows(self) -> Sequence[BlockDiff]:
        """Every block once: those of `after` in reading order, then the removed ones."""
        old, new = ({row.block.anchor: row for row in side.kept} for side in (self.before, self.after))
        changes = rank_changes(list(old), list(new))
        return [self._block(BlockDiff(change, old.get(change.key), new.get(change.key))) for change in changes]

    def _block(self, block: BlockDiff) -> BlockDiff:
        if block.before and block.after:
            return block
        other, anchor = self.before if block.after else self.after, block.change.key
        kept = [row.block.anchor for row in other.kept]
        excluded = {row.omission.anchor: row for row in other.left_out}
        version = next((one.version for one in kept if (one.type, one.id) == (anchor.type, anchor.id)), None)
        if anchor in excluded or version or block.row.memory is None:
            return replace(block, omission=excluded.get(anchor), version=version)
        candidates = sum(one.type == MEMORY for one in (*kept, *excluded))
        absence = exclusion_reason(block.row.memory, self._scope(other))
        return replace(block, absence=absence, candidates=candidates)

    def _scope(self, preview: Preview) -> RequestedScope:
        request = preview.context.request
        recorded_at = self.recorded_at if preview is self.before else None
        moment = PointInTime.recorded(recorded_at or preview.context.created_at)
        if as_of := request.get("as_of"):
            moment = PointInTime.valid(datetime.fromisoformat(as_of))
        return RequestedScope(moment, request.get("partition", ""), bool(request.get("exact")))

    @property
    def added(self) -> list[BlockDiff]:
        return [row for row in self.rows if row.change.kind == RANK_ADDED]

    @property
    def removed(self) -> list[BlockDiff]:
        return [row for row in self.rows if row.change.kind == RANK_REMOVED]

    @property
    def moved(self) -> list[BlockDiff]:
        """Those at another rank among the blocks of both; a block that only makes way for others did not move."""
        both = [row for row in self.rows if row.before and row.after]
        earlier = sorted(both, key=lambda row: row.change.before or 0)
        return [row for row, other in zip(both, earlier, strict=True) if row is not other]

    @property
    def rescored(self) -> list[BlockDiff]:
        return [row for row in self.rows if row.is_rescored]

    @property
    def no_candidates(self) -> int:
        """How many items `before` considered and `after` did not."""
        old, new = (
            {row.block.anchor for row in side.kept} | {row.omission.anchor for row in side.left_out}
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
    """Return what the page of two contexts shows: both columns, the lines between them, and sums."""
    kinds = Counter(row.change.kind for row in pair.rows)
    sides = (pair.before, pair.after)
    return {
        "left_rows": sorted((row for row in pair.rows if row.before), key=lambda row: row.change.before or 0),
        "right_rows": [row for row in pair.rows if row.after],
        "lines": [slope_line(row.change) for row in pair.rows],
        "slope_width": SLOPE_WIDTH_PX,
        "slope_height": ROW_HEIGHT_PX * max(*(len(side.kept) for side in sides), 1),
        "counts": {kind: kinds[kind] for kind in RANK_CHANGES},
        "overlap": rank_overlap([row.change for row in pair.rows]),
        "blocks": len(pair.after.kept) - len(pair.before.kept),
        "score_sums": [sum(row.block.score or 0.0 for row in side.kept) for side in sides],
    }


def slope_line(change: RankChange[Anchor]) -> SlopeLine:
    """Return the line between both ranks, or a stub for an added or removed block."""
    left, right = (rank and rank * ROW_HEIGHT_PX - ROW_HEIGHT_PX // 2 for rank in (change.before, change.after))
    if left is None:
        start = SLOPE_WIDTH_PX - STUB_PX
        return SlopeLine(change, start, right or 0, SLOPE_WIDTH_PX, right or 0, mark_x=start)
    if right is None:
        return SlopeLine(change, 0, left, STUB_PX, left, mark_x=STUB_PX)
    return SlopeLine(change, 0, left, SLOPE_WIDTH_PX, right)
