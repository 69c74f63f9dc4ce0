"""Whether a statement replaces an earlier one (ADR-0103)."""

from collections.abc import Collection, Iterable, Sequence

from memories.services.hygiene.replacement.facts import Fact, read_fact
from memories.services.hygiene.replacement.tokens import Token
from memories.services.hygiene.statements import states_the_same

#: Letters from which a word may be the beginning or end of a longer one: "render" and "rendering".
ROOT_LETTERS_MIN = 4
#: Words in common from which the end of something is the end of what the older statement says.
ENDED_WORDS_MIN = 2
#: Verbs whose attribute no other verb gives.
_OWN_PREDICATES = frozenset(["end", "open", "arrive", "leave", "weigh", "cost", "last", "prefer"])
#: Verbs of places, of which a thing has one.
_PLACE_VERBS = frozenset(["live", "work", "store", "hold", "sleep"])


def replaces(newer: str, older: str) -> bool:
    """Whether `newer` gives the attribute that `older` states another value; False where that is unsure."""
    one, other = read_fact(newer), read_fact(older)
    if one is not None and other is not None and one.language is not other.language:
        one = read_fact(newer, other.language) if one.is_unsure else one
        other = read_fact(older, one.language) if one is not None and other.is_unsure else other
    if one is None or other is None or not _are_comparable(one, other):
        return False
    return any(rule(one, other) for rule in _RULES) and not states_the_same(newer, older)


def _are_comparable(newer: Fact, older: Fact) -> bool:
    if newer.language is not older.language or not newer.is_asserted or not older.is_asserted:
        return False
    if _have_opposite_directions(newer, older) or newer.has("comparisons") or newer.has("additions"):
        return False
    if newer.speaker != older.speaker and ({1, 2} & (newer.persons | older.persons)):
        return False
    if 1 in newer.persons and older.persons and 1 not in older.persons and not newer.is_change:
        return False
    return not (older.is_past and older.change_at < 0) and (not newer.is_past or newer.is_change)


def _have_opposite_directions(newer: Fact, older: Fact) -> bool:
    """Whether one is about the way to what the other one is about the way from."""
    return any(
        one.direction and other.direction and one.direction != other.direction and _agree(one, other)
        for one in newer.content
        for other in older.content
    )


# --- Numbers, dates, times and identifiers ---------------------------------------------------------------------------


def _has_other_value(newer: Fact, older: Fact) -> bool:
    """Whether both give one topic a number, date, time or identifier, and these differ."""
    pairs = _conflicts(newer, older)
    if len(pairs) != 1 or not _have_one_predicate(newer, older):
        return False
    ((one, other),) = pairs
    if not older.is_value_at(other) or not newer.is_value_at(one):
        return False
    if newer.is_negated_at(one) != older.is_negated_at(other):
        return False
    if not newer.is_change and not _is_single(newer, one):
        return False
    theirs = _topic(older, other)
    missing, extra = _missing(theirs, newer.tokens), _extra(newer, older, one)
    if not missing and not _missing(_topic(newer, one), older.tokens):
        return bool(theirs)
    if extra or not newer.is_change or not theirs:
        return False
    return not missing or _is_about_the_same(newer, older, one, missing)


def _is_single(fact: Fact, value_at: int) -> bool:
    """Whether something has one such value at a time; "a meeting" and what is done on Mondays have several."""
    token = fact.tokens[value_at]
    if token.value is None or token.value.kind not in ("date", "time", "code"):
        return True
    is_indefinite = any(other.is_indefinite for other in _topic(fact, value_at))
    return not (token.is_repeated or is_indefinite or (token.value.kind == "date" and not fact.verb))


def _is_about_the_same(newer: Fact, older: Fact, value_at: int, missing: Sequence[Token]) -> bool:
    """Whether the newer statement, which has fewer words, names the thing whose value changed."""
    named = [token for token in _own_topic(newer, value_at) if not _missing([token], older.tokens)]
    if not named:
        return False
    if newer.change_at >= 0 or newer.has("corrections"):
        return True
    first = next(token for token in older.tokens if token.kind == "content")
    return first not in missing and all(older.tokens.index(token) > older.verb_at for token in missing)


def _conflicts(newer: Fact, older: Fact) -> list[tuple[int, int]]:
    """Return the places of values that cannot both be true."""
    mine, theirs = ({token.key for token in fact.tokens if token.value} for fact in (newer, older))
    return [
        (one, other)
        for one, value in enumerate(newer.tokens)
        for other, former in enumerate(older.tokens)
        if value.value and former.value and value.value.conflicts_with(former.value)
        if former.key not in mine and value.key not in theirs
    ]


