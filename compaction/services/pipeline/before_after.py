"""What a compaction would make of a context: its parts before and after as two bars as long as the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.pipeline.planning import Plan
from compaction.services.sessions.turns import Turn

DIRECTIVE, SUMMARY, LEAVING, OUTPUTS, STAYING = "directive", "summary", "leaving", "outputs", "staying"


@dataclass(frozen=True)
class Part:
    """One part of a bar: its tokens, where it begins and how wide it is, in percent."""

    name: str
    tokens: int
    x: float
    width: float


@dataclass(frozen=True)
class BeforeAfter:
    """Both bars; `length` is the tokens of the longer of window and context."""

    before: Sequence[Part]
    after: Sequence[Part]
    length: int


def before_after(
    plan: Plan, turns: Sequence[Turn], *, window: int, directive_tokens: int, summary_tokens: int
) -> BeforeAfter:
    """The bars of a plan about these turns; the new summary is taken to be as long as it may."""
    leaving = set(plan.span_ids)
    masked = set(plan.mask_ids) - leaving
    tokens = {LEAVING: 0, OUTPUTS: 0, STAYING: 0}
    placeholders = 0
    for turn in turns:
        name = LEAVING if turn.id in leaving else OUTPUTS if turn.id in masked else STAYING
        tokens[name] += turn.context_tokens
        placeholders += turn.placeholder_tokens if turn.id in masked else 0
    fixed = {DIRECTIVE: directive_tokens, SUMMARY: summary_tokens}
    became = {SUMMARY: plan.summary_budget_tokens} if plan.span_ids else {}
    length = max(window, plan.tokens_before, 1)
    return BeforeAfter(
        before=_bar({**fixed, **tokens}, length),
        after=_bar({**fixed, **became, LEAVING: 0, OUTPUTS: placeholders, STAYING: tokens[STAYING]}, length),
        length=length,
    )


def _bar(tokens: dict[str, int], length: int) -> list[Part]:
    parts, reached = [], 0
    for name, count in tokens.items():
        if count:
            parts.append(Part(name, count, round(100 * reached / length, 3), round(100 * count / length, 3)))
        reached += count
    return parts
