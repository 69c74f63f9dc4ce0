"""The turns of a conversation, on which the rules of compaction work."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

LIVE, MASKED, COMPACTED = "live", "masked", "compacted"


@dataclass(frozen=True)
class SessionTurn:
    """A message. `tokens` are those of its original content and tool calls, `placeholder_tokens` those when masked.

    `marker_tokens` are those of the line that marks it in a text, 0 where the others include them.
    """

    id: Hashable
    role: str
    content: str
    tokens: int
    state: str = LIVE
    pinned: bool = False
    tool_calls: Sequence[Mapping[str, Any]] = ()
    tool_call_id: str = ""
    placeholder_tokens: int = 0
    created_at: datetime | None = None
    name: str = ""
    sequence: int | None = None
    marker_tokens: int = 0

    @property
    def context_tokens(self) -> int:
        """The tokens of the turn in the session's current context, without its marker."""
        if self.state == COMPACTED:
            return 0
        return self.placeholder_tokens if self.state == MASKED else self.tokens

    @property
    def cost(self) -> int:
        """The tokens of the turn in the session's current context, with its marker."""
        return self.context_tokens + (0 if self.state == COMPACTED else self.marker_tokens)

    @property
    def call_ids(self) -> tuple[str, ...]:
        """The ids of the turn's tool calls."""
        return tuple(str(call["id"]) for call in self.tool_calls if isinstance(call, Mapping) and call.get("id"))


@dataclass(frozen=True)
class UnreadTurns:
    """The turns of a session before a sequence that were not read, with their tokens: neither pinned nor of tools."""

    before: int = 0
    count: int = 0
    tokens: int = 0
