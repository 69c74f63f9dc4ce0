"""The result of a session's context, shared by the orchestrator and its callers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from compaction.models import Session
from compaction.services.sessions.transcript import ChatMessage
from context.receipts.results import AssembledContext, Block, ContextBudget, ContextWarning
from context.services.profiles.compaction_policy import CompactionPolicy

#: Kinds of blocks besides those of memories; their anchors have the same type.
SESSION_SUMMARY = "session_summary"
MESSAGE_BLOCK_KIND = "message"
#: Version of a message's anchor: original or placeholder.
ORIGINAL_VERSION, MASKED_VERSION = 1, 2


#: Compacts a session at once while its context is built, within its own time limit; called with no scope open.
#: A failure is a warning; the context is then trimmed.
EmergencyCompaction = Callable[[Session, CompactionPolicy, datetime], Sequence[ContextWarning]]


@dataclass(frozen=True)
class SessionContext:
    """A session's context with everything the API answers and the pages show.

    `messages` and `text` have the same content in the same order; `memories` is the part assembled from memories, None
    if the budget was too small for any.
    """

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
        """How full the session is."""
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
            "context_tokens": self.session.context_tokens,
            "generation": self.session.current.generation if self.session.current else 0,
            "warnings": [notice.as_answer() for notice in self.warnings],
            "timings": dict(self.timings),
        }
        if explain:
            whole = self.memories.as_answer(explain=True)["explain"] if self.memories else None
            answer["explain"] = whole or {"candidates": [], "plan": {}, "optimality": None}
        return answer
