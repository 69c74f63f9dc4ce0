"""The links of a memory as a drawing: it in the middle, what links to it on the left, what it links to on the right.

Units are those of the drawing, about pixels. A neighbour stands once, however many links join it (ADR-0089).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

#: Neighbours that are drawn on a side; the list beside the drawing names all.
NEIGHBOURS_PER_SIDE_MAX = 6
BOX_WIDTH, BOX_HEIGHT, ROW_HEIGHT, GAP = 180, 42, 56, 100
#: Where the lines bend towards the middle, from the edge of a box; what stands before it carries the label.
BEND, LINES_APART = 78, 7
CHARACTERS_PER_LINE, _LABEL_CHARACTERS = 23, 12


@dataclass(frozen=True)
class LinkedNeighbour:
    """A linked memory, the kind of a link and whether it leads away from the one in the middle."""

    id: UUID
    text: str
    is_archived: bool
    kind: str
    is_out: bool


@dataclass(frozen=True)
class LinkGraphBox:
    """A memory in the drawing: its upper left corner and what is written in it."""

    id: UUID | None
    x: int
    y: float
    lines: Sequence[str]
    is_archived: bool = False

    @property
    def text_x(self) -> int:
        return self.x + 8

    @property
    def text_rows(self) -> list[tuple[float, str]]:
        """The lines with where each stands."""
        first = self.y + (17 if len(self.lines) > 1 else 25)
        return [(first + 16 * place, line) for place, line in enumerate(self.lines)]


@dataclass(frozen=True)
class LinkGraphLine:
    """A line from a neighbour to the middle: its path, its label, and at which of its ends there are arrow heads."""

    path: str
    label: str
    title: str
    label_x: float
    label_y: float
    leads_in: bool
    leads_out: bool


@dataclass(frozen=True)
class LinkGraph:
    """The drawing; `hidden` neighbours found no room in it."""

    height: float
    middle: LinkGraphBox
    boxes: Sequence[LinkGraphBox]
    lines: Sequence[LinkGraphLine]
    hidden: int
    width: int
    box_width: int = BOX_WIDTH
    box_height: int = BOX_HEIGHT


def link_graph(text: str, links: Iterable[LinkedNeighbour]) -> LinkGraph | None:
    """The drawing of a memory that says `text`; None without a link."""
    by_neighbour: dict[UUID, list[LinkedNeighbour]] = {}
    for link in links:
        by_neighbour.setdefault(link.id, []).append(link)
    if not by_neighbour:
        return None
    left = [group for group in by_neighbour.values() if not any(link.is_out for link in group)]
    right = [group for group in by_neighbour.values() if any(link.is_out for link in group)]
    sides = (left[:NEIGHBOURS_PER_SIDE_MAX], right[:NEIGHBOURS_PER_SIDE_MAX])
    height = max(len(side) for side in sides) * ROW_HEIGHT
    middle_y = height / 2
    middle_x = BOX_WIDTH + GAP if left else 0
    boxes, lines = [], []
    for side, is_right in zip(sides, (False, True), strict=True):
        start = middle_y - len(side) * ROW_HEIGHT / 2
        for place, group in enumerate(side):
            centre = start + (place + 0.5) * ROW_HEIGHT
            x = middle_x + BOX_WIDTH + GAP if is_right else 0
            boxes.append(
                LinkGraphBox(group[0].id, x, centre - BOX_HEIGHT / 2, _lines(group[0].text), group[0].is_archived)
            )
            meets = middle_y + (place - (len(side) - 1) / 2) * LINES_APART
            lines.append(_line(group, x if is_right else BOX_WIDTH, centre, meets, sign=-1 if is_right else 1))
    middle = LinkGraphBox(None, middle_x, middle_y - BOX_HEIGHT / 2, _lines(text))
    width = middle_x + BOX_WIDTH + (GAP + BOX_WIDTH if right else 0)
    return LinkGraph(height, middle, boxes, lines, hidden=len(by_neighbour) - len(boxes), width=width)


def _line(group: Sequence[LinkedNeighbour], start: int, y: float, meets: float, *, sign: int) -> LinkGraphLine:
    """From the edge of a neighbour's box at `start` to the middle, which lies to the right of it for a `sign` of 1."""
    kinds = ", ".join(dict.fromkeys(link.kind for link in group))
    return LinkGraphLine(
        path=f"M{start} {y:g}H{start + sign * BEND}L{start + sign * GAP} {meets:g}",
        label=_cut(kinds),
        title=kinds,
        label_x=start + sign * BEND / 2,
        label_y=y - 5,
        leads_in=any(not link.is_out for link in group),
        leads_out=any(link.is_out for link in group),
    )


def _cut(kinds: str) -> str:
    return kinds if len(kinds) <= _LABEL_CHARACTERS else f"{kinds[: _LABEL_CHARACTERS - 1]}…"


def _lines(text: str) -> list[str]:
    """The beginning of a text on two lines at most."""
    return textwrap.wrap(" ".join(text.split()), CHARACTERS_PER_LINE, max_lines=2, placeholder=" …")