def _have_one_predicate(newer: Fact, older: Fact) -> bool:
    """Whether the verbs may give the same attribute; "opens at 9" and "closes at 10" do not."""
    verbs = {newer.verb, older.verb}
    if len(verbs) == 1 or not verbs & _OWN_PREDICATES:
        return True
    return newer.is_change and newer.verb in ("", "be", "do")


def _topic(fact: Fact, value_at: int = -1) -> list[Token]:
    """Return the words of content, and the values that name something, such as the number of a room."""
    return [
        token
        for place, token in enumerate(fact.tokens)
        if token.kind in ("content", "status") or (token.value and place != value_at and not fact.is_value_at(place))
    ]


def _own_topic(fact: Fact, value_at: int) -> list[Token]:
    """Return the topic in the segment of the value, without who changed it and without generic nouns."""
    segment = fact.tokens[value_at].segment
    agent = fact.agent
    return [
        token
        for token in _topic(fact, value_at)
        if token.segment == segment and token not in agent and token.text not in fact.words.generic
    ]


def _extra(newer: Fact, older: Fact, value_at: int) -> list[Token]:
    return _missing(_own_topic(newer, value_at), older.tokens)


# --- Status, and the end of something --------------------------------------------------------------------------------


def _has_other_status(newer: Fact, older: Fact) -> bool:
    """Whether both give one thing a status, and these exclude each other: "waiting" and "resolved"."""
    if _conflicts(newer, older) or _times(newer) != _times(older):
        return False
    mine, theirs = newer.statuses, older.statuses
    places = [
        place
        for family, (name, place) in mine.items()
        if family in theirs and theirs[family][0] != name and (newer.tokens[place].kind != "verb" or newer.has("now"))
    ]
    if not places:
        return False
    topic = [token for token in _topic(older) if token.text not in older.words.status_words]
    named = [token for token in _own_topic(newer, places[0]) if token.text not in newer.words.status_words]
    named += [token for token in newer.tokens if token.value and token not in named and not _missing([token], topic)]
    before = [token for token in topic if older.tokens.index(token) < older.verb_at]
    if not named or _missing(named, older.tokens):
        return False
    return (bool(before) and not _missing(before, newer.tokens)) or any(token.value for token in named)


def _times(fact: Fact) -> set[str]:
    """Return the dates and times of a statement, which limit it."""
    return {token.key for token in fact.tokens if token.value and token.value.kind in ("date", "time")}


def _has_ended(newer: Fact, older: Fact) -> bool:
    """Whether the newer statement says that what the older one says is not so, or not any more."""
    if older.is_negative or older.end_at >= 0 or not _times(newer) <= _times(older):
        return False
    end = newer.end_at
    if end < 0:
        topic, theirs = _topic(newer), _topic(older)
        is_same = bool(topic) and not _missing(topic, older.tokens) and not _missing(theirs, newer.tokens)
        is_same = is_same and _times(newer) == _times(older) and newer.verb == older.verb
        return newer.is_negative and is_same and not newer.statuses
    if newer.is_negative and newer.verb != older.verb:
        return False
    named = _own_topic(newer, end)
    if not named or _missing(named, older.tokens):
        return False
    has_person = 1 in newer.persons and 1 in older.persons
    return len(named) >= ENDED_WORDS_MIN or has_person or len(_topic(older)) == 1


# --- Corrections -----------------------------------------------------------------------------------------------------


def _corrects(newer: Fact, older: Fact) -> bool:
    """Whether the newer statement names the former value and denies it: "the train to Linz, not Graz"."""
    if older.is_negative:
        return False
    denied, rest = newer.contrast
    if not denied or any(_missing([token], older.tokens) and not _is_number_in(token, older) for token in denied):
        return False
    left = [token for token in older.content if not _is_in(token, denied)]
    if _missing([token for token in left if token.kind == "content"], rest):
        return False
    said = [token for token in rest if token.kind in ("content", "value")]
    has_conflict = any(
        token.value and other.value and token.value.conflicts_with(other.value) for token in rest for other in denied
    )
    return has_conflict or 0 < len(_missing(said, older.tokens)) < len(said)


def _is_number_in(token: Token, fact: Fact) -> bool:
    return token.value is not None and any(
        other.value and other.value.kind == "number" and other.value.number == token.value.number
        for other in fact.tokens
    )


# --- Places, roles and names -----------------------------------------------------------------------------------------


