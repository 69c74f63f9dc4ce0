"""The minimap: all messages of a session as one strip, with the spans of compactions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

#: Maximum pieces in the strip; in a longer session, neighbouring messages share one.
PIECES_MAX = 220


class Outline(NamedTuple):
    """A message without its text."""

    sequence: int
    role: str
    state: str
    tokens: int

    @property
    def weight(self) -> int:
        """The tokens, at least 1, so that an empty message is visible."""
        return max(self.tokens, 1)


class Piece(NamedTuple):
    """Neighbouring messages as one piece of the strip: position, width, and the role and state of most tokens."""

    first: int
    last: int
    tokens: int
    role: str
    state: str
    x: float
    width: float


class Span(NamedTuple):
    """The messages that one compaction took out of the context, and their place in the strip."""

    compaction_id: object
    generation: int
    first: int
    last: int
    x: float = 0.0
    width: float = 0.0


class Minimap(NamedTuple):
    """The strip. `window_x` is where the preserve window begins, `shown` the part that a page shows, if not all."""

    pieces: Sequence[Piece]
    bands: Sequence[Span]
    tokens: int
    window_x: float | None
    shown: tuple[float, float] | None


def minimap(
    outlines: Sequence[Outline], spans: Iterable[Span], *, window_from: int | None, shown: tuple[int, int] | None
) -> Minimap:
    """Return the strip of messages given in order; `shown` are the first and last sequence of a page."""
    *reached, total = accumulate((outline.weight for outline in outlines), initial=0)
    starts = {outline.sequence: start / total for outline, start in zip(outlines, reached, strict=True)}

    def place(first: int, last: int) -> tuple[float, float]:
        """Return where the messages begin and how wide they are; positions after the last message are at the end."""
        start = starts.get(first, 1.0)
        return round(100 * start, 3), round(100 * (starts.get(last + 1, 1.0) - start), 3)

    def part(outline: Outline) -> int:
        is_short = len(outlines) <= PIECES_MAX
        return outline.sequence if is_short else int(starts[outline.sequence] * PIECES_MAX)

    groups = [list(group) for _, group in groupby(outlines, key=part)]
    return Minimap(
        pieces=[
            Piece(
                group[0].sequence,
                group[-1].sequence,
                sum(outline.tokens for outline in group),
                _most(group, "role"),
                _most(group, "state"),
                *place(group[0].sequence, group[-1].sequence),
            )
            for group in groups
        ],
        bands=[Span(*span[:4], *place(span.first, span.last)) for span in spans],
        tokens=sum(outline.tokens for outline in outlines),
        window_x=place(window_from, window_from)[0] if window_from is not None and outlines else None,
        shown=place(*shown) if shown is not None else None,
    )


def _most(group: Sequence[Outline], name: str) -> str:
    """Return the role or state with the most tokens, the first one of a tie."""
    tokens: Counter[str] = Counter()
    for outline in group:
        tokens[getattr(outline, name)] += outline.weight
    return tokens.most_common(1)[0][0]
