"""Which facts a conversation holds, and which of them a text still tells (ADR-0070)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from compaction.services.pipeline.retention.addresses import (
    find_code,
    find_emails,
    find_identifiers,
    find_paths,
    find_urls,
    normalised_identifier,
    normalised_path,
    normalised_url,
    unbroken_runs,
)
from compaction.services.pipeline.retention.dates import find_dates
from compaction.services.pipeline.retention.matches import (
    CODE,
    DATE,
    EMAIL,
    FACT_KIND_NAME,
    IDENTIFIER,
    MONEY,
    NUMBER,
    PATH,
    QUOTED,
    RULE,
    URL,
    FactMatch,
    blank_matches,
    is_within_word,
    normalised_words,
)
from compaction.services.pipeline.retention.names import find_capitalised, find_names, find_quoted
from compaction.services.pipeline.retention.quantities import find_money, find_numbers

#: In this order: what one takes the next do not see, so that nothing is counted twice.
_FINDERS: Mapping[str, Callable[[str], Iterator[FactMatch]]] = {
    CODE: find_code,
    URL: find_urls,
    EMAIL: find_emails,
    PATH: find_paths,
    MONEY: find_money,
    DATE: find_dates,
    NUMBER: find_numbers,
    IDENTIFIER: find_identifiers,
    QUOTED: find_quoted,
    FACT_KIND_NAME: find_names,
}
#: Kinds that a run of characters without spaces may tell as well.
_RUN_KINDS = {URL: normalised_url, PATH: normalised_path, IDENTIFIER: normalised_identifier, EMAIL: str.casefold}
#: Kinds that are told by the same words in the same order.
_WORD_KINDS = {FACT_KIND_NAME, QUOTED, RULE}


class FactSource(Protocol):
    """What facts are read from; a `Turn` is one."""

    @property
    def id(self) -> Hashable: ...
    @property
    def content(self) -> str: ...
    @property
    def pinned(self) -> bool: ...


@dataclass(frozen=True)
class RetainedFact:
    """Something that a summary should not lose: as first written, as compared, and the messages that say it."""

    kind: str
    text: str
    normalised: str
    message_ids: tuple[Hashable, ...]


@dataclass(frozen=True)
class RetentionResult:
    """Which facts are still told, and the share of all; 1 where there were none."""

    kept: tuple[RetainedFact, ...]
    missing: tuple[RetainedFact, ...]
    share: float


def extract_facts(messages: Iterable[FactSource]) -> list[RetainedFact]:
    """The facts of a conversation, each once, in the order of their first mention."""
    texts: dict[tuple[str, str], str] = {}
    mentions: dict[tuple[str, str], dict[Hashable, None]] = {}
    opening: list[tuple[Hashable, FactMatch]] = []
    for message in messages:
        if message.pinned and normalised_words(message.content).strip():
            rule = normalised_words(message.content).strip()
            texts.setdefault((RULE, rule), message.content.strip())
            mentions.setdefault((RULE, rule), {})[message.id] = None
        for kind, found in extract_text_facts(message.content):
            if kind == "":
                opening.append((message.id, found))
                continue
            key = (kind, found.normalised)
            texts.setdefault(key, found.text)
            mentions.setdefault(key, {})[message.id] = None
    for message_id, found in opening:
        if (FACT_KIND_NAME, found.normalised) in mentions:
            mentions[FACT_KIND_NAME, found.normalised][message_id] = None
    return [RetainedFact(kind, texts[kind, told], told, tuple(ids)) for (kind, told), ids in mentions.items()]


def check_retention(facts: Iterable[RetainedFact], texts: Iterable[str]) -> RetentionResult:
    """Which of `facts` the texts (summary, journal) tell."""
    tells = fact_lookup(texts)
    kept: list[RetainedFact] = []
    missing: list[RetainedFact] = []
    for fact in facts:
        (kept if tells(fact) else missing).append(fact)
    return RetentionResult(
        tuple(kept), tuple(missing), len(kept) / (len(kept) + len(missing)) if kept or missing else 1.0
    )


def fact_lookup(texts: Iterable[str]) -> Callable[[RetainedFact], bool]:
    """Says of a fact whether the texts tell it; they are read once, however many facts are asked for."""
    return _Told("\n\n".join(texts)).has


def extract_text_facts(text: str) -> Iterator[tuple[str, FactMatch]]:
    """The facts of one text by kind, in its order, nothing twice; "" are words that may be names."""
    listed: list[tuple[str, FactMatch]] = []
    for kind, find in _FINDERS.items():
        if kind == FACT_KIND_NAME:
            listed += [("" if is_opening else FACT_KIND_NAME, each) for each, is_opening in find_capitalised(text)]
            continue
        found = list(find(text))
        if found:
            listed += [(kind, each) for each in found]
            text = blank_matches(text, found)
    yield from sorted(listed, key=lambda each: (each[1].start, each[0]))


class _Told:
    """What a text tells, looked up by kind."""

    def __init__(self, text: str) -> None:
        self._keys = {
            kind: {key for found in find(text) for key in found.told}
            for kind, find in _FINDERS.items()
            if kind not in _WORD_KINDS
        }
        # read as a message is, too: what one finder takes may bring another's to light
        for kind, found in extract_text_facts(text):
            if kind in self._keys:
                self._keys[kind].update(found.told)
        # "50 pounds" is a weight that may be money
        self._keys[MONEY] |= {key for key in self._keys[NUMBER] if key.endswith(" GBP")}
        written = [run for _, run in unbroken_runs(text)]
        for kind, normalised in _RUN_KINDS.items():
            self._keys[kind].update(normalised(run) for run in written)
        self._words = normalised_words(text)
        self._vocabulary = set(self._words.split())
        self._characters = " ".join(text.split())

    def has(self, fact: RetainedFact) -> bool:
        """Whether the text tells `fact`."""
        if fact.kind in _WORD_KINDS:
            # a glance at the words spares most of the searching
            return self._vocabulary.issuperset(fact.normalised.split()) and f" {fact.normalised} " in self._words
        if fact.normalised in self._keys[fact.kind]:
            return True
        return fact.kind == CODE and self._has_code(fact.normalised)

    def _has_code(self, code: str) -> bool:
        """Whether the characters stand in the text, not as a part of a longer word."""
        place = self._characters.find(code)
        while place >= 0:
            end = place + len(code)
            before, after = self._characters[place - 1 : place], self._characters[end : end + 1]
            if not (is_within_word(before, code[0]) or is_within_word(code[-1], after)):
                return True
            place = self._characters.find(code, end)
        return False
