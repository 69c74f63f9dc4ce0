"""Bars as server-drawn SVG: the parts come from `context.profiles.bars`, the drawing from a template."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from context.profiles.bars import ScorePart, budget_parts, score_parts
from context.profiles.scoring_fields import PART_WORDS
from context.services.profiles.scoring_profiles import component_label
from memory_platform.web.numerals import with_minus_sign
from memory_platform.web.templatetags.figures import score as written_score

register = template.Library()


@register.filter
def score_component_label(name: str) -> str:
    return component_label(name)


@register.filter
def component_description(name: str) -> str:
    """Return what a component of a score means, in a sentence; "" for an unknown one."""
    return PART_WORDS.get(name, "")


@register.filter
def share_percent_text(value: float) -> str:
    """0.4267 -> 43 %; more than 0 but less than half a percent -> < 1 %."""
    return "< 1 %" if 0 < value < 0.005 else f"{100 * value:.0f} %"


def _as_texts(part: ScorePart) -> dict[str, str]:
    """Return a component as text, formatted here because a page shows hundreds; without a place in the bar no width."""
    return {
        "name": part.name,
        "pattern": part.pattern,
        "value": written_score(part.component),
        "weight": with_minus_sign(f"{part.weight:.2f}"),
        "adds": written_score(part.weighted),
        "start": str(part.start_percent),
        "width": str(part.width_percent) if part.width_percent else "",
    }


@register.simple_tag
@lru_cache(maxsize=500)
def swatch(name: str, pattern: str = "") -> SafeString:
    """Return the colour and the pattern of a part of a bar, shown beside its name."""
    return render_to_string("context/profiles/_swatch.html", {"name": name, "pattern": pattern})


@register.simple_tag
def score_bar(
    breakdown: Mapping[str, float], score: float, weights: Mapping[str, float], full: float = 1.0
) -> SafeString:
    """Draw the components of a score by a profile's weights as one bar, as wide as the score; `full` fills it.

    Composed here, because a page draws hundreds.
    """
    parts = [_as_texts(part) for part in score_parts(breakdown, score, weights, full)]
    description = ", ".join(f"{component_label(part['name'])} adds {part['adds']}" for part in parts)
    drawn = ((format_html(_bar_part(part["name"], part["pattern"]), **part),) for part in parts if part["width"])
    return format_html(_BAR, written_score(score), description, format_html_join("", "{}", drawn))


_BAR = '<svg class="bar" width="100%" height="12" role="img" aria-label="Score {}: {}">{}</svg>'


@lru_cache(maxsize=100)
def _bar_part(name: str, pattern: str) -> SafeString:
    """Return the drawing of a component with places for the numbers of `_as_texts`."""
    return render_to_string("context/profiles/_score_bar_part.html", {"name": name, "pattern": pattern})


@register.simple_tag
@lru_cache(maxsize=500)
def change_label(kind: str, steps: int) -> SafeString:
    """Return how a block moved, with its mark."""
    return render_to_string("context/workbench/_change_label.html", {"kind": kind, "steps": steps})


@register.inclusion_tag("context/profiles/_score_table.html")
def score_table(breakdown: Mapping[str, float], score: float, weights: Mapping[str, float]) -> dict[str, Any]:
    """Draw the same components as a table: value, weight, contribution."""
    return {"parts": [_as_texts(part) for part in score_parts(breakdown, score, weights)], "score": score}


@register.inclusion_tag("context/profiles/_score_legend.html")
def score_legend(weights: Mapping[str, float]) -> dict[str, Any]:
    """Draw the legend: colour, pattern and weight of every component."""
    return {"parts": [_as_texts(part) for part in score_parts(dict.fromkeys(weights, 1.0), None, weights)]}


@register.inclusion_tag("context/profiles/_budget_bar.html")
def budget_bar(blocks: Iterable[tuple[str, int]], used: int, max_tokens: int) -> dict[str, Any]:
    """Draw the whole budget as one bar: each section, the fence around it, free tokens."""
    return {"parts": budget_parts(blocks, used=used, max_tokens=max_tokens), "used": used, "max_tokens": max_tokens}


@register.inclusion_tag("context/profiles/_share_bar.html")
def share_bar(part: int, whole: int) -> dict[str, float]:
    """Draw how much of something is used, as one bar without figures."""
    return {"percent": round(min(100 * part / whole, 100), 1) if whole else 0.0}
