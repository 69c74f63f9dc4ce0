"""Gauges of sessions as SVG; `compaction.sessions.charts` computes the coordinates."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from compaction.models import Session
from compaction.pipeline.session_rows import pressure_parts
from compaction.sessions.charts import pressure_gauge
from compaction.sessions.minimap import Piece
from context.services.profiles.compaction_policy import CompactionPolicy
from memory_platform.web.templatetags.figures import pluralized

register = template.Library()


@register.filter
def pressure_part_label(name: str) -> str:
    """Return the label of a part of the pressure."""
    return "messages with markers" if name == "messages" else name


@register.inclusion_tag("compaction/sessions/_pressure.html")
def session_gauge(session: Session, policy: CompactionPolicy, *, has_legend: bool = False) -> dict[str, Any]:
    """Show the tokens that the session's next context needs by part, with the thresholds of its policy marked."""
    gauge = pressure_gauge(pressure_parts(session), session.max_context_tokens, policy)
    return {"gauge": gauge, "has_legend": has_legend, "marker_tokens": session.marker_tokens}


@register.simple_tag
@lru_cache(maxsize=500)
def retention_bar(share: float | str | None, floor: float | None) -> SafeString:
    """Return the share of the facts that a summary keeps, with the threshold marked; cached for lists.

    None, or "" if a stored record has no share, means that it was not measured.
    """
    measured = share if isinstance(share, int | float) else None
    return render_to_string("compaction/sessions/_retention_bar.html", {"share": measured, "floor": floor})


@register.filter
def draw_minimap(pieces: Iterable[Piece], address: str) -> SafeString:
    """Return the messages of a session in its strip, each a link into the page at `address`."""
    return format_html_join(
        "",
        '<a href="{address}?at={first}#m-{first}" tabindex="-1"><title>{title}</title>'
        '<rect class="minimap-hit" x="{x}%" width="{width}%" y="0" height="32"/>'
        '<rect class="minimap-{role} minimap-{state}" x="{x}%" width="{width}%" y="{y}" height="{height}"/></a>',
        (_drawing(piece, address) for piece in pieces),
    )


def _drawing(piece: Piece, address: str) -> dict[str, object]:
    name = f"Message {piece.first}" if piece.first == piece.last else f"Messages {piece.first} to {piece.last}"
    state = "" if piece.state == "live" else f", {piece.state}"
    y, height = {"compacted": (20, 8), "masked": (14, 14)}.get(piece.state, (4, 24))
    title = f"{name}: {piece.role}, {pluralized(piece.tokens, 'token,tokens')}{state}"
    return piece._asdict() | {"address": address, "title": title, "y": y, "height": height}


@register.filter
def state_css(state: str) -> str:
    """Return the CSS class for the label of a state."""
    if state in ("proposed", "running", "masked"):
        return "kind-warning"
    return {"applied": "kind-good", "done": "kind-good", "failed": "kind-bad"}.get(state, "")
