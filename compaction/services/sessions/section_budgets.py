"""The division of a session's context among memories, summary and messages (ADR-0073)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from compaction.services.sessions.transcript import MARKER_TOKENS, call_id_tokens
from compaction.services.sessions.turns import SessionTurn
from compaction.services.windowing import is_complete_unit, tool_call_units
from context.services.budget import SAFETY_SHARE, response_reserve

#: Share of the budget for memories and memo, if the budget profile has none.
MEMORIES_SHARE = 0.25
#: Below this, the fence around memories leaves no tokens for any.
MEMORIES_TOKENS_MIN = 32
SESSION_MEMORIES_SECTION, SESSION_SUMMARY_SECTION, _MESSAGES = SESSION_SECTION_ORDER = (
    "memories",
    "session_summary",
    "recent_messages",
)
MEMORY_SECTIONS = ("tenant_memo", "partition_summaries", "focus", "linked_memories", "memories")

# What labels in a message's marker take beside its stored tokens.
NAME_LABEL_TOKENS = 4
CALLS_MARKER_TOKENS = 3


def default_budget(window: int, max_output_tokens: int | None, *, is_exact: bool) -> tuple[int, int]:
    """Return the default budget of a context, at least 1, and the tokens reserved for the answer, at most half."""
    reserve = min(response_reserve(window, max_output_tokens), window // 2)
    safety = 0 if is_exact else math.ceil(window * SAFETY_SHARE)
    return max(window - reserve - safety, 1), reserve


def session_section_budgets(sections: Mapping[str, Mapping[str, Any]], budget: int) -> dict[str, Mapping[str, Any]]:
    """Return the budgets of memories, summary and messages from the sections of a budget profile.

    Memories with memo, partition summaries and links are one section here: a quarter of the budget, or what the
    profile gives them together. Where it lacks memo or memories, the greater of the two.
    """
    own = 0
    for setting in filter(None, map(sections.get, MEMORY_SECTIONS)):
        own += int(setting["tokens"]) if "tokens" in setting else int(budget * float(setting["share"]))
    is_said = bool(sections.get("memories")) and bool(sections.get("tenant_memo"))
    room = own if is_said else max(own, int(budget * MEMORIES_SHARE))
    settings: dict[str, Mapping[str, Any]] = {SESSION_MEMORIES_SECTION: {"tokens": room}}
    return settings | {name: sections[name] for name in (SESSION_SUMMARY_SECTION, _MESSAGES) if sections.get(name)}


class MarkedMessage(Protocol):
    """The fields of a message that its marker contains."""

    @property
    def name(self) -> str: ...
    @property
    def tool_calls(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def tool_call_id(self) -> str: ...


def marker_tokens(turn: MarkedMessage) -> int:
    """Return the estimated tokens of a message's marker, in addition to its stored tokens."""
    label = NAME_LABEL_TOKENS if turn.name else 0
    calls = CALLS_MARKER_TOKENS if turn.tool_calls else 0
    return MARKER_TOKENS + label + calls + call_id_tokens(turn.tool_call_id)


def newest_unit_tokens(turns: Sequence[SessionTurn]) -> int:
    """Return the tokens of the newest message, or tool call with results; 0 without one."""
    units = ([turns[index] for index in unit] for unit in reversed(tool_call_units(turns)))
    return next((sum(turn.context_tokens for turn in unit) for unit in units if is_complete_unit(unit)), 0)


def order_by_tool_units(turns: Sequence[SessionTurn]) -> list[SessionTurn]:
    """Return the turns with every result right behind its call, as providers demand; else in their order."""
    return [turns[index] for unit in tool_call_units(turns) for index in unit]
