"""Whether a statement replaces an earlier one (ADR-0103)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memories.services.hygiene.replacement.facts import Fact
from memories.services.hygiene.replacement.phrases import clauses_of
from memories.services.hygiene.replacement.reading import read_fact
from memories.services.hygiene.replacement.slots import (
    gives_up,
    has_ended,
    has_other_amount,
    has_other_phrase,
    have_one_predicate,
    is_completed,
    is_resumed,
    swaps,
)
from memories.services.hygiene.replacement.tokens import Token
from memories.services.hygiene.replacement.topics import (
    agree,
    conflicts,
    is_in,
    missing_in,
    own_topic,
    times_of,
    topic_of,
)
from memories.services.hygiene.statements import states_the_same

#: The minimum of shared words at which the end of something ends what the older statement says.
ENDED_WORDS_MIN = 2
#: Verbs that a correction may exchange for each other.
_LIGHT_VERBS = frozenset(["", "be", "do", "run", "have", "choose"])
#: Verbs of places; a thing is in only one place.
_PLACE_VERBS = frozenset(["live", "work", "store", "hold", "sleep"])


def replaces(newer: str, older: str) -> bool:
    """Whether `newer` gives another value to the attribute that `older` states; False if in doubt."""
    one, other = read_fact(newer), read_fact(older)
    if one is not None and other is not None and one.language is not other.language:
        both = read_fact(f"{older} {newer}")
        one, other = (read_fact(text, both.language if both else one.language) for text in (newer, older))
    if one is None or other is None or one.language is not other.language or not other.is_asserted:
        return False
    if not one.is_asserted or one.is_comparison or one.has("additions"):
        return False
    return any(
        _are_comparable(each, other) and any(rule(each, other) for rule in _RULES) for each in _readings(one, other)
    ) and not states_the_same(newer, older)


def _readings(newer: Fact, older: Fact) -> Iterator[Fact]:
    """Return the newer statement, and each of its clauses if there are several.

    A clause reports a change if another clause says so, denies something, or is about a name of the older statement.
    """
    yield newer
    clauses = clauses_of(newer)[:-1]
    segment = older.tokens[older.predicate_at].segment if older.predicate_at >= 0 else -1
    names = [token for token in older.content if token.is_name and token.segment == segment]
    for clause in dict.fromkeys(clauses) if len(set(clauses)) > 1 else ():
        tokens = [token for token, number in zip(newer.tokens, clauses, strict=True) if number == clause]
        others = [token for token, number in zip(newer.tokens, clauses, strict=True) if number != clause]
        has_verb = any(token.kind in ("verb", "be", "change") for token in others)
        is_named = has_verb and len(missing_in(names, others)) < len(names)
        is_renewed = newer.is_change or newer.has("negations") or is_named
        if (clause, is_renewed) not in newer.clauses:
            read = replace(newer, tokens=tokens, context=newer.tokens, is_renewed=is_renewed)
            newer.clauses[clause, is_renewed] = read
        yield newer.clauses[clause, is_renewed]


def _are_comparable(newer: Fact, older: Fact) -> bool:
    if not newer.is_asserted or _have_opposite_directions(newer, older):
        return False
    if newer.speaker != older.speaker and ({1, 2} & (newer.persons | older.persons)):
        return False
    if newer.owners and older.owners and not newer.owners & older.owners:
        return False
    if 1 in newer.persons and older.persons and 1 not in older.persons and not newer.is_change:
        return False
    return not (older.is_journey or (older.is_past and older.change_at < 0)) and (
        not newer.is_past or newer.is_change or newer.has("completions")
    )


def _have_opposite_directions(newer: Fact, older: Fact) -> bool:
    """Return whether the statements have opposite directions ("to" and "from" the same place)."""
    return any(
        one.direction != other.direction and agree(one, other) for one in newer.directed for other in older.directed
    )


# --- Numbers, dates, times and identifiers ---------------------------------------------------------------------------


def _has_other_value(newer: Fact, older: Fact) -> bool:
    """Whether both give different numbers, dates, times or identifiers for one topic."""
    pairs = conflicts(newer, older)
    if len(pairs) != 1 or not have_one_predicate(newer, older):
        return False
    ((one, other),) = pairs
    if not older.is_value_at(other) or not newer.is_value_at(one):
        return False
    if newer.is_negated_at(one) != older.is_negated_at(other):
        return False
    if not newer.is_change and not _is_single(newer, one):
        return False
    bounds = {newer.bound_at(one), older.bound_at(other)}
    if len(bounds) > 1 and ("" not in bounds or not newer.is_change):
        return False
    theirs = topic_of(older, other)
    missing, extra = missing_in(theirs, newer.tokens), missing_in(own_topic(newer, one), older.tokens)
    if not missing and not missing_in(topic_of(newer, one), older.tokens):
        return bool(theirs)
    if extra or not newer.is_change or not theirs:
        return False
    return not missing or _is_about_the_same(newer, older, one, missing)


def _is_single(fact: Fact, value_at: int) -> bool:
    """Whether something has only one such value at a time; "a meeting" and Monday activities have several."""
    token = fact.tokens[value_at]
    if token.value is None or token.value.kind not in ("date", "time", "code"):
        return True
    is_indefinite = any(other.is_indefinite for other in topic_of(fact, value_at))
    return not (token.is_repeated or is_indefinite or (token.value.kind == "date" and not fact.verb))


def _is_about_the_same(newer: Fact, older: Fact, value_at: int, missing: Sequence[Token]) -> bool:
    """Whether the newer statement, which has fewer words, names the thing whose value changed."""
    named = [token for token in own_topic(newer, value_at) if not missing_in([token], older.tokens)]
    is_of_another = bool(newer.agent) and any(token.is_exact for token in missing)
    if not named or is_of_another:
        return False
    if newer.change_at >= 0 or newer.has("corrections"):
        return True
    first = next(token for token in older.tokens if token.kind == "content")
    return first not in missing and all(older.tokens.index(token) > older.verb_at for token in missing)


# --- Status, and the end of something --------------------------------------------------------------------------------


def _has_other_status(newer: Fact, older: Fact) -> bool:
    """Whether both give one thing a status, and the two exclude each other: "waiting" and "resolved"."""
    if conflicts(newer, older) or times_of(newer) != times_of(older):
        return False
    mine, theirs = newer.statuses, older.statuses
    places = [
        place
        for family, (name, place) in mine.items()
        if family in theirs and theirs[family][0] != name and (newer.tokens[place].kind != "verb" or newer.has("now"))
    ]
    if not places:
        return False
    said = {id(fact.tokens[place]) for fact in (newer, older) for _, place in fact.statuses.values()}
    topic = [token for token in topic_of(older) if id(token) not in said]
    named = [token for token in own_topic(newer, places[0]) if id(token) not in said]
    named += [token for token in newer.tokens if token.value and token not in named and not missing_in([token], topic)]
    before = [token for token in topic if older.tokens.index(token) < older.verb_at]
    if not named and not topic:
        return 1 in newer.persons and 1 in older.persons and newer.verb == older.verb
    if not named or missing_in(named, older.tokens):
        return False
    return (bool(before) and not missing_in(before, newer.tokens)) or any(token.value for token in named)


def _has_ended(newer: Fact, older: Fact) -> bool:
    """Return whether the newer statement denies or ends what the older one states."""
    if older.is_negative or older.end_at >= 0 or not times_of(newer) <= times_of(older):
        return False
    end = newer.end_at
    if end < 0:
        topic, theirs = topic_of(newer), topic_of(older)
        is_same = bool(topic) and not missing_in(topic, older.tokens) and not missing_in(theirs, newer.tokens)
        is_same = is_same and times_of(newer) == times_of(older) and newer.verb == older.verb
        return newer.is_negative and is_same and not newer.statuses and not newer.contrast[0]
    if newer.is_negative and newer.verb != older.verb:
        return False
    named = own_topic(newer, end)
    if not named or missing_in(named, older.tokens):
        return False
    has_person = 1 in newer.persons and 1 in older.persons
    return len(named) >= ENDED_WORDS_MIN or has_person or len(topic_of(older)) == 1


# --- Corrections -----------------------------------------------------------------------------------------------------


def _corrects(newer: Fact, older: Fact) -> bool:
    """Whether the newer statement names the former value and denies it: "the train to Linz, not Graz"."""
    if older.is_negative:
        return False
    denied, rest = newer.contrast
    if newer.verb != older.verb and not {newer.verb, older.verb} <= _LIGHT_VERBS:
        return False
    if not denied or any(missing_in([token], older.tokens) and not _is_number_in(token, older) for token in denied):
        return False
    left = [token for token in older.content if not is_in(token, denied)]
    if missing_in([token for token in left if token.kind == "content"], rest):
        return False
    said = [token for token in rest if token.kind in ("content", "value")]
    has_conflict = any(
        token.value and other.value and token.value.conflicts_with(other.value)
        for token in missing_in(rest, older.tokens)
        for other in denied
    )
    is_shared = any(token.kind == "verb" and token.text in older.texts for token in rest)
    new = missing_in(said, older.tokens)
    return has_conflict or (bool(new) and (len(new) < len(said) or is_shared))


def _is_number_in(token: Token, fact: Fact) -> bool:
    return token.value is not None and any(
        other.value and other.value.kind == "number" and other.value.number == token.value.number
        for other in fact.tokens
    )


# --- Places, roles and names -----------------------------------------------------------------------------------------


def _has_other_place(newer: Fact, older: Fact) -> bool:
    """Whether both say where something is, and the places differ."""
    mine, theirs = newer.placed, older.placed
    if (
        mine is None
        or theirs is None
        or newer.end_at >= 0
        or newer.is_negative
        or older.is_negative
        or not times_of(newer) <= times_of(older)
    ):
        return False
    if older.end_at >= 0 or (older.change_at >= 0 and older.texts[older.change_at] in older.words.journeys):
        return False  # one journey of several
    (topic, place, has_article), (other_topic, other_place, other_article) = mine, theirs
    verbs = {newer.verb, older.verb}
    is_moved = newer.change_at >= 0
    if not is_moved and not verbs & _PLACE_VERBS and not newer.has("now"):
        return False
    if not is_moved and times_of(newer) != times_of(older):
        return False
    if is_moved and any(token.is_exact for token in other_place) and not _are_alike(place, other_place):
        return False
    if not is_moved and (len(verbs - {"be"}) > 1 or has_article != other_article or not _are_alike(place, other_place)):
        return False
    if not any(token.kind == "content" for token in place) or not missing_in(place, other_place):
        return False
    if not missing_in(other_place, place):
        return False
    topic = [token for token in topic if token not in newer.agent or not missing_in([token], other_topic)]
    if not topic and not other_topic:
        return (
            1 in newer.persons and 1 in older.persons and older.verb in _PLACE_VERBS and (is_moved or len(verbs) == 1)
        )
    return bool(topic) and not missing_in(topic, older.tokens) and not missing_in(other_topic, newer.tokens)


def _are_alike(place: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether both places are names or both are things; "in Berlin" and "in marketing" are not rivals."""
    return any(token.is_exact for token in place) == any(token.is_exact for token in other)


