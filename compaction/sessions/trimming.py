"""The result of a session's context, and its messages: chosen, rendered, counted and trimmed to the budget."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from compaction.models import Session
from compaction.pipeline.session_rows import pressure_parts
from compaction.services.pipeline.masking import PLACEHOLDER
from compaction.services.sessions.session_budget import marker_tokens, order_by_tool_units
from compaction.services.sessions.transcript import ChatMessage, render_transcript
from compaction.services.sessions.trimming import trim_to_newest_turns
from compaction.services.sessions.turns import MASKED, SessionTurn, UnreadTurns
from context.profiles.token_counters import budget_calculator
from context.receipts.results import Anchor, AssembledContext, Block, ContextBudget, ContextWarning
from context.services.profiles.compaction_policy import CompactionPolicy

#: Kinds of blocks besides those of memories; their anchors have the same type.
SESSION_SUMMARY = "session_summary"
MESSAGE_BLOCK_KIND = "message"
#: The versions of a message's anchor: original and placeholder.
ORIGINAL_VERSION, MASKED_VERSION = 1, 2


#: Compacts a session while its context is built, within its own time limit; called with no scope open. A failure is a
#: warning, and the context is then trimmed.
EmergencyCompaction = Callable[[Session, CompactionPolicy, datetime], Sequence[ContextWarning]]


@dataclass(frozen=True)
class SessionContext:
    """A session's context, as messages and as text; `memories` is None if the budget is too small for any."""

    session: Session
    messages: Sequence[ChatMessage]
    text: str
    blocks: Sequence[Block]
    budget: ContextBudget
    warnings: Sequence[ContextWarning]
    memories: AssembledContext | None
    budget_profile: Mapping[str, Any]
    timings: Mapping[str, float]

    @property
    def pressure(self) -> float:
        """The share of the window that the next context needs; 1.0 is full."""
        return self.session.pressure

    def as_answer(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the answer of `POST sessions/{id}/context`; `explain` adds how the memories were chosen."""
        receipt_id = self.memories.id if self.memories else None
        answer: dict[str, Any] = {
            "session_id": str(self.session.pk),
            "context_id": str(receipt_id) if receipt_id else None,
            "messages": [message.as_answer() for message in self.messages],
            "text": self.text,
            "blocks": [block.as_answer() for block in self.blocks],
            "omitted": [omission.as_answer() for omission in self.memories.omitted] if self.memories else [],
            "budget": self.budget.as_answer(),
            "budget_profile": dict(self.budget_profile),
            "pressure": self.pressure,
            "pressure_parts": pressure_parts(self.session)._asdict(),
            "context_tokens": self.session.context_tokens,
            "generation": self.session.current.generation if self.session.current else 0,
            "warnings": [notice.as_answer() for notice in self.warnings],
            "timings": dict(self.timings),
        }
        if explain:
            whole = self.memories.as_answer(explain=True)["explain"] if self.memories else None
            answer["explain"] = whole or {"candidates": [], "plan": {}, "optimality": None}
        return answer


#: Returns the texts of messages by their ids.
ReadContents = Callable[[Iterable[UUID]], dict[UUID, str]]


@dataclass(frozen=True)
class ContextTurn:
    """A message of the context with its own tokens and the blocks it shows; the lowest `rank` is removed first."""

    message: ChatMessage
    tokens: int
    rank: int
    blocks: Sequence[Block] = ()


@dataclass(frozen=True)
class TrimmedSessionContext:
    """The parts in reading order, their text with its exact tokens, and the counts of excluded messages."""

    parts: Sequence[ContextTurn]
    text: str
    tokens: int
    excluded_count: int
    incomplete_unit_count: int

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all parts, numbered by their place."""
        blocks = [block for part in self.parts for block in part.blocks]
        return [block.changed(position=position) for position, block in enumerate(blocks)]


def trim_turns_to_budget(
    head: Sequence[ContextTurn],
    turns: Sequence[SessionTurn],
    *,
    token_budget: int,
    max_tokens: int,
    model: str,
    read: ReadContents,
    unread: UnreadTurns,
    read_all: Callable[[], Sequence[SessionTurn]],
) -> TrimmedSessionContext:
    """Return `head` and the newest turns that fit; if the exact count exceeds `max_tokens`, turns are removed first.

    `read_all` returns the turns with those of `unread`, of which some may fit.
    """
    calculator = budget_calculator()
    remaining, contents = list(head), dict[UUID, str]()
    while True:
        trimmed = trim_to_newest_turns(turns, token_budget, unread_before=unread.before)
        if not trimmed.is_certain:
            turns, unread = read_all(), UnreadTurns()
            continue
        missing = [turn.id for turn in trimmed.kept if turn.id not in contents]
        if missing:
            contents |= read(missing)  # type: ignore[arg-type]
        parts = [*remaining, *(_part(turn, contents, model) for turn in order_by_tool_units(trimmed.kept))]
        text = render_transcript(part.message for part in parts)
        tokens = calculator.count_tokens(text, model)
        over = max(tokens, sum(part.tokens for part in parts)) - max_tokens
        if over <= 0:
            incomplete = len(trimmed.incomplete)
            excluded = len(trimmed.excluded) - incomplete + unread.count
            return TrimmedSessionContext(parts, text, tokens, excluded, incomplete)
        if trimmed.kept:
            token_budget = trimmed.tokens - over
        else:
            remaining.remove(min(remaining, key=lambda part: part.rank))


def _part(turn: SessionTurn, contents: dict[UUID, str], model: str) -> ContextTurn:
    content = PLACEHOLDER if turn.state == MASKED else contents[turn.id]  # type: ignore[index]
    message = ChatMessage(turn.role, content, turn.name, turn.tool_calls, turn.tool_call_id)
    tokens = turn.context_tokens - marker_tokens(turn, model)
    anchor = Anchor(MESSAGE_BLOCK_KIND, str(turn.id), MASKED_VERSION if turn.state == MASKED else ORIGINAL_VERSION)
    return ContextTurn(message, tokens, 0, [Block(MESSAGE_BLOCK_KIND, anchor, content, tokens)])
