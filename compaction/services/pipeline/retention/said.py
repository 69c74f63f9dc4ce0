"""What the turns of a conversation state as true: only its facts count (ADR-0104)."""

from collections.abc import Iterable
from dataclasses import replace

from compaction.services.pipeline.retention.constraints import split_pieces
from compaction.services.sessions.turns import SessionTurn


def said_sentences(turn: SessionTurn) -> list[str]:
    """Return the whole sentences of a turn that it states as true; a pinned one is a single rule."""
    if turn.role == "tool":
        return []
    return [one for one in split_pieces(turn.content) if not one.endswith("?")]


def said_turns(turns: Iterable[SessionTurn]) -> list[SessionTurn]:
    """Return the turns with those sentences alone, a line for each; pinned ones as they are."""
    return [turn if turn.pinned else replace(turn, content="\n".join(said_sentences(turn))) for turn in turns]
