"""The clauses that hold facts which a summary lost (ADR-0070)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from compaction.services.pipeline.retention import RetainedFact
from compaction.services.sessions.turns import SessionTurn

#: A sentence without an end, such as a log, is cut around the fact.
CLAUSE_CHARACTERS_MAX = 320
_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class FactClause:
    """A sentence as it was said, who said it when, and which facts it holds."""

    text: str
    message_id: str
    facts: tuple[RetainedFact, ...]


def clauses_with_facts(missing: Iterable[RetainedFact], turns: Mapping[str, SessionTurn]) -> list[FactClause]:
    """For each fact the sentence that first tells it; those of most facts first, each sentence once."""
    by_sentence: dict[tuple[str, str], list[RetainedFact]] = {}
    for fact in missing:
        for message_id in map(str, fact.message_ids):
            if message_id in turns and (sentence := _sentence_with(fact.text, turns[message_id].content)):
                by_sentence.setdefault((message_id, sentence), []).append(fact)
                break
    clauses = [
        FactClause(_told(turns[message_id], sentence), message_id, tuple(facts))
        for (message_id, sentence), facts in by_sentence.items()
    ]
    return sorted(clauses, key=lambda clause: -len(clause.facts))


def _sentence_with(text: str, content: str) -> str:
    for sentence in _BREAK.split(content):
        place = sentence.find(text)
        if place >= 0:
            return _cut(" ".join(sentence.split()), " ".join(text.split()))
    return _cut(" ".join(content.split()), " ".join(text.split())) if text in content else ""


def _cut(sentence: str, text: str) -> str:
    if len(sentence) <= CLAUSE_CHARACTERS_MAX:
        return sentence
    place = max(sentence.find(text), 0)
    room = max(CLAUSE_CHARACTERS_MAX - len(text), 0) // 2
    start, end = max(place - room, 0), place + len(text) + room
    start = sentence.rfind(" ", 0, start) + 1 if start else 0
    end = sentence.find(" ", end) if end < len(sentence) else len(sentence)
    return sentence[start : end if end > 0 else len(sentence)]


def _told(turn: SessionTurn, sentence: str) -> str:
    speaker = turn.name or turn.role.capitalize()
    stated_on = f" ({turn.created_at.day} {turn.created_at:%B %Y})" if turn.created_at else ""
    return f"{speaker}{stated_on}: {sentence}"
