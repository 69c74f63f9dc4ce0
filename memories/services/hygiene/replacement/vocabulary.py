"""Words by language that identify the attribute of a statement, or signal that it changed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_FILE: Mapping[str, Any] = json.loads(Path(__file__).with_name("vocabulary.json").read_text("utf-8"))


@dataclass(frozen=True)
class Cues:
    """Words, word prefixes and phrases with one meaning."""

    words: frozenset[str]
    beginnings: tuple[str, ...]
    phrases: Mapping[str, Sequence[tuple[str, ...]]]

    def __contains__(self, text: str) -> bool:
        return text in self.words or (bool(self.beginnings) and text.startswith(self.beginnings))

    def size_at(self, texts: Sequence[str], place: int) -> int:
        """Return the number of words of the cue that begins at a place, 0 for none."""
        for phrase in self.phrases.get(texts[place], ()):
            if tuple(texts[place : place + len(phrase)]) == phrase:
                return len(phrase)
        return int(texts[place] in self)

    def are_in(self, texts: Sequence[str]) -> bool:
        return any(self.size_at(texts, place) for place in range(len(texts)))


def _cues(text: str) -> Cues:
    """Return the cues of a text: words between spaces, those with `*` beginnings, and phrases between bars."""
    words, *phrases = text.split("|")
    found: dict[str, list[tuple[str, ...]]] = {}
    singles = words.split()
    for phrase in phrases:
        parts = tuple(phrase.split())
        if len(parts) == 1:
            singles.append(parts[0])
        else:
            found.setdefault(parts[0], []).append(parts)
    for several in found.values():
        several.sort(key=len, reverse=True)
    plain = frozenset(word for word in singles if not word.endswith("*"))
    return Cues(plain, tuple(word[:-1] for word in singles if word.endswith("*")), found)


@dataclass(frozen=True, eq=False)
class AttributeWords:
    """The vocabulary of one language; see the file for the classes."""

    cues: Mapping[str, Cues]
    verbs: Mapping[str, str]
    statuses: Sequence[Mapping[str, str]]
    clock: Sequence[tuple[tuple[str, ...], int]]
    past_endings: tuple[str, ...]
    #: Endings of verbs: of any place, of a first word, after an auxiliary, and after a subject.
    verb_endings: tuple[str, ...]
    opening_endings: tuple[str, ...]
    participle_endings: tuple[str, ...]
    finite_endings: tuple[str, ...]
    #: Whether weekdays in -s mean all of them.
    is_s_plural: bool
    #: Whether the verb may follow its object.
    has_verb_last: bool

    @cached_property
    def status_words(self) -> frozenset[str]:
        return frozenset(word for family in self.statuses for word in family)

    @cached_property
    def known_words(self) -> frozenset[str]:
        """Return the words by which the language is recognised."""
        return frozenset(self.verbs).union(
            *(self.cues[name].words for name in ("negations", "ignored", "prepositions"))
        )

    def __getattr__(self, name: str) -> Cues:
        try:
            return self.cues[name]
        except KeyError as error:
            raise AttributeError(name) from error


def _language(given: Mapping[str, Any]) -> AttributeWords:
    return AttributeWords(
        cues={name: _cues(text) for name, text in given.items() if isinstance(text, str)},
        verbs={word: kind for kind, words in given["verbs"].items() for word in words.split()},
        statuses=[{word: name for name, words in each.items() for word in words.split()} for each in given["statuses"]],
        clock=tuple((tuple(words), minutes) for words, minutes in given["clock"]),
        **{name: tuple(endings) for name, endings in given.items() if name.endswith("_endings")},
        is_s_plural=given["is_s_plural"],
        has_verb_last=given["has_verb_last"],
    )


ATTRIBUTE_WORDS: Mapping[str, AttributeWords] = {name: _language(given) for name, given in _FILE.items()}
