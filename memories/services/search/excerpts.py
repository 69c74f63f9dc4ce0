"""Words that a search matched in a text, and the excerpt that shows them."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from memories.services.time_limits import in_time

#: Characters of an excerpt, and how many of them precede the first matched word.
EXCERPT_CHARACTERS, LEAD_CHARACTERS = 220, 60
#: How far before its last character an excerpt may end after a whole word.
WORD_REACH_CHARACTERS = 24
#: A word and each of its lexemes have the same first letters, at least this many, after folding.
SHARED_LETTERS = 2

_WORD = re.compile(r"[^\W_]+(?:[._:/@'’-]+[^\W_]+|_+[^\W_]+)*")


@dataclass(frozen=True)
class ExcerptPart:
    """A piece of an excerpt; `is_match` if the search found the text by it."""

    text: str
    is_match: bool = False


def candidate_match_words(texts: Iterable[str], lexemes: Collection[str]) -> set[str]:
    """Return the words of texts that may have one of these lexemes."""
    beginnings = tuple({_folded(lexeme.lstrip("="))[:SHARED_LETTERS] for lexeme in lexemes})
    if not beginnings:
        return set()
    words = {word for text in in_time(texts) for word in _WORD.findall(text)}
    return {word for word in words if any(part.startswith(beginnings) for part in _parts(word))}


def excerpt(text: str, matched: Collection[str]) -> list[ExcerptPart]:
    """Return the excerpt of a text, from its start or from shortly before the first of the `matched` words."""
    hits = [found.span() for found in _WORD.finditer(text) if found[0] in matched]
    start = 0
    if hits and hits[0][1] > EXCERPT_CHARACTERS:
        start = text.find(" ", max(hits[0][0] - LEAD_CHARACTERS, 0)) + 1
        start = min(start, hits[0][0])
    end = start + EXCERPT_CHARACTERS
    shown = max((last for _, last in hits if last <= end), default=0)
    if len(text) > end and (space := text.rfind(" ", max(end - WORD_REACH_CHARACTERS, shown), end + 1)) > 0:
        end = space
    stretches = [ExcerptPart("… ")] if start else []
    place = start
    for first, last in hits:
        if place <= first and last <= end:
            stretches += [ExcerptPart(text[place:first]), ExcerptPart(text[first:last], is_match=True)]
            place = last
    stretches += [ExcerptPart(text[place:end]), ExcerptPart("…" if len(text) > end else "")]
    return [stretch for stretch in stretches if stretch.text]


def matched_words(stretches: Iterable[ExcerptPart]) -> list[str]:
    """Return the matched words, each once, as first written."""
    found: dict[str, str] = {}
    for stretch in stretches:
        if stretch.is_match:
            found.setdefault(stretch.text.casefold(), stretch.text)
    return list(found.values())


def _parts(word: str) -> Iterator[str]:
    """Yield a folded word and its parts; of scripts without spaces every suffix."""
    folded = _folded(word)
    yield folded
    yield from re.split(r"[\W_]+", folded)
    if not folded.isascii():
        yield from (folded[place : place + SHARED_LETTERS] for place in range(1, len(folded)))


def _folded(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))
