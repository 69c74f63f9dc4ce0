"""The topic of a fact, and what two facts share or contradict."""

import re
from collections.abc import Collection, Iterable

from memories.services.hygiene.replacement.facts import Fact
from memories.services.hygiene.replacement.tokens import Token

#: Letters from which a word may be the beginning or end of a longer one: "render" and "rendering".
ROOT_LETTERS_MIN = 4
#: Minimum letters of a root for words with other endings to count as its forms: "insured" and "insurance".
DERIVED_LETTERS_MIN = 4
#: English endings, as in "smokes" and "smoking".
_INFLECTION = re.compile(r"(?:ing|ed|es|e|s)$")
#: Endings of words of one root, as in "rehearse" and "rehearsal", "leitet" and "Leitung", "reservo" and "reserva".
_DERIVATION = re.compile(
    r"(?:|e|s|es|ed|ing|al|als|er|ers|or|ors|ance|ence|ment|ion|ations?|y|ies|t|te|en|et|ung|ungen|erin|o|a|as|os|an"
    r"|ar|er|ir|io|amos|emos|imos|ado|ada|ido|ida|acion|cion)"
)


def conflicts(newer: Fact, older: Fact) -> list[tuple[int, int]]:
    """Return the places of values that cannot both be true."""
    mine, theirs = ({token.key for _, token in fact.values} for fact in (newer, older))
    return [
        (one, other)
        for one, value in newer.values
        for other, former in older.values
        if value.value and former.value and value.value.conflicts_with(former.value)
        if former.key not in mine and value.key not in theirs
    ]


def topic_of(fact: Fact, value_at: int = -1) -> list[Token]:
    """Return the content words and the values that name something, such as the number of a room."""
    return [
        token
        for place, token in enumerate(fact.tokens)
        if token.kind in ("content", "status") or (token.value and place != value_at and not fact.is_value_at(place))
    ]


def own_topic(fact: Fact, value_at: int) -> list[Token]:
    """Return the topic in the segment of the value, without who changed it and without generic nouns."""
    segment = fact.tokens[value_at].segment
    agent = fact.agent
    return [
        token
        for token in topic_of(fact, value_at)
        if token.segment == segment and token not in agent and token.text not in fact.words.generic
    ]


def times_of(fact: Fact) -> set[str]:
    """Return the dates and times of a statement, which limit it."""
    return {token.key for token in fact.tokens if token.value and token.value.kind in ("date", "time")}


def missing_in(tokens: Iterable[Token], others: Collection[Token]) -> list[Token]:
    """Return the tokens with which none of the others agrees."""
    return [token for token in tokens if not is_in(token, others)]


def is_in(token: Token, others: Collection[Token]) -> bool:
    """Whether one of the others agrees with the token."""
    return any(agree(token, other) for other in others)


def agree(one: Token, other: Token) -> bool:
    """Whether two words are forms or parts of one word; names keep every letter."""
    if one.key == other.key:
        return True
    if one.is_exact or other.is_exact or one.value or other.value:
        return False
    if one.key[:1] != other.key[:1] and not (one.parts or other.parts or one.is_compound):
        return False  # most pairs: forms of one word begin alike
    short, long = sorted((one.key, other.key), key=len)
    if len(short) < ROOT_LETTERS_MIN:
        return False
    if short in one.parts + other.parts or long.startswith(short) or (one.is_compound and long.endswith(short)):
        return True
    size = next((at for at, letters in enumerate(zip(short, long, strict=False)) if len({*letters}) > 1), len(short))
    if size >= DERIVED_LETTERS_MIN and all(_DERIVATION.fullmatch(key[size:]) for key in (short, long)):
        return {short[size:].rstrip("s"), long[size:].rstrip("s")} != {"a", "o"}  # "hermano" and "hermana"
    roots = {_INFLECTION.sub("", key) for key in (short, long)}
    return len(roots) == 1 and len(min(roots)) >= ROOT_LETTERS_MIN and not one.is_compound
