"""Lay out the links of a memory as a drawing: incoming links on the left, outgoing ones on the right (ADR-0089).

Units are those of the SVG, about pixels. A neighbour appears once, however many links connect it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

#: Neighbours drawn on each side; the list below the drawing names all.
NEIGHBOURS_PER_SIDE_MAX = 6
BOX_WIDTH, BOX_HEIGHT, ROW_HEIGHT, GAP = 180, 42, 56, 100
#: Distance from the edge of a box to the bend of its line; the straight part carries the label.
BEND, LINES_APART = 78, 7
CHARACTERS_PER_LINE, _LABEL_CHARACTERS = 23, 12


@dataclass(frozen=True)
class LinkedNeighbour:
    """A linked memory, the kind of the link, and whether the link starts at the memory in the middle."""

    id: UUID
    text: str
    is_archived: bool
    kind: str
    is_out: bool


@dataclass(frozen=True)
class LinkGraphBox:
    """A memory in the drawing: its upper left corner and its lines of text."""

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
        """The lines with their y coordinates."""
        first = self.y + (17 if len(self.lines) > 1 else 25)
        return [(first + 16 * place, line) for place, line in enumerate(self.lines)]


@dataclass(frozen=True)
class LinkGraphLine:
    """A line from a neighbour to the middle: its path, its label, and which ends have arrow heads."""

    path: str
    label: str
    title: str
    label_x: float
    label_y: float
    leads_in: bool
    leads_out: bool


@dataclass(frozen=True)
class LinkGraph:
    """The drawing; `hidden` counts the neighbours that it leaves out."""

    height: float
    middle: LinkGraphBox
    boxes: Sequence[LinkGraphBox]
    lines: Sequence[LinkGraphLine]
    hidden: int
    width: int
    box_width: int = BOX_WIDTH
    box_height: int = BOX_HEIGHT


def link_graph(text: str, links: Iterable[LinkedNeighbour]) -> LinkGraph | None:
    """Return the drawing of a memory with this text; None without a link."""
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
    """Return the line from a neighbour's box edge at `start` to the middle, to the right for a `sign` of 1."""
    kinds = ", ".join(dict.fromkeys(link.kind for link in group))
    return LinkGraphLine(
        path=f"M{start} {y:g}H{start + sign * BEND}L{start + sign * GAP} {meets:g}",
        label=kinds if len(kinds) <= _LABEL_CHARACTERS else f"{kinds[: _LABEL_CHARACTERS - 1]}…",
        title=kinds,
        label_x=start + sign * BEND / 2,
        label_y=y - 5,
        leads_in=any(not link.is_out for link in group),
        leads_out=any(link.is_out for link in group),
    )


def _lines(text: str) -> list[str]:
    """Return the beginning of a text on at most two lines."""
    return textwrap.wrap(" ".join(text.split()), CHARACTERS_PER_LINE, max_lines=2, placeholder=" …")
