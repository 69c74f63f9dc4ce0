"""Which texts quote an erased one, and how they are redacted (ADR-0130)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memories.services.time_limits import in_time

#: A text quotes another if they share this many words in a row, or a whole sentence of at least `SENTENCE_WORDS_MIN`.
RUN_WORDS = 8
SENTENCE_WORDS_MIN = 4
#: The text that replaces an erased sentence.
ERASED = "[erased]"

_WORD = re.compile(r"\w+")
_BREAK = re.compile(r"((?<=[.!?])\s+|\n+)")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_Runs = NDArray[np.int64]


class QuotedTexts:
    """Texts whose quotations are searched for in other texts. Time and memory grow with the number of words."""

    def __init__(self, texts: Iterable[str]) -> None:
        found: dict[int, list[_Runs]] = {}
        #: Texts that are too short for this: only an exact repetition counts as a quotation.
        self._short: set[tuple[str, ...]] = set()
        for text in in_time(texts):
            words = _words(text)
            if 0 < len(words) < SENTENCE_WORDS_MIN:
                self._short.add(tuple(words))
            for sentence in _BREAK.split(text)[::2]:
                own = _words(sentence)
                if SENTENCE_WORDS_MIN <= len(own) < RUN_WORDS:
                    found.setdefault(len(own), []).append(_runs(own, len(own)))
            if len(words) >= RUN_WORDS:
                found.setdefault(RUN_WORDS, []).append(_runs(words, RUN_WORDS))
        self._runs = {length: np.unique(np.concatenate(runs)) for length, runs in found.items()}

    def __bool__(self) -> bool:
        return bool(self._runs or self._short)

    def is_quoted_in(self, value: Any) -> bool:
        """Whether a text, or a text anywhere in a JSON value, quotes one of these."""
        return any(self._quoted(_words(text)) for text in strings_in(value))

    def redact(self, value: Any) -> Any:
        """Return a text or JSON value in which `ERASED` replaces each sentence that quotes; keys are kept."""
        return mapped_strings(value, self._redact_text)

    def _redact_text(self, text: str) -> str:
        quoted = self._quoted(_words(text))
        if not quoted:
            return text
        pieces, place = _BREAK.split(text), 0
        for number in range(0, len(pieces), 2):
            after = place + len(_words(pieces[number]))
            if not quoted.isdisjoint(range(place, after)):
                pieces[number] = ERASED
            place = after
        return "".join(pieces)

    def _quoted(self, words: Sequence[str]) -> set[int]:
        """Return the places of the words that belong to a quotation."""
        if tuple(words) in self._short:
            return set(range(len(words)))
        found: set[int] = set()
        for length, known in self._runs.items():
            runs = _runs(words, length)
            places = np.searchsorted(known, runs)
            hits = np.nonzero(known[np.minimum(places, len(known) - 1)] == runs)[0]
            found.update(place for start in hits.tolist() for place in range(start, start + length))
        return found


def mapped_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with every string changed, except keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped_strings(part, change) for key, part in value.items()}
    return [mapped_strings(part, change) for part in value] if isinstance(value, list) else value


def erase_all_text(text: str) -> str:
    """Return what replaces a text that is erased completely."""
    return ERASED if text.strip() else text


def strings_in(value: Any) -> Iterator[str]:
    """Yield every string of a JSON value or list, except keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, UUID):
        yield str(value)
    elif isinstance(value, (dict, list, tuple)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings_in(part)


def ids_in(value: Any) -> set[UUID]:
    """Return every id that a JSON value names."""
    return {UUID(found) for text in strings_in(value) for found in _UUID.findall(text)}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _runs(words: Sequence[str], length: int) -> _Runs:
    """Return the hashes of all runs of `length` words. Hashes differ between processes, so they are never stored."""
    runs = (hash(tuple(words[place : place + length])) for place in range(len(words) - length + 1))
    return np.fromiter(runs, np.int64)
