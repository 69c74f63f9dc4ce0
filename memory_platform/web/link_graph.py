"""The drawing of a memory's links in SVG units: incoming ones on the left, outgoing ones on the right (ADR-0089)."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

#: Neighbours drawn on each side; the list below the drawing names all.
NEIGHBOURS_PER_SIDE_MAX = 6
BOX_WIDTH, BOX_HEIGHT, ROW_HEIGHT, GAP = 180, 42, 56, 100
#: Distance from the edge of a box to the bend of its line; the straight part carries the label.
BEND, LINES_APART = 78, 7
CHARACTERS_PER_LINE = 23


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
    def text_rows(self) -> list[tuple[float, str]]:
        """The lines with their y coordinates."""
        first = self.y + (17 if len(self.lines) > 1 else 25)
        return [(first + 16 * place, line) for place, line in enumerate(self.lines)]


@dataclass(frozen=True)
class LinkGraphLine:
    """A line from a neighbour to the middle: its path, the kinds of its links, and which ends have arrow heads."""

    path: str
    kinds: str
    label_x: float
    label_y: float
    leads_in: bool
    leads_out: bool


@dataclass(frozen=True)
class LinkGraph:
    """The drawing; `hidden` counts the neighbours that it omits."""

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
    sides: tuple[list[list[LinkedNeighbour]], ...] = ([], [])
    for group in by_neighbour.values():
        sides[any(link.is_out for link in group)].append(group)
    height = min(max(map(len, sides)), NEIGHBOURS_PER_SIDE_MAX) * ROW_HEIGHT
    middle_y, middle_x = height / 2, BOX_WIDTH + GAP if sides[0] else 0
    boxes, lines = [], []
    for side, x, start, sign in (
        (sides[0][:NEIGHBOURS_PER_SIDE_MAX], 0, BOX_WIDTH, 1),
        (sides[1][:NEIGHBOURS_PER_SIDE_MAX], middle_x + BOX_WIDTH + GAP, middle_x + BOX_WIDTH + GAP, -1),
    ):
        for place, group in enumerate(side):
            from_middle = place - (len(side) - 1) / 2
            centre, meets = middle_y + from_middle * ROW_HEIGHT, middle_y + from_middle * LINES_APART
            boxes.append(_box(group[0].id, x, centre, group[0].text, is_archived=group[0].is_archived))
            lines.append(_line(group, start, centre, meets, sign=sign))
    width = middle_x + BOX_WIDTH + (GAP + BOX_WIDTH if sides[1] else 0)
    return LinkGraph(
        height, _box(None, middle_x, middle_y, text), boxes, lines, hidden=len(by_neighbour) - len(boxes), width=width
    )


def _box(id_: UUID | None, x: int, centre: float, text: str, *, is_archived: bool = False) -> LinkGraphBox:
    words = textwrap.wrap(" ".join(text.split()), CHARACTERS_PER_LINE, max_lines=2, placeholder=" …")
    return LinkGraphBox(id_, x, centre - BOX_HEIGHT / 2, words, is_archived)


def _line(group: Sequence[LinkedNeighbour], start: int, y: float, meets: float, *, sign: int) -> LinkGraphLine:
    """Return the line from a neighbour's box edge at `start` to the middle, to the right for a `sign` of 1."""
    kinds = ", ".join(dict.fromkeys(link.kind for link in group))
    return LinkGraphLine(
        path=f"M{start} {y:g}H{start + sign * BEND}L{start + sign * GAP} {meets:g}",
        kinds=kinds,
        label_x=start + sign * BEND / 2,
        label_y=y - 5,
        leads_in=any(not link.is_out for link in group),
        leads_out=any(link.is_out for link in group),
    )
