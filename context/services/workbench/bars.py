"""Where the parts of a bar begin and end, in percent of its length; the template only draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from context.services.profiles.scoring_profiles import ADR_0040, PART_NAMES

# Bottom of the bar to its end, in the order of ADR-0040.
SCORE_WEIGHTS: Mapping[str, float] = ADR_0040.weights

# The pattern laid over a part's colour, so that parts can be told apart without colour; "" is plain.
BAR_PATTERNS = {
    "recency": "diagonal",
    "usefulness": "dots",
    "confidence": "vertical",
    "frequency": "cross",
    "neighbours": "diagonal",
    "person": "dots",
    "time": "vertical",
    "answer": "cross",
    "statement": "diagonal",
    "currency": "dots",
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
class ScoreBarPart:
    """One part of a composite score: its own value, its weight, what it adds, and its place in the bar.

    What takes something away (a negative value or weight) has no width.
    """

    name: str
    value: float
    weight: float
    weighted: float
    start_percent: float
    width_percent: float
    pattern: str


@dataclass(frozen=True)
class BudgetBarPart:
    """The tokens of one part of a context, and its place in the bar."""

    name: str
    tokens: int
    start_percent: float
    width_percent: float
    pattern: str


def score_bar_parts(
    breakdown: Mapping[str, float],
    score: float | None = None,
    weights: Mapping[str, float] = SCORE_WEIGHTS,
    full: float = 1.0,
) -> list[ScoreBarPart]:
    """The parts of a score one after the other; their widths sum to the composite, a full bar being `full`.

    `score` is the composite where it is not the sum of what the parts add: where recency multiplies, something is
    taken away, or the composite is a probability. Parts that weigh nothing are left out.
    """
    names = [name for name in PART_NAMES if weights.get(name) and name in breakdown]
    added = {name: weights[name] * breakdown[name] for name in names}
    upward = sum(max(value, 0.0) for value in added.values())
    scale = 1.0 if score is None or not upward else score / upward
    parts, start = [], 0.0
    for name, value in added.items():
        width = 100 * scale * max(value, 0.0) / full
        parts.append(
            ScoreBarPart(
                name,
                breakdown[name],
                weights[name],
                value,
                _percent(start),
                _percent(width),
                BAR_PATTERNS.get(name, ""),
            )
        )
        start += width
    return parts


def budget_bar_parts(blocks: Iterable[tuple[str, int]], *, used: int, max_tokens: int) -> list[BudgetBarPart]:
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
            parts.append(BudgetBarPart(name, count, _percent(start), _percent(width), BAR_PATTERNS.get(name, "")))
        start += width
    return parts


def column_heights(counts: Iterable[int]) -> list[float]:
    """Heights of the columns of a small chart, in percent of the highest; a column that is not empty is visible."""
    numbers = list(counts)
    highest = max(numbers, default=0) or 1
    return [max(_percent(100 * number / highest), 4.0) if number else 0.0 for number in numbers]


def _percent(value: float) -> float:
    return round(value, 3)
