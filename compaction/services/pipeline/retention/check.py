"""Find the facts of a conversation, and which of them a text still contains and where (ADR-0070, ADR-0104)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from compaction.services.pipeline.retention import addresses, matches, quantities
from compaction.services.pipeline.retention.constraints import constraint_lookup, find_constraints
from compaction.services.pipeline.retention.dates import find_dates
from compaction.services.pipeline.retention.languages import language_name
from compaction.services.pipeline.retention.matches import FACT_KIND_NAME, FactMatch
from compaction.services.pipeline.retention.names import find_capitalised, find_quoted
from compaction.services.sessions.turns import SessionTurn
from memories.services.time_limits import in_time

#: In this order: a finder does not see text that an earlier one matched, so nothing is counted twice. Names come last.
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
#: Kinds that a run of characters without spaces may also state.
_RUN_KINDS = {
    matches.URL: addresses.normalised_url,
    matches.PATH: addresses.normalised_path,
    matches.IDENTIFIER: addresses.normalised_identifier,
    matches.EMAIL: str.casefold,
}
#: Kinds that are stated by the same words in the same order.
_WORD_KINDS = {FACT_KIND_NAME, matches.QUOTED, matches.RULE}
#: Weight of a constraint, a negation or a pinned rule in the share; a lost allergy outweighs several lost numbers.
BINDING_WEIGHT = 5.0
#: Lost facts with less total weight, such as two values that may be useful, are not a reason for a review.
LOST_WEIGHT_MIN = 2.0
#: Maximum facts of one message, binding ones first; a message with more is not a statement of a speaker.
FACTS_PER_MESSAGE_MAX = 2_000
#: A longer text, such as a log, is searched for the facts as they were first written only.
READ_CHARACTERS_MAX = 20_000
#: Maximum places at which one fact is marked as it was first written.
MARKED_PLACES_MAX = 50


@dataclass(frozen=True, slots=True)
class RetainedFact:
    """Something that a summary should not lose: as first written, as compared, and the messages that say it.

    `weight` is how much it counts in the share.
    """

    kind: str
    text: str
    normalised: str
    message_ids: tuple[Hashable, ...]
    weight: float = 1.0

    @property
    def key(self) -> tuple[str, str]:
        """The kind and the normalised text by which facts are compared."""
        return self.kind, self.normalised

    @property
    def is_binding(self) -> bool:
        """Return whether its loss requires a review, regardless of the share."""
        return self.kind in matches.BINDING_KINDS


@dataclass(frozen=True)
class RetentionResult:
    """The facts that are still contained, and their weighted share, 0..1; None if not measured."""

    kept: tuple[RetainedFact, ...] = ()
    missing: tuple[RetainedFact, ...] = ()
    share: float | None = None

    def waits_for_review(self, floor: float) -> bool:
        """Whether the share is below the floor or not measured; with a floor of 0 nothing waits."""
        if self.share is None:
            return floor > 0
        return self.share < floor and sum(fact.weight for fact in self.missing) >= LOST_WEIGHT_MIN

    def newly_lost_constraints(self, missing_before: Iterable[RetainedFact]) -> list[RetainedFact]:
        """Return the binding facts that are missing, except those that were already missing and were not repeated."""
        known = {fact.key: set(map(str, fact.message_ids)) for fact in missing_before}
        new = (fact for fact in self.missing if not known.get(fact.key, set()).issuperset(map(str, fact.message_ids)))
        return [fact for fact in new if fact.is_binding]


@dataclass(frozen=True)
class MarkedTextPiece:
    """A part of a text; `fact` is the index of the fact that it states, None for none."""

    text: str
    fact: int | None = None


def extract_facts(messages: Iterable[SessionTurn]) -> list[RetainedFact]:
    """Return the facts of a conversation, each once, in the order of their first mention."""
    texts: dict[tuple[str, str], str] = {}
    mentions: defaultdict[tuple[str, str], dict[Hashable, None]] = defaultdict(dict)
    opening: list[tuple[str, Hashable]] = []
    for message in in_time(messages):
        found = [(kind, one.normalised, one.text) for kind, one in _text_facts(message.content)]
        if message.pinned and (rule := matches.normalised_words(message.content).strip()):
            found.insert(0, (matches.RULE, rule, message.content.strip()))
        else:
            found[:0] = _constraints(message.content)
        for kind, normalised, text in found[:FACTS_PER_MESSAGE_MAX]:
            if kind:
                texts.setdefault((kind, normalised), text)
                mentions[kind, normalised][message.id] = None
            else:
                opening.append((normalised, message.id))
    for normalised, message_id in opening:
        if (FACT_KIND_NAME, normalised) in mentions:
            mentions[FACT_KIND_NAME, normalised][message_id] = None
    return [
        RetainedFact(kind, texts[kind, normalised], normalised, tuple(ids), fact_weight(kind))
        for (kind, normalised), ids in mentions.items()
    ]


def _constraints(text: str) -> Iterator[tuple[str, str, str]]:
    for sentence, is_negation in find_constraints(text):
        kind = matches.NEGATION if is_negation else matches.CONSTRAINT
        yield kind, matches.normalised_words(sentence).strip(), sentence


def text_fact_keys(text: str) -> list[tuple[str, str]]:
    """Return the keys of the facts of one sentence; a word that opens it counts as a name."""
    binding = [(kind, normalised) for kind, normalised, _ in _constraints(text)]
    return binding + [(kind or FACT_KIND_NAME, found.normalised) for kind, found in _text_facts(text)]


def fact_weight(kind: str) -> float:
    """Return the weight of a fact of which only its kind is known."""
    return BINDING_WEIGHT if kind in matches.BINDING_KINDS else 1.0


def merge_facts(*groups: Iterable[RetainedFact]) -> list[RetainedFact]:
    """Return the facts of all groups, each once with all its messages."""
    merged: dict[tuple[str, str], RetainedFact] = {}
    for fact in chain(*groups):
        known = merged.setdefault(fact.key, fact)
        if known is not fact:
            ids = tuple(dict.fromkeys((*known.message_ids, *fact.message_ids)))
            merged[fact.key] = replace(known, message_ids=ids, weight=max(known.weight, fact.weight))
    return list(merged.values())


def _text_facts(text: str) -> list[tuple[str, FactMatch]]:
    """The facts of one text with their kinds in its order, nothing twice; "" are words that may be names."""
    listed: list[tuple[str, FactMatch]] = []
    for kind, find in _FINDERS.items():
        if found := list(find(text)):
            listed += [(kind, each) for each in found]
            text = matches.blank_matches(text, found)
    # every German noun has a capital: only several in a row are a name
    has_nouns = language_name(text) == "de"
    names = ((each, is_opening) for each, is_opening in find_capitalised(text) if not has_nouns or " " in each.text)
    listed += [("" if is_opening else FACT_KIND_NAME, each) for each, is_opening in names]
    return sorted(listed, key=lambda each: (each[1].start, each[0]))


def check_retention(
    facts: Iterable[RetainedFact], texts: Iterable[str], *, is_measurable: bool = True
) -> RetentionResult:
    """Return which of `facts` the texts (summary, journal) state.

    Without facts there is no share, nor unless `is_measurable`: the rules do not know the language of the messages.
    """
    is_stated = fact_lookup(texts)
    kept: list[RetainedFact] = []
    missing: list[RetainedFact] = []
    for fact in in_time(facts):
        (kept if is_stated(fact) else missing).append(fact)
    weight_kept = sum(fact.weight for fact in kept)
    total = weight_kept + sum(fact.weight for fact in missing)
    share = weight_kept / total if total and is_measurable else None
    return RetentionResult(tuple(kept), tuple(missing), share)


def fact_lookup(texts: Iterable[str]) -> Callable[[RetainedFact], bool]:
    """Return a function that tests whether the texts contain a fact; the texts are read once."""
    listed = list(texts)
    states = constraint_lookup(listed)
    text = "\n\n".join(listed)
    kinds = _FINDERS.keys() - _WORD_KINDS
    keys = {kind: {key for found in _FINDERS[kind](text) for key in found.values} for kind in kinds}
    # read in the same way as a message, because text matched by one finder can reveal another's match
    for kind, found in _text_facts(text):
        if kind in kinds:
            keys[kind].update(found.values)
    # "50 pounds" is a weight that may be money
    keys[matches.MONEY] |= {key for key in keys[matches.NUMBER] if key.endswith(" GBP")}
    written = [run for _, run in addresses.unbroken_runs(text)]
    for kind, normalised in _RUN_KINDS.items():
        keys[kind].update(map(normalised, written))
    words = matches.normalised_words(text)
    vocabulary = set(words.split())
    characters = " ".join(text.split())

    def is_stated(fact: RetainedFact) -> bool:
        if fact.kind in (matches.CONSTRAINT, matches.NEGATION):
            return states(fact.text)
        if fact.kind in _WORD_KINDS:
            # looking up the vocabulary first avoids most searches
            return vocabulary.issuperset(fact.normalised.split()) and f" {fact.normalised} " in words
        if fact.normalised in keys[fact.kind] or fact.kind != matches.CODE:
            return fact.normalised in keys[fact.kind]
        return next(matches.whole_word_places(fact.normalised, characters), None) is not None

    return is_stated


def mark_facts(text: str, facts: Sequence[RetainedFact]) -> list[MarkedTextPiece]:
    """Return the whole text in pieces, with the pieces that contain a fact marked. If two overlap, the first counts."""
    if not facts or not text:
        return [MarkedTextPiece(text)] if text else []
    marked: list[tuple[int, int, int]] = []
    for span in _spans(text, facts):
        place = bisect_left(marked, span)
        is_free = place == len(marked) or span[1] <= marked[place][0]
        if is_free and (not place or marked[place - 1][1] <= span[0]):
            marked.insert(place, span)
    pieces, place = [], 0
    for start, end, fact in marked:
        pieces += [MarkedTextPiece(text[place:start]), MarkedTextPiece(text[start:end], fact)]
        place = end
    return [piece for piece in (*pieces, MarkedTextPiece(text[place:])) if piece.text]


def _spans(text: str, facts: Sequence[RetainedFact]) -> Iterator[tuple[int, int, int]]:
    """Start, end and fact: longer ones first as they were first written, then the rest as the check reads the text."""
    unseen = set(range(len(facts)))
    places = matches.WordPlaces(text)
    for place in sorted(unseen, key=lambda place: -len(facts[place].text)):
        for start in islice(places.of(facts[place].text), MARKED_PLACES_MAX):
            unseen.discard(place)
            yield start, start + len(facts[place].text), place
    by_key = {(facts[place].kind, facts[place].normalised): place for place in unseen}
    for kind, found in _text_facts(text) if by_key and len(text) <= READ_CHARACTERS_MAX else ():
        # a word at the beginning of a sentence is a name if it is used as a name elsewhere
        keys = ((kind or FACT_KIND_NAME, value) for value in found.values)
        if (known := next((by_key[key] for key in keys if key in by_key), None)) is not None:
            yield found.start, found.end, known
