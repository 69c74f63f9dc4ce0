"""Divide the token budget of a session's context among memories, summary and messages (ADR-0073)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from compaction.services.sessions.transcript import MARKER_TOKENS, call_id_tokens
from compaction.services.sessions.turns import SessionTurn
from compaction.services.windowing import is_complete_unit, tool_call_units
from context.services.assembly.model_catalog import scaled_count
from context.services.assembly.section_budgets import BUDGETED_SECTIONS, SectionAllocation
from context.services.budget import RESPONSE_RESERVE_SHARE, SAFETY_SHARE, response_reserve

#: Share of the budget for memories and memo, if the budget profile has none.
MEMORIES_SHARE = 0.25
#: Below this, the fence around memories leaves no tokens for any.
MEMORIES_TOKENS_MIN = 32
SESSION_MEMORIES_SECTION, SESSION_SUMMARY_SECTION, _MESSAGES = SESSION_SECTION_ORDER = (
    "memories",
    "session_summary",
    "recent_messages",
)

# Tokens of the labels in a message's marker, in addition to its stored tokens.
NAME_LABEL_TOKENS = 4
CALLS_MARKER_TOKENS = 3


def default_budget(window: int, max_output_tokens: int | None, *, is_exact: bool) -> tuple[int, int]:
    """Return the default budget of a context and the tokens reserved for the reply, at most 15 % of the window."""
    reserve = min(response_reserve(window, max_output_tokens), int(window * RESPONSE_RESERVE_SHARE))
    safety = 0 if is_exact else math.ceil(window * SAFETY_SHARE)
    return window - reserve - safety, reserve


def session_section_budgets(sections: Mapping[str, Mapping[str, Any]], budget: int) -> dict[str, Mapping[str, Any]]:
    """Return the budgets of memories, summary and messages from the sections of a budget profile.

    Memories with memo, partition summaries and links are one section here: a quarter of the budget, or their total in
    the profile. If the profile lacks memo or memories, the greater of the two.
    """
    own = 0
    for setting in filter(None, map(sections.get, BUDGETED_SECTIONS)):
        own += int(setting["tokens"]) if "tokens" in setting else int(budget * float(setting["share"]))
    has_own = bool(sections.get("memories")) and bool(sections.get("tenant_memo"))
    available = own if has_own else max(own, int(budget * MEMORIES_SHARE))
    settings: dict[str, Mapping[str, Any]] = {SESSION_MEMORIES_SECTION: {"tokens": available}}
    return settings | {name: sections[name] for name in (SESSION_SUMMARY_SECTION, _MESSAGES) if sections.get(name)}


class SessionBudget:
    """The tokens of a context that memories, summary and messages may use, in this order (ADR-0100).

    If everything fits, nothing is cut to a share. Otherwise, memories keep the tokens that the pressure counts for
    them, or their whole share if none are counted, and the shares of the profile divide the rest.
    """

    def __init__(
        self,
        budget: int,
        sections: Mapping[str, Mapping[str, Any]],
        turns: Sequence[SessionTurn],
        *,
        directive_cost: int,
        summary_cost: int,
        counted_for_memories: int | None,
        unread_tokens: int = 0,
    ) -> None:
        """Divide `budget`. The tokens of `turns` include their markers; older ones that were not read have others."""
        left = budget - directive_cost
        settings = session_section_budgets(sections, budget)
        self._allocation = SectionAllocation(left, SESSION_SECTION_ORDER, settings, shares_of=budget)
        newest = newest_unit_tokens(turns)
        self._kept_free = newest if newest <= left else 0
        self._summary_cost = summary_cost
        self._needed = summary_cost + unread_tokens + sum(turn.context_tokens for turn in turns)
        available = self._allocation.available_for(SESSION_MEMORIES_SECTION)
        if counted_for_memories is not None:
            available = min(available, max(counted_for_memories, left - self._needed))
        #: The tokens that the message with the memories may use.
        self.memory_tokens = min(available, left - self._kept_free)

    def has_summary(self) -> bool:
        """Return whether the summary fits in addition to memories that use their whole budget."""
        return 0 < self._summary_cost <= self._allocation.left - self._kept_free - max(self.memory_tokens, 0)

    def take_memories(self, tokens: int) -> None:
        """Record the tokens of the message with the memories."""
        self._allocation.take(SESSION_MEMORIES_SECTION, tokens)

    def take_summary(self) -> bool:
        """Return whether the summary fits; it is taken then."""
        available = self._allocation.left - self._kept_free
        if not self._fits_whole:
            available = min(self._allocation.available_for(SESSION_SUMMARY_SECTION), available)
        fits = 0 < self._summary_cost <= available
        self._allocation.take(SESSION_SUMMARY_SECTION, self._summary_cost if fits else 0)
        self._needed -= self._summary_cost
        return fits

    def message_tokens(self) -> int:
        """Return the tokens that messages may use."""
        return self._allocation.left if self._fits_whole else self._allocation.available_for(_MESSAGES)

    @property
    def _fits_whole(self) -> bool:
        return self._needed <= self._allocation.left


class MarkedMessage(Protocol):
    """The fields of a message that its marker contains."""

    @property
    def name(self) -> str: ...
    @property
    def tool_calls(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def tool_call_id(self) -> str: ...


def head_marker_tokens(model: str | None) -> int:
    """Return the estimated tokens of `model` that mark directive, summary or memories, each."""
    return scaled_count(MARKER_TOKENS, model)


def marker_tokens(turn: MarkedMessage, model: str | None = None) -> int:
    """Return the estimated tokens of `model` that mark a message, in addition to its stored tokens."""
    label = NAME_LABEL_TOKENS if turn.name else 0
    calls = CALLS_MARKER_TOKENS if turn.tool_calls else 0
    return scaled_count(MARKER_TOKENS + label + calls + call_id_tokens(turn.tool_call_id), model)


def newest_unit_tokens(turns: Sequence[SessionTurn]) -> int:
    """Return the tokens of the newest message, or tool call with results; 0 without one."""
    units = ([turns[index] for index in unit] for unit in reversed(tool_call_units(turns)))
    return next((sum(turn.context_tokens for turn in unit) for unit in units if is_complete_unit(unit)), 0)


def order_by_tool_units(turns: Sequence[SessionTurn]) -> list[SessionTurn]:
    """Return the turns with every result directly after its call, as providers require; otherwise in their order."""
    return [turns[index] for unit in tool_call_units(turns) for index in unit]
