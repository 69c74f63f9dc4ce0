"""Where the parts of a bar begin and end, in percent of its length; the template only draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from context.services.scorer import (
    WEIGHT_CONFIDENCE,
    WEIGHT_FREQUENCY,
    WEIGHT_RECENCY,
    WEIGHT_RELEVANCE,
    WEIGHT_USEFULNESS,
)

# Bottom of the bar to its end, in the order of ADR-0040.
SCORE_WEIGHTS = {
    "relevance": WEIGHT_RELEVANCE,
    "recency": WEIGHT_RECENCY,
    "usefulness": WEIGHT_USEFULNESS,
    "confidence": WEIGHT_CONFIDENCE,
    "frequency": WEIGHT_FREQUENCY,
}

# The pattern laid over a part's colour, so that parts can be told apart without colour; "" is plain.
PATTERNS = {
    "recency": "diagonal",
    "usefulness": "dots",
    "confidence": "vertical",
    "frequency": "cross",
    "memo": "diagonal",
    "linked": "dots",
    "summaries": "vertical",
    "fence": "cross",
}

# Kinds of blocks by the part of the budget bar they are drawn in.
BUDGET_PART_OF_KIND = {
    "tenant_memo": "memo",
    "partition_summary": "summaries",
    "linked_memory": "linked",
    "memory": "memories",
}


@dataclass(frozen=True)
class ScorePart:
    """One of the five parts of a composite score: its own value, its weight, what it adds, and its place in the bar."""

    name: str
    value: float
    weight: float
    weighted: float
    start_percent: float
    width_percent: float
    pattern: str


@dataclass(frozen=True)
class BudgetPart:
    """The tokens of one part of a context, and its place in the bar."""

    name: str
    tokens: int
    start_percent: float
    width_percent: float
    pattern: str


def score_parts(breakdown: Mapping[str, float]) -> list[ScorePart]:
    """The five parts of a score one after the other; their widths sum to the composite, a full bar being 1."""
    parts, start = [], 0.0
    for name, weight in SCORE_WEIGHTS.items():
        value = breakdown[name]
        width = 100 * weight * value
        parts.append(
            ScorePart(name, value, weight, weight * value, _percent(start), _percent(width), PATTERNS.get(name, ""))
        )
        start += width
    return parts


def budget_parts(blocks: Iterable[tuple[str, int]], *, used: int, max_tokens: int) -> list[BudgetPart]:
    """Tokens by kind of block, then the fence and markers around them, then what is free; together the whole budget."""
    tokens = dict.fromkeys(("memo", "summaries", "linked", "memories"), 0)
    for kind, count in blocks:
        tokens[BUDGET_PART_OF_KIND.get(kind, "memories")] += count
    tokens["fence"] = max(used - sum(tokens.values()), 0)
    tokens["free"] = max(max_tokens - sum(tokens.values()), 0)
    whole = max(sum(tokens.values()), 1)
    parts, start = [], 0.0
    for name, count in tokens.items():
        width = 100 * count / whole
        if count:
            parts.append(BudgetPart(name, count, _percent(start), _percent(width), PATTERNS.get(name, "")))
        start += width
    return parts


def column_heights(counts: Iterable[int]) -> list[float]:
    """Heights of the columns of a small chart, in percent of the highest; a column that is not empty is visible."""
    numbers = list(counts)
    highest = max(numbers, default=0) or 1
    return [max(_percent(100 * number / highest), 4.0) if number else 0.0 for number in numbers]


def _percent(value: float) -> float:
    return round(value, 3)
