"""The statements of a summary that a person has rewritten (ADR-0071)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compaction.services.support import words_shared
from compaction.services.told import Told

_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
#: Messages that a rewritten sentence is taken to rest on, and how much of it they must say.
SOURCES_MAX = 3
SOURCE_SHARE_MIN = 0.34


def statements_of_text(text: str, before: Sequence[Told], messages: Mapping[str, str]) -> list[Told]:
    """A statement for each sentence of `text`: the former one where it stands in it unchanged, else a person's.

    A person's sentence cites the messages (texts by id) that say most of it; it may cite none.
    """
    rest = text
    told: list[tuple[int, Told]] = []
    for statement in before:
        place = text.find(statement.text)
        if place >= 0 and statement.text in rest:
            told.append((place, statement))
            rest = rest.replace(statement.text, "\n", 1)
    for sentence in filter(str.strip, _BREAK.split(rest)):
        wording = sentence.strip()
        told.append((max(text.find(wording), 0), _edited(wording, before, messages)))
    return [statement for _, statement in sorted(told, key=lambda pair: pair[0]) if _says_something(statement.text)]


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _edited(sentence: str, before: Sequence[Told], messages: Mapping[str, str]) -> Told:
    former = max(before, key=lambda statement: words_shared(sentence, statement.text), default=None)
    if former is not None and words_shared(sentence, former.text) >= SOURCE_SHARE_MIN:
        return replace(former, text=sentence, is_edited=True, is_from_earlier=False)
    shares = {message_id: words_shared(sentence, content) for message_id, content in messages.items()}
    ranked = sorted((one for one in shares if shares[one] >= SOURCE_SHARE_MIN), key=lambda one: -shares[one])
    return Told(sentence, tuple(ranked[:SOURCES_MAX]), is_edited=True)
