"""Where a text tells which facts, so that readers see them in it (ADR-0091)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compaction.services.pipeline.retention.check import RetainedFact, extract_text_facts
from compaction.services.pipeline.retention.matches import FACT_KIND_NAME, is_within_word

#: A longer text, such as a log, is searched for the facts as they were first written only.
READ_CHARACTERS_MAX = 20_000
#: As often is a fact marked that is looked for as written.
MARKED_PLACES_MAX = 50


@dataclass(frozen=True)
class MarkedTextPiece:
    """A part of a text; `fact` is the place among those asked for of the fact that it tells, None for none."""

    text: str
    fact: int | None = None


def mark_facts(text: str, facts: Sequence[RetainedFact]) -> list[MarkedTextPiece]:
    """The whole text in pieces, those that tell one of the facts marked. Of two that overlap the first found counts."""
    if not facts or not text:
        return [MarkedTextPiece(text)] if text else []
    taken: list[tuple[int, int, int]] = []
    for span in _spans(text, facts):
        if not any(span[0] < end and start < span[1] for start, end, _ in taken):
            taken.append(span)
    pieces, place = [], 0
    for start, end, fact in sorted(taken):
        if start > place:
            pieces.append(MarkedTextPiece(text[place:start]))
        pieces.append(MarkedTextPiece(text[start:end], fact))
        place = end
    return [*pieces, MarkedTextPiece(text[place:])] if place < len(text) else pieces


def _spans(text: str, facts: Sequence[RetainedFact]) -> Iterator[tuple[int, int, int]]:
    """Start, end and fact: longer ones first as they were first written, then the rest as the check reads the text."""
    unseen = set(range(len(facts)))
    for place in sorted(unseen, key=lambda place: -len(facts[place].text)):
        for start in _places(facts[place].text, text):
            unseen.discard(place)
            yield start, start + len(facts[place].text), place
    by_key = {(facts[place].kind, facts[place].normalised): place for place in unseen}
    for kind, found in extract_text_facts(text) if by_key and len(text) <= READ_CHARACTERS_MAX else ():
        # a word that opens a sentence is a name where another place has it as one
        known = next(
            (by_key[kind or FACT_KIND_NAME, told] for told in found.told if (kind or FACT_KIND_NAME, told) in by_key),
            None,
        )
        if known is not None:
            yield found.start, found.end, known


def _places(words: str, text: str) -> Iterator[int]:
    """Where the words stand in the text, not as a part of a longer word."""
    start = text.find(words) if words else -1
    for _ in range(MARKED_PLACES_MAX):
        if start < 0:
            return
        end = start + len(words)
        if not (is_within_word(text[start - 1 : start], words[0]) or is_within_word(words[-1], text[end : end + 1])):
            yield start
        start = text.find(words, end)