def _has_other_place(newer: Fact, older: Fact) -> bool:
    """Whether both say where something is, and the places differ."""
    mine, theirs = newer.placed, older.placed
    if mine is None or theirs is None or newer.is_negative or older.is_negative or not _times(newer) <= _times(older):
        return False
    (topic, place, has_article), (other_topic, other_place, other_article) = mine, theirs
    verbs = {newer.verb, older.verb}
    is_moved = newer.change_at >= 0
    if not is_moved and not verbs & _PLACE_VERBS and not newer.has("now"):
        return False
    if not is_moved and _times(newer) != _times(older):
        return False
    if not is_moved and (len(verbs - {"be"}) > 1 or has_article != other_article or not _are_alike(place, other_place)):
        return False
    if not any(token.kind == "content" for token in place) or not _missing(place, other_place):
        return False
    if not _missing(other_place, place):
        return False
    topic = [token for token in topic if token not in newer.agent or not _missing([token], other_topic)]
    if not topic and not other_topic:
        return (
            1 in newer.persons and 1 in older.persons and older.verb in _PLACE_VERBS and (is_moved or len(verbs) == 1)
        )
    return bool(topic) and not _missing(topic, older.tokens) and not _missing(other_topic, newer.tokens)


def _are_alike(place: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether both places are names or both are things; "in Berlin" and "in marketing" are no rivals."""
    return any(token.is_exact for token in place) == any(token.is_exact for token in other)


def _has_other_name(newer: Fact, older: Fact) -> bool:
    """Whether both name who has a role or what an attribute is, in other words: "The branch is main"."""
    if (
        newer.verb != "be"
        or older.verb != "be"
        or newer.is_negative
        or older.is_negative
        or _times(newer) != _times(older)
    ):
        return False
    mine, theirs = newer.named, older.named
    values = ({token.key for token in fact.tokens if token.value} for fact in (newer, older))
    if mine is None or theirs is None or len({frozenset(keys) for keys in values}) > 1:
        return False
    (topic, name), (other_topic, other_name) = mine, theirs
    is_topic = not _missing(topic, other_topic) and not _missing(other_topic, topic)
    return is_topic and bool(_missing(name, other_name)) and bool(_missing(other_name, name))


def _succeeds(newer: Fact, older: Fact) -> bool:
    """Whether the newer statement says who or what came in the place of something the older one names."""
    at = newer.place_of("replacers")
    if at < 0 or newer.is_negative:
        return False
    former = [token for place, token in enumerate(newer.tokens) if place > at and token.kind == "content"]
    after = [token for place, token in enumerate(newer.tokens) if place < at and token.kind == "content"]
    return bool(after) and any(token.is_name for token in former) and not _missing(former, older.tokens)


def _is_other_choice(newer: Fact, older: Fact) -> bool:
    """Whether both choose something for one purpose, and the choices differ."""
    if newer.verb != "choose" or older.verb != "choose" or not newer.is_change:
        return False
    mine, theirs = newer.purpose, older.purpose
    if not mine or not theirs or _missing(mine, theirs) or _missing(theirs, mine):
        return False
    choice, other = (
        [token for token in _topic(fact) if token not in why] for fact, why in ((newer, mine), (older, theirs))
    )
    return bool(_missing(choice, other)) and bool(_missing(other, choice))


def _is_called_otherwise(newer: Fact, older: Fact) -> bool:
    """Whether both say how to call the speaker."""
    is_call = newer.verb == older.verb == "call" and newer.persons == older.persons and 1 in newer.persons
    mine, theirs = _topic(newer), _topic(older)
    return is_call and newer.is_change and len(mine) == len(theirs) == 1 and bool(_missing(mine, theirs))


def _missing(tokens: Iterable[Token], others: Collection[Token]) -> list[Token]:
    return [token for token in tokens if not _is_in(token, others)]


def _is_in(token: Token, others: Collection[Token]) -> bool:
    return any(_agree(token, other) for other in others)


def _agree(one: Token, other: Token) -> bool:
    if one.key == other.key:
        return True
    short, long = sorted((one.key, other.key), key=len)
    if one.is_exact or other.is_exact or one.value or other.value or len(short) < ROOT_LETTERS_MIN:
        return False
    return long.startswith(short) or (one.is_compound and long.endswith(short))


_RULES = (
    _has_other_value,
    _has_other_status,
    _has_ended,
    _corrects,
    _has_other_place,
    _has_other_name,
    _succeeds,
    _is_other_choice,
    _is_called_otherwise,
)
