"""Which facts a conversation contains, and which of them a text still tells and where (ADR-0070, ADR-0091)."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from compaction.services.pipeline.retention import addresses, matches, quantities
from compaction.services.pipeline.retention.dates import find_dates
from compaction.services.pipeline.retention.matches import FACT_KIND_NAME, FactMatch
from compaction.services.pipeline.retention.names import find_capitalised, find_quoted
from compaction.services.sessions.turns import SessionTurn

#: In this order: the next finder does not see what one takes, so that nothing is counted twice. Names come last.
_FINDERS: Mapping[str, Callable[[str], Iterator[FactMatch]]] = {
    matches.CODE: addresses.find_code,
    matches.URL: addresses.find_urls,
    matches.EMAIL: addresses.find_emails,
    matches.PATH: addresses.find_paths,
    matches.MONEY: quantities.find_money,
    matches.DATE: find_dates,
    matches.NUMBER: quantities.find_numbers,
    matches.IDENTIFIER: addresses.find_identifiers,
    matches.QUOTED: find_quoted,
}
#: Kinds that a run of characters without spaces may tell as well.
_RUN_KINDS = {
    matches.URL: addresses.normalised_url,
    matches.PATH: addresses.normalised_path,
    matches.IDENTIFIER: addresses.normalised_identifier,
    matches.EMAIL: str.casefold,
}
#: Kinds that are told by the same words in the same order.
_WORD_KINDS = {FACT_KIND_NAME, matches.QUOTED, matches.RULE}
#: A longer text, such as a log, is searched for the facts as they were first written only.
READ_CHARACTERS_MAX = 20_000
#: The most places at which one fact is marked as written.
MARKED_PLACES_MAX = 50


@dataclass(frozen=True)
class RetainedFact:
    """Something that a summary should not lose: as first written, as compared, and the messages that say it."""

    kind: str
    text: str
    normalised: str
    message_ids: tuple[Hashable, ...]

    @property
    def key(self) -> tuple[str, str]:
        """What facts are compared by."""
        return self.kind, self.normalised


@dataclass(frozen=True)
class RetentionResult:
    """Which facts are still told, and the share of all; 1 where there were none."""

    kept: tuple[RetainedFact, ...]
    missing: tuple[RetainedFact, ...]
    share: float


@dataclass(frozen=True)
class MarkedTextPiece:
    """A part of a text; `fact` is the index of the fact that it tells, None for none."""

    text: str
    fact: int | None = None


def extract_facts(messages: Iterable[SessionTurn]) -> list[RetainedFact]:
    """Return the facts of a conversation, each once, in the order of their first mention."""
    texts: dict[tuple[str, str], str] = {}
    mentions: defaultdict[tuple[str, str], dict[Hashable, None]] = defaultdict(dict)
    opening: list[tuple[str, Hashable]] = []
    for message in messages:
        found = [(kind, one.normalised, one.text) for kind, one in _text_facts(message.content)]
        if message.pinned and (rule := matches.normalised_words(message.content).strip()):
            found.insert(0, (matches.RULE, rule, message.content.strip()))
        for kind, normalised, text in found:
            if kind:
                texts.setdefault((kind, normalised), text)
                mentions[kind, normalised][message.id] = None
            else:
                opening.append((normalised, message.id))
    for normalised, message_id in opening:
        if (FACT_KIND_NAME, normalised) in mentions:
            mentions[FACT_KIND_NAME, normalised][message_id] = None
    return [RetainedFact(kind, texts[kind, told], told, tuple(ids)) for (kind, told), ids in mentions.items()]


def merge_facts(*groups: Iterable[RetainedFact]) -> list[RetainedFact]:
    """Return the facts of all groups, each once with all its messages."""
    merged: dict[tuple[str, str], RetainedFact] = {}
    for fact in chain(*groups):
        known = merged.setdefault(fact.key, fact)
        if known is not fact:
            merged[fact.key] = replace(known, message_ids=(*known.message_ids, *fact.message_ids))
    return list(merged.values())


def _text_facts(text: str) -> list[tuple[str, FactMatch]]:
    """The facts of one text with their kinds in its order, nothing twice; "" are words that may be names."""
    listed: list[tuple[str, FactMatch]] = []
    for kind, find in _FINDERS.items():
        if found := list(find(text)):
            listed += [(kind, each) for each in found]
            text = matches.blank_matches(text, found)
    listed += [("" if is_opening else FACT_KIND_NAME, each) for each, is_opening in find_capitalised(text)]
    return sorted(listed, key=lambda each: (each[1].start, each[0]))


def check_retention(facts: Iterable[RetainedFact], texts: Iterable[str]) -> RetentionResult:
    """Return which of `facts` the texts (summary, journal) tell."""
    tells = fact_lookup(texts)
    kept: list[RetainedFact] = []
    missing: list[RetainedFact] = []
    for fact in facts:
        (kept if tells(fact) else missing).append(fact)
    total = len(kept) + len(missing)
    return RetentionResult(tuple(kept), tuple(missing), len(kept) / total if total else 1.0)


def fact_lookup(texts: Iterable[str]) -> Callable[[RetainedFact], bool]:
    """Return a function that says whether the texts tell a fact; the texts are read once."""
    text = "\n\n".join(texts)
    kinds = _FINDERS.keys() - _WORD_KINDS
    keys = {kind: {key for found in _FINDERS[kind](text) for key in found.told} for kind in kinds}
    # read as a message is, too: what one finder takes may reveal another's match
    for kind, found in _text_facts(text):
        if kind in kinds:
            keys[kind].update(found.told)
    # "50 pounds" is a weight that may be money
    keys[matches.MONEY] |= {key for key in keys[matches.NUMBER] if key.endswith(" GBP")}
    written = [run for _, run in addresses.unbroken_runs(text)]
    for kind, normalised in _RUN_KINDS.items():
        keys[kind].update(map(normalised, written))
    words = matches.normalised_words(text)
    vocabulary = set(words.split())
    characters = " ".join(text.split())

    def is_told(fact: RetainedFact) -> bool:
        if fact.kind in _WORD_KINDS:
            # a glance at the vocabulary avoids most searches
            return vocabulary.issuperset(fact.normalised.split()) and f" {fact.normalised} " in words
        if fact.normalised in keys[fact.kind] or fact.kind != matches.CODE:
            return fact.normalised in keys[fact.kind]
        return next(matches.whole_word_places(fact.normalised, characters), None) is not None

    return is_told


def mark_facts(text: str, facts: Sequence[RetainedFact]) -> list[MarkedTextPiece]:
    """Return the whole text in pieces, those that tell a fact marked. Of two that overlap the first found counts."""
    if not facts or not text:
        return [MarkedTextPiece(text)] if text else []
    taken: list[tuple[int, int, int]] = []
    for span in _spans(text, facts):
        if not any(span[0] < end and start < span[1] for start, end, _ in taken):
            taken.append(span)
    pieces, place = [], 0
    for start, end, fact in sorted(taken):
        pieces += [MarkedTextPiece(text[place:start]), MarkedTextPiece(text[start:end], fact)]
        place = end
    return [piece for piece in (*pieces, MarkedTextPiece(text[place:])) if piece.text]


def _spans(text: str, facts: Sequence[RetainedFact]) -> Iterator[tuple[int, int, int]]:
    """Start, end and fact: longer ones first as they were first written, then the rest as the check reads the text."""
    unseen = set(range(len(facts)))
    for place in sorted(unseen, key=lambda place: -len(facts[place].text)):
        for start in islice(matches.whole_word_places(facts[place].text, text), MARKED_PLACES_MAX):
            unseen.discard(place)
            yield start, start + len(facts[place].text), place
    by_key = {(facts[place].kind, facts[place].normalised): place for place in unseen}
    for kind, found in _text_facts(text) if by_key and len(text) <= READ_CHARACTERS_MAX else ():
        # a word that opens a sentence is a name where another place has it as one
        keys = ((kind or FACT_KIND_NAME, told) for told in found.told)
        if (known := next((by_key[key] for key in keys if key in by_key), None)) is not None:
            yield found.start, found.end, known
