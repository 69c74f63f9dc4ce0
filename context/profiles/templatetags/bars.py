"""Bars as SVG rendered on the server: `context.profiles.bars` computes the parts, a template draws them."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from context.profiles.bars import ScorePart, budget_parts, score_parts
from context.profiles.scoring_fields import PART_WORDS, weight_text
from context.services.profiles.scoring_profiles import component_label
from memory_platform.web.templatetags.figures import score as written_score

register = template.Library()


@register.filter
def score_component_label(name: str) -> str:
    return component_label(name)


@register.filter
def component_description(name: str) -> str:
    """Return the meaning of a score component, in a sentence; "" for an unknown one."""
    return PART_WORDS.get(name, "")


@register.filter
def share_percent_text(value: float) -> str:
    """Return a share in percent: 0.4267 -> 43 %; more than 0 but less than half a percent -> < 1 %."""
    return "< 1 %" if 0 < value < 0.005 else f"{100 * value:.0f} %"


class _Figure(str):
    """A formatted number, which needs no escaping; escaping would take longer than the rest of a bar."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def _as_texts(part: ScorePart) -> dict[str, str]:
    """Return a component as text, formatted here because a page shows hundreds; without a place in the bar no width."""
    return {
        "name": part.name,
        "pattern": part.pattern,
        "value": _Figure(written_score(part.component)),
        "weight": _Figure(weight_text(part.weight)),
        "adds": _Figure(written_score(part.weighted)),
        "start": _Figure(part.start_percent),
        "width": _Figure(part.width_percent or ""),
    }


@register.simple_tag
@lru_cache(maxsize=500)
def swatch(name: str, pattern: str = "") -> SafeString:
    """Return the colour and the pattern of a part of a bar, shown next to its name."""
    return render_to_string("context/profiles/_swatch.html", {"name": name, "pattern": pattern})


@lru_cache(maxsize=1000)
def row_layout(template_name: str, places: tuple[str, ...], **given: object) -> SafeString:
    """Return a template rendered once for the rows that differ only at `places`, with each of them in braces.

    A page shows hundreds of such rows; `format_html` fills one in a tenth of the time of a template.
    """
    return render_to_string(template_name, {place: f"{{{place}}}" for place in places} | given)


@register.simple_tag
def score_bar(
    breakdown: Mapping[str, float], score: float, weights: Mapping[str, float], full: float = 1.0
) -> SafeString:
    """Draw the components of a score by a profile's weights as one bar, as wide as the score; `full` fills it."""
    parts = [_as_texts(part) for part in score_parts(breakdown, score, weights, full)]
    drawn = tuple((part["name"], part["pattern"], part["weight"], bool(part["width"])) for part in parts)
    numbers = {f"{name}{place}": part[name] for place, part in enumerate(parts) for name in _NUMBERS_OF_A_PART}
    layout = row_layout("context/profiles/_score_bar.html", ("score",), parts=drawn)
    return format_html(layout, score=written_score(score), **numbers)


_NUMBERS_OF_A_PART = ("value", "adds", "start", "width")


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
    """Draw `part` as a share of `whole` as one bar without figures."""
    return {"percent": round(min(100 * part / whole, 100), 1) if whole else 0.0}
