"""Where a text tells which facts, so that readers see them in it (ADR-0091)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compaction.services.retention.checking import Fact, found_in
from compaction.services.retention.findings import NAME

#: A longer text, such as a log, is searched for the facts as they were first written only.
READ_CHARACTERS_MAX = 20_000
#: As often is a fact marked that is looked for as written.
PLACES_MAX = 50


@dataclass(frozen=True)
class Piece:
    """A part of a text; `fact` is the place among those asked for of the fact that it tells, None for none."""

    text: str
    fact: int | None = None


def mark_facts(text: str, facts: Sequence[Fact]) -> list[Piece]:
    """The whole text in pieces, those that tell one of the facts marked. Of two that overlap the first found counts."""
    if not facts or not text:
        return [Piece(text)] if text else []
    taken: list[tuple[int, int, int]] = []
    for span in _spans(text, facts):
        if not any(span[0] < end and start < span[1] for start, end, _ in taken):
            taken.append(span)
    pieces, place = [], 0
    for start, end, fact in sorted(taken):
        if start > place:
            pieces.append(Piece(text[place:start]))
        pieces.append(Piece(text[start:end], fact))
        place = end
    return [*pieces, Piece(text[place:])] if place < len(text) else pieces


def _spans(text: str, facts: Sequence[Fact]) -> Iterator[tuple[int, int, int]]:
    """Start, end and fact: as the check reads the text, then what it knows only by its words."""
    by_key = {(fact.kind, fact.normalised): place for place, fact in enumerate(facts)}
    seen = set()
    for kind, found in found_in(text) if len(text) <= READ_CHARACTERS_MAX else ():
        # a word that opens a sentence is a name where another place has it as one
        known = next((by_key[kind or NAME, told] for told in found.told if (kind or NAME, told) in by_key), None)
        if known is not None:
            seen.add(known)
            yield found.start, found.end, known
    for place, fact in enumerate(facts):
        # most facts do not stand in most texts, and to look costs less than to read
        if place not in seen and fact.text and fact.text in text:
            for number, match in enumerate(re.finditer(_as_written(fact.text), text)):
                if number >= PLACES_MAX:
                    break
                yield match.start(), match.end(), place


def _as_written(words: str) -> str:
    start, end = (r"(?<!\w)" if words[0].isalnum() else ""), (r"(?!\w)" if words[-1].isalnum() else "")
    return start + re.escape(words) + end
