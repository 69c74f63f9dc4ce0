"""A model's window as one bar: what is kept for the answer and the directive, what the context holds, what is free.

A context is often a sliver of its window. The bar then gives the budget most of its length, to scale in itself, and
the rest of the window a short stretch that is marked as not to scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from context.services.workbench.bars import BAR_PATTERNS, budget_bar_parts

#: Below this share of the window a budget is drawn larger than it is.
SHARE_TO_SCALE = 0.5
#: Then the parts of the window around it take so much of the bar each, in percent, and so much lies between.
OUTSIDE_PERCENT, BREAK_PERCENT = 8.0, 1.2

RESERVE, SAFETY, _DIRECTIVE, BEYOND = "reserve", "safety", "directive", "window"
#: Patterns of what lies around the budget; inside they are those of every budget bar.
OUTSIDE_PATTERNS = {RESERVE: "diagonal", SAFETY: "vertical", _DIRECTIVE: "cross", BEYOND: "dots"}
#: What each part of the bar is, in a sentence.
WINDOW_PART_TEXTS: Mapping[str, str] = {
    RESERVE: "Kept for the model's answer.",
    SAFETY: "Kept because tokens of this model can only be estimated.",
    _DIRECTIVE: "What you say stands in the window beside the memories: directive and messages.",
    "memo": "The tenant's memo.",
    "summaries": "Summaries of partitions.",
    "linked": "Memories that the focus links to.",
    "memories": "Memories, best first within the budget.",
    "fence": "The fence around recalled text, and the markers of its blocks.",
    "free": "Nothing more of what was found fits here.",
    BEYOND: "The window beyond the budget.",
}


#: What a part is called where its own name says too little.
_LABELS: Mapping[str, str] = {RESERVE: "answer reserve", SAFETY: "safety", "linked": "links", BEYOND: "rest of window"}


@dataclass(frozen=True)
class WindowBarPart:
    """A stretch of the bar. `share` is that of the budget, of what lies outside that of the window."""

    name: str
    tokens: int
    share: float
    is_outside: bool
    start_percent: float
    width_percent: float
    pattern: str

    @property
    def label(self) -> str:
        """What it is called."""
        return _LABELS.get(self.name, self.name)

    @property
    def words(self) -> str:
        """What it is."""
        return WINDOW_PART_TEXTS[self.name]


@dataclass(frozen=True)
class WindowBar:
    """The stretches from left to right. `lacking` tokens are what all of it takes beyond the window."""

    parts: list[WindowBarPart]
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
    """The bar of a context of `used` tokens within `max_tokens`, in a model's `window`."""
    inside = budget_bar_parts(blocks, used=used, max_tokens=max_tokens)
    beyond = window - reserve - safety - directive - max_tokens
    ahead = {RESERVE: reserve, SAFETY: safety, _DIRECTIVE: directive}
    outside = {name: tokens for name, tokens in {**ahead, BEYOND: beyond}.items() if tokens > 0}
    is_to_scale = max_tokens >= SHARE_TO_SCALE * window
    whole = sum(outside.values()) + sum(part.tokens for part in inside)
    widths = {name: 100 * tokens / whole if is_to_scale else OUTSIDE_PERCENT for name, tokens in outside.items()}
    room = 100 - sum(widths.values()) - (0 if is_to_scale else BREAK_PERCENT * 2)
    parts, start = [], 0.0

    def add(name: str, tokens: int, share: float, width: float, *, is_outside: bool) -> None:
        nonlocal start
        pattern = (OUTSIDE_PATTERNS if is_outside else BAR_PATTERNS).get(name, "")
        parts.append(WindowBarPart(name, tokens, share, is_outside, round(start, 3), round(width, 3), pattern))
        start += width

    def add_outside(names: Iterable[str]) -> None:
        for name in names:
            add(name, outside[name], outside[name] / window, widths[name], is_outside=True)

    add_outside(name for name in ahead if name in outside)
    start += 0 if is_to_scale else BREAK_PERCENT
    for part in inside:
        add(part.name, part.tokens, part.tokens / max(max_tokens, 1), room * part.width_percent / 100, is_outside=False)
    start += 0 if is_to_scale else BREAK_PERCENT
    add_outside(name for name in (BEYOND,) if name in outside)
    return WindowBar(parts, window, is_to_scale, max(-beyond, 0))