def _has_other_name(newer: Fact, older: Fact) -> bool:
    """Whether both name the holder of a role or the value of an attribute, and differ: "The branch is main"."""
    if (
        newer.verb != "be"
        or older.verb != "be"
        or newer.is_negative
        or older.is_negative
        or times_of(newer) != times_of(older)
        or conflicts(newer, older)
    ):
        return False
    mine, theirs = newer.named, older.named
    if mine is None or theirs is None or _values_before(newer) != _values_before(older):
        return False
    (topic, name), (other_topic, other_name) = mine, theirs
    is_topic = not missing_in(topic, other_topic) and not missing_in(other_topic, topic)
    return is_topic and bool(missing_in(name, other_name)) and bool(missing_in(other_name, name))


def _values_before(fact: Fact) -> set[str]:
    return {token.key for token in fact.tokens[: fact.verb_at] if token.value}


def _succeeds(newer: Fact, older: Fact) -> bool:
    """Whether the newer statement says who or what replaced something that the older one names."""
    at = newer.place_of("replacers")
    if at < 0 or newer.is_negative:
        return False
    former = [token for place, token in enumerate(newer.tokens) if place > at and token.kind == "content"]
    after = [token for place, token in enumerate(newer.tokens) if place < at and token.kind == "content"]
    return bool(after) and any(token.is_name for token in former) and not missing_in(former, older.tokens)


