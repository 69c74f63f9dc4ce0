"""What a compaction would make of a context: its parts before and after as two bars as long as the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.services.pipeline.planning import CompactionPlan
from compaction.services.sessions.turns import SessionTurn

_DIRECTIVE, _SUMMARY, LEAVING, OUTPUTS, STAYING = "directive", "summary", "leaving", "outputs", "staying"


@dataclass(frozen=True)
class BarPart:
    """One part of a bar: its tokens, where it begins and how wide it is, in percent."""

    name: str
    tokens: int
    x: float
    width: float


@dataclass(frozen=True)
class CompactionBars:
    """Both bars; `length` is the tokens of the longer of window and context."""

    before: Sequence[BarPart]
    after: Sequence[BarPart]
    length: int


def compaction_bars(
    plan: CompactionPlan, turns: Sequence[SessionTurn], *, window: int, directive_tokens: int, summary_tokens: int
) -> CompactionBars:
    """The bars of a plan about these turns; the new summary is taken to be as long as it may."""
    leaving = set(plan.span_ids)
    masked = set(plan.mask_ids) - leaving
    tokens = {LEAVING: 0, OUTPUTS: 0, STAYING: 0}
    placeholders = 0
    for turn in turns:
        name = LEAVING if turn.id in leaving else OUTPUTS if turn.id in masked else STAYING
        tokens[name] += turn.context_tokens
        placeholders += turn.placeholder_tokens if turn.id in masked else 0
    fixed = {_DIRECTIVE: directive_tokens, _SUMMARY: summary_tokens}
    became = {_SUMMARY: plan.summary_budget_tokens} if plan.span_ids else {}
    length = max(window, plan.tokens_before, 1)
    return CompactionBars(
        before=_bar({**fixed, **tokens}, length),
        after=_bar({**fixed, **became, LEAVING: 0, OUTPUTS: placeholders, STAYING: tokens[STAYING]}, length),
        length=length,
    )


def _bar(tokens: dict[str, int], length: int) -> list[BarPart]:
    parts, reached = [], 0
    for name, count in tokens.items():
        if count:
            parts.append(BarPart(name, count, round(100 * reached / length, 3), round(100 * count / length, 3)))
        reached += count
    return parts
