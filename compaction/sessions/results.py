"""Request and result of a session's context, shared by the orchestrator and its callers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from compaction.models import Session
from compaction.services.sessions.transcript import ChatMessage
from context.receipts.results import DEFAULT_RENDER, AssembledContext, Block, ContextBudget, ContextWarning
from context.services.profiles.compaction_policy import CompactionPolicy

#: Kinds of blocks besides those of memories; their anchors have the same type.
SESSION_SUMMARY = "session_summary"
MESSAGE_BLOCK_KIND = "message"
#: Version of a message's anchor: original or placeholder.
ORIGINAL_VERSION, MASKED_VERSION = 1, 2


class EmergencyCompaction(Protocol):
    """Compacts a session while its context is built."""

    def __call__(self, session: Session, policy: CompactionPolicy, now: Any) -> Sequence[ContextWarning]:
        """Compact at once, within its own time limit; called with no scope open.

        A failure is a warning; the context is then trimmed.
        """
        ...


@dataclass(frozen=True)
class SessionContextRequest:
    """A request for a session's context. None, and "" for texts, mean the session's or budget profile's value.

    `query` "" searches memories for the newest message of the user. `max_tokens` are those of the session's model.
    """

    session_id: UUID
    max_tokens: int | None = None
    query: str = ""
    budget_profile: str = ""
    profile: str = ""
    packer: str = ""
    ordering: str = ""
    render: str = DEFAULT_RENDER
    summary_style: str = ""
    include_tenant_memo: bool | None = None
    include_summaries_at: Sequence[int] | None = None
    include_memories_top_k: int | None = None
    explain: bool = False
    preview: bool = False


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

    @property
    def context_id(self) -> UUID | None:
        """The receipt of the memories' part."""
        return self.memories.id if self.memories else None

    def as_answer(self, *, explain: bool = False) -> dict[str, Any]:
        """The answer of `POST sessions/{id}/context`; `explain` adds how the memories were chosen."""
        answer: dict[str, Any] = {
            "session_id": str(self.session.pk),
            "context_id": None if self.context_id is None else str(self.context_id),
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
