"""A whole session as one strip: its messages by tokens, the spans that compactions took, places in percent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Pieces that are drawn; of a longer session neighbours share one.
PIECES_MAX = 220


@dataclass(frozen=True)
class MessageOutline:
    """A message without its text."""

    sequence: int
    role: str
    state: str
    tokens: int
    is_pinned: bool = False


@dataclass(frozen=True)
class MinimapPiece:
    """Neighbouring messages as one piece of the strip: where it stands, how wide it is, what most of it is."""

    first: int
    last: int
    tokens: int
    role: str
    state: str
    x: float
    width: float


@dataclass(frozen=True)
class CompactedSpan:
    """The messages that one compaction took out of the context."""

    compaction_id: object
    generation: int
    first: int
    last: int


@dataclass(frozen=True)
class MinimapBand:
    """A span in the strip."""

    span: CompactedSpan
    x: float
    width: float


@dataclass(frozen=True)
class Minimap:
    """The strip. `window_x` is where the preserve window begins, `shown` the part that a page shows, where not all."""

    pieces: Sequence[MinimapPiece]
    bands: Sequence[MinimapBand]
    tokens: int
    window_x: float | None
    shown: tuple[float, float] | None


def build_minimap(
    outlines: Sequence[MessageOutline],
    spans: Iterable[CompactedSpan],
    *,
    window_from: int | None,
    shown: tuple[int, int] | None,
) -> Minimap:
    """The strip of a session's messages, given in order; `shown` are the first and last sequence of a page."""
    total = sum(_weight(outline) for outline in outlines)
    starts: dict[int, float] = {}
    reached = 0
    for outline in outlines:
        starts[outline.sequence] = reached / total
        reached += _weight(outline)

    def at(sequence: int) -> float:
        """Where a message begins; the end for what comes after the last."""
        return starts.get(sequence, 1.0)

    def place(first: int, last: int) -> tuple[float, float]:
        return round(100 * at(first), 3), round(100 * (at(last + 1) - at(first)), 3)

    pieces = [
        MinimapPiece(
            first=group[0].sequence,
            last=group[-1].sequence,
            tokens=sum(outline.tokens for outline in group),
            role=_most(group, "role"),
            state=_most(group, "state"),
            x=place(group[0].sequence, group[-1].sequence)[0],
            width=place(group[0].sequence, group[-1].sequence)[1],
        )
        for group in _grouped(outlines, starts)
    ]
    return Minimap(
        pieces=pieces,
        bands=[MinimapBand(span, *place(span.first, span.last)) for span in spans],
        tokens=sum(outline.tokens for outline in outlines),
        window_x=round(100 * at(window_from), 3) if window_from is not None and outlines else None,
        shown=place(*shown) if shown is not None else None,
    )


def _weight(outline: MessageOutline) -> int:
    """A message of nothing is still to be seen."""
    return max(outline.tokens, 1)


def _grouped(outlines: Sequence[MessageOutline], starts: dict[int, float]) -> list[list[MessageOutline]]:
    """Each by itself, or those that begin in the same part of the strip together."""
    if len(outlines) <= PIECES_MAX:
        return [[outline] for outline in outlines]
    groups: dict[int, list[MessageOutline]] = {}
    for outline in outlines:
        groups.setdefault(int(starts[outline.sequence] * PIECES_MAX), []).append(outline)
    return list(groups.values())


def _most(group: Sequence[MessageOutline], name: str) -> str:
    """What has the most tokens; of equals the first."""
    tokens: Counter[str] = Counter()
    for outline in group:
        tokens[getattr(outline, name)] += _weight(outline)
    return tokens.most_common(1)[0][0]
