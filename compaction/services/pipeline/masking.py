"""Which tool outputs a placeholder replaces (ADR-0068)."""

from collections.abc import Hashable, Sequence

from compaction.services.sessions.turns import LIVE, SessionTurn

PLACEHOLDER = "[TOOL OUTPUT ARCHIVED - search history for details]"


def messages_to_mask(messages: Sequence[SessionTurn], first_preserved: int, over_bytes: int) -> tuple[Hashable, ...]:
    """Return the ids of live, unpinned tool outputs over `over_bytes` that the placeholder makes shorter."""
    return tuple(
        turn.id
        for turn in messages[:first_preserved]
        if turn.role == "tool"
        and turn.state == LIVE
        and not turn.pinned
        and turn.tokens > turn.placeholder_tokens
        and len(turn.content.encode("utf-8", "surrogatepass")) > over_bytes
    )
