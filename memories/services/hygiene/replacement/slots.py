"""Whether two statements differ in one phrase: who has a role, where something is, what is used for something."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memories.services.hygiene.replacement.facts import Fact
from memories.services.hygiene.replacement.phrases import Phrase, phrases_of
from memories.services.hygiene.replacement.tokens import Token
from memories.services.hygiene.replacement.topics import is_in, missing_in, times_of

#: Verbs that say nothing about an attribute.
_LIGHT_VERBS = frozenset(["", "be", "do"])
#: Verbs of attributes of which a thing has one value.
_SINGLE_VERBS = frozenset(["be", "live", "work", "store", "hold", "sleep", "run", "choose", "prefer", "call"])


class _Pair(NamedTuple):
    newer: Fact
    older: Fact


def has_other_phrase(newer: Fact, older: Fact) -> bool:
    """Whether the newer statement says that something changed, and both agree but for one phrase of one kind."""
    if not newer.is_change or newer.is_negative or older.is_negative or older.change_at >= 0:
        return False
    if not times_of(newer) <= times_of(older):
        return False
    mine, theirs = phrases_of(newer), phrases_of(older)
    clauses = {phrase.clause for phrase in mine}
    return any(
        _is_replaced(newer, older, [phrase for phrase in mine if phrase.clause == clause], theirs)
        for clause in clauses
    )


def _is_replaced(newer: Fact, older: Fact, mine: Sequence[Phrase], theirs: Sequence[Phrase]) -> bool:
    left = [phrase for phrase in theirs if _missing(phrase, newer.tokens)]
    new = [phrase for phrase in mine if _missing(phrase, older.tokens)]
    new = [phrase for phrase in new if not _is_agent(newer, phrase)]
    if len(left) != 1 or len(new) != 1:
        return False
    (value,), (other,) = left, new
    kept = [phrase for phrase in theirs if phrase is not value]
    shared = [token for phrase in mine if phrase is not other for token in phrase.words]
    return (
        bool(kept)
        and any(not missing_in(phrase.words, shared) for phrase in kept)
        and _are_one_kind(value, other)
        and _is_slot(newer, older, other, value)
    )


def _missing(phrase: Phrase, tokens: Iterable[Token]) -> list[Token]:
    return missing_in(phrase.words, list(tokens))


def _is_agent(newer: Fact, phrase: Phrase) -> bool:
    """Whether it is who changed something."""
    return bool(newer.agent) and all(word in newer.agent for word in phrase.words) and not phrase.is_name


def _are_one_kind(one: Phrase, other: Phrase) -> bool:
    return one.is_name == other.is_name


def _is_slot(newer: Fact, older: Fact, new: Phrase, old: Phrase) -> bool:
    if old.is_subject or new.is_subject:
        return _are_holders(newer, older, new, old)
    is_target = new.marker in newer.words.targets and newer.change_at >= 0
    if is_target:
        return old.marker in older.words.places or (not old.marker and older.verb in _SINGLE_VERBS)
    return _have_one_verb(newer, older) and old.marker == new.marker


def _have_one_verb(newer: Fact, older: Fact) -> bool:
    if newer.verb != older.verb and not {newer.verb, older.verb} & _LIGHT_VERBS:
        return False
    mine, theirs = ([fact.tokens[place] for place in fact.actions] for fact in (newer, older))
    if mine and theirs:
        return any(is_in(token, theirs) for token in mine)
    return newer.verb in _SINGLE_VERBS


def _are_holders(newer: Fact, older: Fact, new: Phrase, old: Phrase) -> bool:
    """Whether both have one role."""
    return False
