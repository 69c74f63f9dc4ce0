"""Bars of contexts: score components, budgets, model windows, steps. A small budget is drawn larger than to scale."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle

from context.services.profiles.scoring_profiles import PART_NAMES
from context.services.workbench.plan_text import step_label
from memory_platform.web.charts import BarPart, stacked

#: The pattern over the colour of a part, so that parts differ without colour; "" is plain.
PATTERNS = {
    "recency": "diagonal",
    "usefulness": "dots",
    "confidence": "vertical",
    "frequency": "cross",
    "adjacent_turns": "diagonal",
    "entity_match": "dots",
    "temporal_match": "vertical",
    "answer_type": "cross",
    "informativeness": "diagonal",
    "supersession": "dots",
    "memo": "diagonal",
    "linked": "dots",
    "summaries": "vertical",
    "fence": "cross",
}

#: Parts of the budget bar by kind of block.
BUDGET_PART_OF_KIND = {"tenant_memo": "memo", "partition_summary": "summaries", "linked_memory": "linked"}


@dataclass(frozen=True, kw_only=True)
class ScorePart(BarPart):
    """One component of a score: its own number, its weight, and its place in the bar; a negative one has no width."""

    component: float
    weight: float

    @property
    def weighted(self) -> float:
        return self.weight * self.component


def score_parts(
    breakdown: Mapping[str, float], score: float | None, weights: Mapping[str, float], full: float = 1.0
) -> list[ScorePart]:
    """Return the weighted components of a score in order; their widths sum to the score, where `full` is 100.

    `score` is None if it is the sum of the weighted components, as in ADR-0040.
    """
    added = {name: weights[name] * breakdown[name] for name in PART_NAMES if weights.get(name) and name in breakdown}
    upward = sum(max(value, 0.0) for value in added.values())
    scale = 1.0 if score is None or not upward else score / upward
    bar = stacked(((name, scale * value) for name, value in added.items()), full=full, patterns=PATTERNS)
    return [ScorePart(**vars(part), component=breakdown[part.name], weight=weights[part.name]) for part in bar]


def budget_parts(blocks: Iterable[tuple[str, int]], *, used: int, max_tokens: int) -> list[BarPart]:
    """Return tokens by kind of block, then of the fence and markers, then free ones; together the whole budget."""
    tokens = dict.fromkeys(("memo", "summaries", "linked", "memories"), 0)
    for kind, count in blocks:
        tokens[BUDGET_PART_OF_KIND.get(kind, "memories")] += count
    tokens["fence"] = max(used - sum(tokens.values()), 0)
    tokens["free"] = max(max_tokens - sum(tokens.values()), 0)
    return [part for part in stacked(tokens.items(), patterns=PATTERNS) if part.value]


#: Below this share of the window a budget is drawn larger than it is.
SHARE_TO_SCALE = 0.5
#: In that case, the widths of each part of the window outside the budget and of each gap, in percent of the bar.
OUTSIDE_PERCENT, BREAK_PERCENT = 8.0, 1.2

RESERVE, SAFETY, DIRECTIVE, BEYOND = "reserve", "safety", "directive", "window"
#: Patterns of the parts outside the budget; those inside are the same as in every budget bar.
OUTSIDE_PATTERNS = {RESERVE: "diagonal", SAFETY: "vertical", DIRECTIVE: "cross", BEYOND: "dots"}
#: A sentence about each part of the bar.
WORDS: Mapping[str, str] = {
    RESERVE: "Kept for the model's answer.",
    SAFETY: "Kept because tokens of this model can only be estimated.",
    DIRECTIVE: "The directive and the messages beside the memories.",
    "memo": "The tenant's memo.",
    "summaries": "Summaries of partitions.",
    "linked": "Memories that the focus links to.",
    "memories": "Memories, best first within the budget.",
    "fence": "The fence around recalled text, and the markers of its blocks.",
    "free": "No further candidate fits.",
    BEYOND: "The window beyond the budget.",
}
#: Labels of the parts whose names say too little.
LABELS: Mapping[str, str] = {RESERVE: "answer reserve", SAFETY: "safety", "linked": "links", BEYOND: "rest of window"}


@dataclass(frozen=True, kw_only=True)
class WindowPart(BarPart):
    """A part of the bar. `share` is its share of the budget, or outside the budget, of the window."""

    tokens: int
    share: float
    is_outside: bool

    @property
    def label(self) -> str:
        return LABELS.get(self.name, self.name)

    @property
    def words(self) -> str:
        """A sentence that describes the part."""
        return WORDS[self.name]


@dataclass(frozen=True)
class WindowBar:
    """The stretches from left to right; `lacking` is how many tokens do not fit the window."""

    parts: list[WindowPart]
    window: int
    is_to_scale: bool
    lacking: int = 0


def window_bar(
    blocks: Iterable[tuple[str, int]],
    *,
    used: int,
    max_tokens: int,
    window: int,
    reserve: int,
    safety: int = 0,
    directive: int = 0,
) -> WindowBar:
    """Return the bar of a context of `used` tokens within `max_tokens`, in a model's `window`."""
    inside = budget_parts(blocks, used=used, max_tokens=max_tokens)
    beyond = window - reserve - safety - directive - max_tokens
    ahead = {RESERVE: reserve, SAFETY: safety, DIRECTIVE: directive}
    outside = {name: tokens for name, tokens in {**ahead, BEYOND: beyond}.items() if tokens > 0}
    is_to_scale = max_tokens >= SHARE_TO_SCALE * window
    whole = sum(outside.values()) + sum(part.value for part in inside)
    widths = {name: 100 * tokens / whole if is_to_scale else OUTSIDE_PERCENT for name, tokens in outside.items()}
    gap = 0.0 if is_to_scale else BREAK_PERCENT
    available = 100 - sum(widths.values()) - 2 * gap
    before, after = ([(name, widths[name]) for name in names if name in outside] for names in (ahead, (BEYOND,)))
    within = [(part.name, available * part.width_percent / 100) for part in inside]
    tokens = outside | {part.name: int(part.value) for part in inside}
    bar = stacked([*before, ("", gap), *within, ("", gap), *after], full=100, patterns=PATTERNS | OUTSIDE_PATTERNS)
    parts = [
        WindowPart(
            **vars(part),
            tokens=tokens[part.name],
            share=tokens[part.name] / (window if part.name in outside else max(max_tokens, 1)),
            is_outside=part.name in outside,
        )
        for part in bar
        if part.name
    ]
    return WindowBar(parts, window, is_to_scale, max(-beyond, 0))


