"""What the turns of a conversation state as true: only its facts count (ADR-0104)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from compaction.services.pipeline.retention.check import RetainedFact
from compaction.services.pipeline.retention.constraints import split_pieces
from compaction.services.sessions.turns import SessionTurn


class Standing(StrEnum):
    """How a sentence stands in a message: only what is `SAID` is stated as true by who speaks."""

    SAID = "said"
    QUESTION = "question"
    HEDGED = "hedged"
    QUOTED = "quoted"
    TOOL = "tool"


@dataclass(frozen=True)
class TurnSentence:
    """A whole sentence of a turn and how it stands there."""

    text: str
    standing: Standing


def turn_sentences(turn: SessionTurn) -> list[TurnSentence]:
    """Return the sentences of a turn in order; what a tool answers is not said, and what a person pastes is quoted."""
    return [TurnSentence(one, _standing(one, turn)) for one in split_pieces(turn.content)]


def _standing(text: str, turn: SessionTurn) -> Standing:
    if turn.role == "tool":
        return Standing.TOOL
    if text.endswith("?"):
        return Standing.QUESTION
    return Standing.SAID


def said_sentences(turn: SessionTurn) -> list[str]:
    """Return the whole sentences of a turn that it states as true."""
    return [one.text for one in turn_sentences(turn) if one.standing == Standing.SAID]


def said_turns(turns: Iterable[SessionTurn]) -> list[SessionTurn]:
    """Return the turns with those sentences alone, a line for each; pinned ones as they are."""
    return [turn if turn.pinned else replace(turn, content="\n".join(said_sentences(turn))) for turn in turns]


@dataclass(frozen=True)
class WithdrawnText:
    """What was said in these messages and replaced by a later statement."""

    text: str
    message_ids: tuple[str, ...]


def without_withdrawn(facts: Sequence[RetainedFact], withdrawn: Iterable[WithdrawnText]) -> list[RetainedFact]:
    """Return the facts that at least one message states in words which nobody replaced later."""
    texts: dict[str, str] = {}
    for one in withdrawn:
        for message_id in one.message_ids:
            texts[message_id] = f"{texts.get(message_id, '')}\n{one.text}"

    def is_withdrawn(fact: RetainedFact) -> bool:
        told = " ".join(fact.text.split())
        return bool(fact.message_ids) and all(told in texts.get(str(one), "") for one in fact.message_ids)

    return [fact for fact in facts if not is_withdrawn(fact)] if texts else list(facts)
