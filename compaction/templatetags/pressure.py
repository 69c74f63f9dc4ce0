"""Gauges of sessions as server-drawn SVG: the places come from `compaction.services.gauges`."""

from typing import Any

from django import template

from compaction.models import Session
from compaction.services.gauges import pressure_gauge
from context.services.compaction_policy import CompactionPolicy

register = template.Library()


@register.inclusion_tag("_pressure.html")
def gauge(session: Session, policy: CompactionPolicy) -> dict[str, Any]:
    """How full the session is, with the thresholds of its policy marked."""
    return {"gauge": pressure_gauge(session.context_tokens, session.max_context_tokens, policy)}


@register.filter
def state_css(state: str) -> str:
    """The colour of a state's label."""
    return {
        "proposed": "kind-warning",
        "applied": "kind-good",
        "done": "kind-good",
        "failed": "kind-bad",
        "running": "kind-warning",
        "masked": "kind-warning",
    }.get(state, "")
