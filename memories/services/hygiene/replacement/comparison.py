"""Whether a statement replaces an earlier one (ADR-0103)."""

from collections.abc import Iterable, Sequence

from memories.services.hygiene.replacement.facts import Fact, Token, read_fact

#: Letters from which a word may be the beginning or end of a longer one: "render" and "rendering".
_ROOT_LETTERS_MIN = 4
#: Verbs whose attribute no other verb gives.
_OWN_PREDICATES = frozenset(["end", "open", "arrive", "leave", "weigh", "cost", "last", "prefer"])


def replaces(newer: str, older: str) -> bool:
    """Whether `newer` gives the attribute that `older` states another value; False where that is unsure."""
    one, other = read_fact(newer), read_fact(older)
    if one is None or other is None or not _are_comparable(one, other):
        return False
    return _has_other_value(one, other)


def _are_comparable(newer: Fact, older: Fact) -> bool:
    if newer.language is not older.language or not newer.is_asserted or not older.is_asserted:
        return False
    if newer.has("comparisons") or newer.has("additions"):
        return False
    if newer.speaker != older.speaker and ({1, 2} & (newer.persons | older.persons)):
        return False
    if newer.persons and older.persons and not newer.persons & older.persons:
        return False
    return not (newer.is_past or older.is_past) or newer.is_change


def _has_other_value(newer: Fact, older: Fact) -> bool:
    """Whether the same words stand with another number, date, time or identifier."""
    held = {token.key for token in newer.tokens if token.value}
    pairs = [
        (one, other)
        for one, mine in enumerate(newer.tokens)
        for other, theirs in enumerate(older.tokens)
        if mine.value and theirs.value and mine.value.conflicts_with(theirs.value) and theirs.key not in held
    ]
    if len(pairs) != 1 or not _have_one_predicate(newer, older):
        return False
    ((one, other),) = pairs
    if not older.is_value_at(other) or not newer.is_value_at(one):
        return False
    if newer.tokens[one].is_repeated and older.tokens[other].is_repeated and not newer.is_change:
        return False
    mine = _topic(newer, one)
    return bool(mine) and not _missing(mine, older.tokens) and not _missing(_topic(older, other), newer.tokens)


def _have_one_predicate(newer: Fact, older: Fact) -> bool:
    """Whether the verbs may give the same attribute; "opens at 9" and "closes at 10" do not."""
    verbs = {newer.verb, older.verb}
    return len(verbs) == 1 or not verbs & _OWN_PREDICATES or newer.is_change


def _topic(fact: Fact, value_at: int) -> list[Token]:
    return [
        token
        for place, token in enumerate(fact.tokens)
        if token.kind == "content" or (token.kind == "value" and place < fact.verb_at and place != value_at)
    ]


def _missing(tokens: Iterable[Token], others: Sequence[Token]) -> list[Token]:
    return [token for token in tokens if not any(_agree(token, other) for other in others)]


def _agree(one: Token, other: Token) -> bool:
    if one.key == other.key:
        return True
    short, long = sorted((one.key, other.key), key=len)
    if one.is_name or other.is_name or one.value or other.value or len(short) < _ROOT_LETTERS_MIN:
        return False
    return long.startswith(short) or long.endswith(short)