#: Steps within the search.
PARTS_OF_SEARCH = ("embed", "vector", "lexical", "pinned", "read", "beside", "vectors")
#: Steps in the order in which they happen; the steps of the search replace `search`.
STEPS = ("resolve", *PARTS_OF_SEARCH, "linked", "neighbours", "score", "likeness", "pack", "render", "receipt")
REST_OF_SEARCH, REST = "Rest of the search", "Between the steps"
#: Shorter steps are not shown.
SHOWN_MILLISECONDS = 0.05
#: Patterns over the colours, in turn; the first step is plain.
STEP_PATTERNS = ("", "diagonal", "dots", "vertical", "cross")


@dataclass(frozen=True, kw_only=True)
class TimedStep(BarPart):
    """A step with its stretch of the bar; `number` (from 1) selects its colour."""

    number: int

    @property
    def milliseconds(self) -> float:
        return self.value

    @property
    def swatch(self) -> str:
        """The name of its colour."""
        return f"step-{self.number}"


def timed_steps(timings: Mapping[str, float]) -> list[TimedStep]:
    """Return the steps that took time, in the order in which they happen; the time between them comes last."""
    took = [(step_label(name), timings[name]) for name in STEPS if name in timings]
    search = timings.get("retrieve", 0.0) - sum(timings.get(name, 0.0) for name in PARTS_OF_SEARCH)
    took.append((REST_OF_SEARCH, search))
    rest = timings.get("total", 0.0) - sum(max(milliseconds, 0.0) for _, milliseconds in took)
    shown = [(name, value) for name, value in [*took, (REST, rest)] if value >= SHOWN_MILLISECONDS]
    patterns = {name: pattern for (name, _), pattern in zip(shown, cycle(STEP_PATTERNS), strict=False)}
    return [
        TimedStep(**vars(part), number=place % 12 + 1) for place, part in enumerate(stacked(shown, patterns=patterns))
    ]
