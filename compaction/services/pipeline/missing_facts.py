"""The clauses with the facts that a summary lost (ADR-0070)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from compaction.services.pipeline.retention.check import RetainedFact
from compaction.services.pipeline.statements.dates import date_text
from compaction.services.sessions.turns import SessionTurn

#: A sentence without an end, such as a log, is cut around the fact.
CLAUSE_CHARACTERS_MAX = 320
_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class FactClause:
    """A sentence as it was said, who said it when, and the facts in it."""

    text: str
    message_id: str
    facts: tuple[RetainedFact, ...]


def clauses_with_facts(missing: Iterable[RetainedFact], turns: Mapping[str, SessionTurn]) -> list[FactClause]:
    """Return for each fact the sentence that first tells it; those of most facts first, each sentence once."""
    by_sentence: dict[tuple[str, str], list[RetainedFact]] = {}
    for fact in missing:
        for message_id in map(str, fact.message_ids):
            content = turns[message_id].content if message_id in turns else ""
            if told := next((one for one in (*_BREAK.split(content), content) if fact.text in one), ""):
                sentence = _cut(" ".join(told.split()), " ".join(fact.text.split()))
                by_sentence.setdefault((message_id, sentence), []).append(fact)
                break
    clauses = [
        FactClause(f"{_speaker(turns[message_id])}: {sentence}", message_id, tuple(facts))
        for (message_id, sentence), facts in by_sentence.items()
    ]
    return sorted(clauses, key=lambda clause: -len(clause.facts))


def _cut(sentence: str, text: str) -> str:
    if len(sentence) <= CLAUSE_CHARACTERS_MAX:
        return sentence
    place = max(sentence.find(text), 0)
    room = max(CLAUSE_CHARACTERS_MAX - len(text), 0) // 2
    start, end = max(place - room, 0), place + len(text) + room
    start = sentence.rfind(" ", 0, start) + 1 if start else 0
    end = sentence.find(" ", end) if end < len(sentence) else len(sentence)
    return sentence[start : end if end > 0 else len(sentence)]


def _speaker(turn: SessionTurn) -> str:
    speaker = turn.name or turn.role.capitalize()
    return f"{speaker} ({date_text(turn.created_at)})" if turn.created_at else speaker
