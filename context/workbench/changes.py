"""What differs between two contexts, block by block and with reasons: entered, left, moved, scored otherwise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from context.receipts.results import MEMORY, Anchor
from context.services.workbench.exclusion_reasons import ExclusionReason, RequestedScope, exclusion_reason
from context.workbench.preview import ExcludedRow, IncludedRow, Preview
from memories.services.store.moments import PointInTime

#: What is written as the same score is the same score.
SCORE_SHOWN = 0.0005


@dataclass(frozen=True)
class BlockTransition:
    """A block that only one of two contexts holds, and what became of it in the other.

    `omission` says why it was left out there; `version` is the one of the same row that stands there instead. With
    neither it was no candidate there: `absence` says why not for a memory, beside `candidates` others that were.
    """

    row: IncludedRow
    omission: ExcludedRow | None = None
    version: int | None = None
    absence: ExclusionReason | None = None
    candidates: int = 0


@dataclass(frozen=True)
class MovedBlock:
    """A block that both hold, at another place among those that both hold."""

    row: IncludedRow
    before: int


@dataclass(frozen=True)
class RescoredBlock:
    """A block that both hold, with another score."""

    row: IncludedRow
    before: float
    after: float

    @property
    def difference(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class ContextChanges:
    """Everything that differs, each list in the order of the text that holds the block."""

    entered: Sequence[BlockTransition]
    left: Sequence[BlockTransition]
    moved: Sequence[MovedBlock]
    rescored: Sequence[RescoredBlock]
    tokens: int

    @property
    def is_none(self) -> bool:
        """Whether the same blocks stand in the same order and the text has as many tokens."""
        return not (self.entered or self.left or self.moved or self.tokens)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to list."""
        return not (self.entered or self.left or self.moved or self.rescored)


def context_changes(before: Preview, after: Preview, *, recorded_at: datetime | None = None) -> ContextChanges:
    """What `after` holds that `before` does not, and the other way round; an edited memory is a new block.

    `recorded_at` is the time of which `before` shows what was held, where it is not the one at which it was asked for.
    """
    was, becomes = ({row.block.anchor: row for row in preview.kept} for preview in (before, after))
    asked_before, asked_after = _asked(before, recorded_at), _asked(after, None)
    return ContextChanges(
        entered=[_crossing(row, before, was, asked_before) for anchor, row in becomes.items() if anchor not in was],
        left=[_crossing(row, after, becomes, asked_after) for anchor, row in was.items() if anchor not in becomes],
        moved=_moved(was, becomes),
        rescored=_rescored(was, becomes),
        tokens=after.context.budget.used - before.context.budget.used,
    )


def _asked(preview: Preview, recorded_at: datetime | None) -> RequestedScope:
    request = preview.context.request
    as_of = request.get("as_of")
    at = recorded_at or preview.context.created_at
    moment = PointInTime.valid(datetime.fromisoformat(as_of)) if as_of else PointInTime.recorded(at)
    return RequestedScope(moment, request.get("partition", ""), bool(request.get("exact")))


def _crossing(
    row: IncludedRow, other: Preview, kept: Mapping[Anchor, IncludedRow], asked: RequestedScope
) -> BlockTransition:
    anchor = row.block.anchor
    omission = next((one for one in other.left_out if one.omission.anchor == anchor), None)
    version = next((one.version for one in kept if (one.type, one.id) == (anchor.type, anchor.id)), None)
    if omission or version or row.memory is None:
        return BlockTransition(row, omission, version)
    candidates = sum(anchor.type == MEMORY for anchor in kept)
    candidates += sum(one.omission.anchor.type == MEMORY for one in other.left_out)
    return BlockTransition(row, absence=exclusion_reason(row.memory, asked), candidates=candidates)


def _moved(was: Mapping[Anchor, IncludedRow], becomes: Mapping[Anchor, IncludedRow]) -> list[MovedBlock]:
    """What stands at another place among what both hold; what only made way for others did not move."""
    before = [anchor for anchor in was if anchor in becomes]
    after = [anchor for anchor in becomes if anchor in was]
    return [
        MovedBlock(becomes[anchor], was[anchor].place) for place, anchor in enumerate(after) if before[place] != anchor
    ]


def _rescored(was: Mapping[Anchor, IncludedRow], becomes: Mapping[Anchor, IncludedRow]) -> list[RescoredBlock]:
    scores = [(row, was[anchor].block.score, row.block.score) for anchor, row in becomes.items() if anchor in was]
    return [
        RescoredBlock(row, old, new)
        for row, old, new in scores
        if old is not None and new is not None and abs(new - old) >= SCORE_SHOWN
    ]
