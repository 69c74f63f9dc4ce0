"""Which tool outputs give way to a placeholder (ADR-0068)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from compaction.services.sessions.turns import LIVE, SessionTurn

PLACEHOLDER = "[TOOL OUTPUT ARCHIVED - search history for details]"

# ADR-0068. Outputs up to this size stay: a placeholder with its bookkeeping would save next to nothing.
MASK_OVER_BYTES = 512


def messages_to_mask(
    messages: Sequence[SessionTurn], first_preserved: int, over_bytes: int = MASK_OVER_BYTES
) -> tuple[Hashable, ...]:
    """The ids of the tool outputs before `first_preserved` that are masked, in their order.

    Those with more than `over_bytes` of UTF-8 that are live, not pinned, and that the placeholder makes smaller.
    """
    return tuple(turn.id for turn in messages[:first_preserved] if is_maskable(turn, over_bytes))


def is_maskable(turn: SessionTurn, over_bytes: int = MASK_OVER_BYTES) -> bool:
    """Whether the turn is a tool output that a placeholder may stand for."""
    return (
        turn.role == "tool"
        and turn.state == LIVE
        and not turn.pinned
        and turn.tokens > turn.placeholder_tokens
        and len(turn.content.encode("utf-8", "surrogatepass")) > over_bytes
    )
