"""The sentences that the turns of a conversation state as true; only their facts count (ADR-0104)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from compaction.services.pipeline.retention.check import RetainedFact
from compaction.services.pipeline.statements.filters import is_hedged, is_question
from compaction.services.pipeline.statements.instructions import (
    InstructionStrength,
    has_instructions,
    instruction_strengths,
)
from compaction.services.pipeline.statements.languages import language_of, load_language
from compaction.services.pipeline.statements.sentences import SentenceRole, SourceSentence, split_sentences
from compaction.services.sessions.drafts import ASSISTANT_ROLE, TOOL_ROLE
from compaction.services.sessions.turns import SessionTurn
from memories.services.time_limits import in_time

_DEFAULT = load_language("en")
_NOT_OWN = frozenset({SentenceRole.QUOTE, SentenceRole.CODE, SentenceRole.TABLE})


class SentenceStatus(StrEnum):
    """How a message contains a sentence; only `STATED` ones are stated as true by its speaker."""

    STATED = "stated"
    QUESTION = "question"
    HEDGED = "hedged"
    QUOTED = "quoted"
    TOOL = "tool"


@dataclass(frozen=True)
class TurnSentence:
    """A whole sentence of a turn, its status, and whether it may instruct the assistant."""

    text: str
    status: SentenceStatus
    is_possible_instruction: bool = False


def turn_sentences(turn: SessionTurn) -> list[TurnSentence]:
    """Return the sentences of a turn in order.

    Tool output is not stated. Quotations, pasted code and tables, and paragraphs with instructions to the assistant
    are quoted. What an assistant only proposes is hedged.
    """
    language = language_of(turn.content, _DEFAULT)
    sentences = split_sentences(turn.content, language)
    strengths = instruction_strengths(sentences, turn.content, turn.role)

    def status(sentence: SourceSentence, strength: InstructionStrength) -> SentenceStatus:
        if turn.role == TOOL_ROLE:
            return SentenceStatus.TOOL
        if sentence.role in _NOT_OWN or strength == InstructionStrength.CERTAIN:
            return SentenceStatus.QUOTED
        if is_question(sentence.text):
            return SentenceStatus.QUESTION
        is_proposed = turn.role == ASSISTANT_ROLE and is_hedged(sentence.text, language)
        return SentenceStatus.HEDGED if is_proposed else SentenceStatus.STATED

    return [
        TurnSentence(one.text, status(one, strength), strength == InstructionStrength.POSSIBLE)
        for one, strength in zip(sentences, strengths, strict=True)
    ]


def instruction_paragraphs(turn: SessionTurn) -> int:
    """Return the number of paragraphs of a turn that certainly instruct the assistant, and so are left out."""
    if not has_instructions(turn.content):
        return 0
    sentences = split_sentences(turn.content, language_of(turn.content, _DEFAULT))
    strengths = instruction_strengths(sentences, turn.content, turn.role)
    certain = InstructionStrength.CERTAIN
    return len({one.paragraph for one, strength in zip(sentences, strengths, strict=True) if strength == certain})


def stated_sentences(turn: SessionTurn) -> list[str]:
    """Return the whole sentences of a turn that it states as true."""
    return [one.text for one in turn_sentences(turn) if one.status == SentenceStatus.STATED]


def stated_turns(turns: Iterable[SessionTurn]) -> list[SessionTurn]:
    """Return the turns with only these sentences, one per line; pinned turns are unchanged."""
    return [
        turn if turn.pinned else replace(turn, content="\n".join(stated_sentences(turn))) for turn in in_time(turns)
    ]


@dataclass(frozen=True)
class WithdrawnText:
    """Text of these messages that a later statement replaced."""

    text: str
    message_ids: tuple[str, ...]


def without_withdrawn(facts: Sequence[RetainedFact], withdrawn: Iterable[WithdrawnText]) -> list[RetainedFact]:
    """Return the facts that at least one message states in words that were not replaced later."""
    texts: dict[str, str] = {}
    for one in withdrawn:
        for message_id in one.message_ids:
            texts[message_id] = f"{texts.get(message_id, '')}\n{one.text}"

    def is_withdrawn(fact: RetainedFact) -> bool:
        words = " ".join(fact.text.split())
        return bool(fact.message_ids) and all(words in texts.get(str(one), "") for one in fact.message_ids)

    return [fact for fact in facts if not is_withdrawn(fact)] if texts else list(facts)
