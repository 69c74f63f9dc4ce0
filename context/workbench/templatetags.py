"""The rank chart of two contexts: rows and lines, filled into layouts that are rendered once."""

from collections.abc import Mapping

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from context.profiles.templatetags.bars import change_label, row_layout, score_bar
from context.receipts.results import Anchor
from context.services.diff import RankChange
from context.workbench.preview import IncludedRow
from context.workbench.preview_diff import SlopeLine
from memory_platform.web.numerals import counted
from memory_platform.web.templatetags.figures import score as written_score

register = template.Library()

TEXT_CHARACTERS_MAX = 240
#: Half the size of the mark of an added or removed block.
MARK_RADIUS_PX = 5


@register.simple_tag
def slope_row(
    side: IncludedRow, change: RankChange[Anchor], place: int, weights: Mapping[str, float], memories_url: str
) -> SafeString:
    """Draw the block of one side at its place, with its score and how it moved."""
    block = side.block
    layout = row_layout(
        "context/workbench/_slope_row.html",
        ("place", "change", "score", "bar", "tokens", "url", "text"),
        is_scored=block.score is not None,
        is_linked=side.memory is not None,
        kind=side.kind,
    )
    return format_html(
        layout,
        **_link(side, memories_url, TEXT_CHARACTERS_MAX),
        place=place,
        change=change_label(change.kind, change.steps),
        score=written_score(block.score),
        bar=score_bar(block.score_breakdown, block.score or 0.0, weights) if block.score_breakdown else "",
        tokens=counted(block.tokens, "token", "tokens"),
    )


@register.simple_tag
def slope_text(side: IncludedRow, memories_url: str, characters_max: int) -> SafeString:
    """Return the beginning of a block's text, linked to its memory."""
    name, is_linked = "context/workbench/_slope_text.html", side.memory is not None
    layout = row_layout(name, ("url", "text"), is_linked=is_linked, kind=side.kind)
    return format_html(layout, **_link(side, memories_url, characters_max))


@register.simple_tag
def slope_line(line: SlopeLine) -> SafeString:
    """Draw the line between both places of a block."""
    numbers = {"before": line.change.before, "after": line.change.after, "steps": line.change.steps}
    numbers |= {"x1": line.x1, "y1": line.y1, "x2": line.x2, "y2": line.y2, "mark": line.mark_x}
    numbers |= {"corner_x": (line.mark_x or 0) - MARK_RADIUS_PX, "corner_y": line.y1 - MARK_RADIUS_PX}
    return format_html(
        row_layout("context/workbench/_slope_line.html", tuple(numbers), kind=line.change.kind), **numbers
    )


def _link(side: IncludedRow, memories_url: str, characters_max: int) -> dict[str, str]:
    text = side.block.text
    return {
        "url": f"{memories_url}/{side.memory.id}" if side.memory else "",
        "text": text if len(text) <= characters_max else f"{text[: characters_max - 1]}…",
    }
