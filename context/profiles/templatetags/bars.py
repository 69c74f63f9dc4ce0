"""Bars as server-drawn SVG: the parts come from `context.profiles.bars`, the drawing from a template."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from context.profiles.bars import ScorePart, budget_parts, column_heights, score_parts
from context.profiles.scoring_fields import PART_WORDS
from context.services.profiles.scoring_profiles import component_label
from memory_platform.web.numerals import with_minus_sign
from memory_platform.web.templatetags.figures import score as written_score

register = template.Library()
register.filter(component_label)


@register.filter
def component_description(name: str) -> str:
    """Return what a part of a score says, in a sentence; "" for one that has none."""
    return PART_WORDS.get(name, "")


@register.filter
def share_percent_text(value: float) -> str:
    """0.4267 -> 43 %; what is there but less than half a percent -> < 1 %."""
    return "< 1 %" if 0 < value < 0.005 else f"{100 * value:.0f} %"


@dataclass(frozen=True)
class ScoreComponentText:
    """A component of a score as text: formatted here, since a page shows hundreds and a template takes longer.

    What has no width in the bar has no `width`.
    """

    name: str
    pattern: str
    value: str
    weight: str
    adds: str
    start: str
    width: str

    @classmethod
    def of(cls, part: ScorePart) -> "ScoreComponentText":
        return cls(
            part.name,
            part.pattern,
            written_score(part.value),
            with_minus_sign(f"{part.weight:.2f}"),
            written_score(part.weighted),
            str(part.start_percent),
            str(part.width_percent) if part.width_percent else "",
        )


@register.simple_tag
@lru_cache(maxsize=500)
def swatch(name: str, pattern: str = "") -> SafeString:
    """Return the colour and the pattern of a part of a bar, to stand beside its name."""
    return render_to_string("context/profiles/_swatch.html", {"name": name, "pattern": pattern})


@register.inclusion_tag("context/profiles/_score_bar.html")
def score_bar(
    breakdown: Mapping[str, float], score: float, weights: Mapping[str, float], full: float = 1.0
) -> dict[str, Any]:
    """Draw one bar of the parts of a score by a profile's weights, as wide as the composite; `full` fills it."""
    parts = [ScoreComponentText.of(part) for part in score_parts(breakdown, score, weights, full)]
    return {
        "parts": parts,
        "said": ", ".join(f"{component_label(part.name)} adds {part.adds}" for part in parts),
        "score": score,
    }


@register.inclusion_tag("context/profiles/_score_table.html")
def score_table(breakdown: Mapping[str, float], score: float, weights: Mapping[str, float]) -> dict[str, Any]:
    """Draw the same parts to read: value, weight, and what they add."""
    return {"parts": [ScoreComponentText.of(part) for part in score_parts(breakdown, score, weights)], "score": score}


@register.inclusion_tag("context/profiles/_score_legend.html")
def score_legend(weights: Mapping[str, float]) -> dict[str, Any]:
    """Draw the legend: colour, pattern and weight of every part."""
    return {"parts": [ScoreComponentText.of(part) for part in score_parts(dict.fromkeys(weights, 1.0), None, weights)]}


@register.inclusion_tag("context/profiles/_budget_bar.html")
def budget_bar(blocks: Iterable[tuple[str, int]], used: int, max_tokens: int) -> dict[str, Any]:
    """Draw the whole budget as one bar: each section, the fence around it, what is free."""
    return {"parts": budget_parts(blocks, used=used, max_tokens=max_tokens), "used": used, "max_tokens": max_tokens}


@register.inclusion_tag("context/profiles/_share_bar.html")
def share_bar(part: int, whole: int) -> dict[str, float]:
    """Draw how much of something is used, as one bar without figures."""
    return {"percent": round(min(100 * part / whole, 100), 1) if whole else 0.0}


@register.inclusion_tag("context/profiles/_columns.html")
def column_chart(days: Iterable[tuple[Any, int]], unit: str) -> dict[str, Any]:
    """Draw a small column chart of counts by day."""
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
