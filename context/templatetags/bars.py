"""Bars as server-drawn SVG: the parts come from `context.services.bars`, the drawing from a template."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template

from context.scoring_form import PART_WORDS
from context.services.bars import budget_parts, column_heights, score_parts

register = template.Library()


@register.filter
def part_words(name: str) -> str:
    """What a part of a score says, in a sentence; "" for one that has none."""
    return PART_WORDS.get(name, "")


@register.filter
def share(value: float) -> str:
    """0.4267 -> 43 %; what is there but less than half a percent -> < 1 %."""
    return "< 1 %" if 0 < value < 0.005 else f"{100 * value:.0f} %"


@register.inclusion_tag("_score_bar.html")
def score_bar(
    breakdown: Mapping[str, float], score: float, weights: Mapping[str, float], full: float = 1.0
) -> dict[str, Any]:
    """One bar of the parts of a score by a profile's weights, as wide as the composite; `full` fills it."""
    return {"parts": score_parts(breakdown, score, weights, full), "score": score}


@register.inclusion_tag("_score_table.html")
def score_table(breakdown: Mapping[str, float], score: float, weights: Mapping[str, float]) -> dict[str, Any]:
    """The same parts to read: value, weight, and what they add."""
    return {"parts": score_parts(breakdown, score, weights), "score": score}


@register.inclusion_tag("_score_legend.html")
def score_legend(weights: Mapping[str, float]) -> dict[str, Any]:
    """Which colour and pattern is which part, with its weight."""
    return {"parts": score_parts(dict.fromkeys(weights, 1.0), None, weights)}


@register.inclusion_tag("_budget_bar.html")
def budget_bar(blocks: Iterable[tuple[str, int]], used: int, max_tokens: int) -> dict[str, Any]:
    """The whole budget as one bar: each section, the fence around it, what is free."""
    return {"parts": budget_parts(blocks, used=used, max_tokens=max_tokens), "used": used, "max_tokens": max_tokens}


@register.inclusion_tag("_share_bar.html")
def share_bar(part: int, whole: int) -> dict[str, float]:
    """How much of something is used, as one bar; the figures stand beside it."""
    return {"percent": round(min(100 * part / whole, 100), 1) if whole else 0.0}


@register.inclusion_tag("_columns.html")
def columns(days: Iterable[tuple[Any, int]], unit: str) -> dict[str, Any]:
    """A small column chart of counts by day."""
    listed = list(days)
    heights = column_heights(count for _, count in listed)
    width = 100 / max(len(listed), 1)
    return {
        "columns": [
            {"day": day, "count": count, "height": height, "top": 100 - height, "x": round(place * width, 3)}
            for place, ((day, count), height) in enumerate(zip(listed, heights, strict=True))
        ],
        "width": round(width * 0.78, 3),
        "total": sum(count for _, count in listed),
        "unit": unit,
    }