def _is_called_otherwise(newer: Fact, older: Fact) -> bool:
    """Whether both state how the speaker wants to be called."""
    is_call = newer.verb == older.verb == "call" and newer.persons == older.persons and 1 in newer.persons
    mine, theirs = topic_of(newer), topic_of(older)
    return is_call and newer.is_change and len(mine) == len(theirs) == 1 and bool(missing_in(mine, theirs))


def _prefers_otherwise(newer: Fact, older: Fact) -> bool:
    """Whether both state a preference for one kind of a thing, and the kinds differ: "dark mode" and "light mode"."""
    if {newer.verb, older.verb} != {"prefer"} or not newer.is_change or newer.is_negative or older.is_negative:
        return False
    mine, theirs = topic_of(newer), topic_of(older)
    if len(mine) != len(theirs) or not mine or not agree(mine[-1], theirs[-1]):
        return False
    is_same = [agree(one, other) for one, other in zip(mine, theirs, strict=True)]
    return is_same.count(False) == 1 and not is_same[-2]


_RULES = (
    has_other_phrase,
    has_other_amount,
    has_ended,
    gives_up,
    is_completed,
    swaps,
    is_resumed,
    _has_other_value,
    _has_other_status,
    _has_ended,
    _corrects,
    _has_other_place,
    _has_other_name,
    _succeeds,
    _is_called_otherwise,
    _prefers_otherwise,
)
