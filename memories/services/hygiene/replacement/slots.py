"""Whether two statements differ in one phrase: who has a role, where something is, what is used for something."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memories.services.hygiene.replacement.facts import Fact
from memories.services.hygiene.replacement.phrases import Phrase, clauses_of, phrases_of
from memories.services.hygiene.replacement.tokens import Token
from memories.services.hygiene.replacement.topics import agree, conflicts, is_in, missing_in, times_of
from memories.services.hygiene.statements.vocabulary import SPANISH

#: Verbs whose attribute no other verb gives.
_OWN_PREDICATES = frozenset(["end", "open", "arrive", "leave", "weigh", "cost", "last", "prefer"])
#: Verbs that do not describe an attribute.
_LIGHT_VERBS = frozenset(["", "be", "do"])
#: Verbs of attributes of which a thing has one value.
_SINGLE_VERBS = frozenset(["be", "live", "work", "store", "hold", "sleep", "run", "choose", "prefer", "call"])


#: Verbs whose object a person has only one of.
_OWN_VERBS = frozenset(["live", "work", "sleep", "run"])


class _Comparison(NamedTuple):
    """A clause of the newer statement and the older one: the phrases, and the words of each that the other lacks."""

    newer: Fact
    older: Fact
    clause: int
    mine: Sequence[Phrase]
    theirs: Sequence[Phrase]
    #: All words of the clause.
    words: Sequence[Token]

    @property
    def left(self) -> list[Phrase]:
        """The older statement's phrases that the clause does not contain."""
        known = [self.older.words.cues[name] for name in ("generic", "attributes")]
        named = [p for p in self.theirs if not all(any(word.text in each for each in known) for word in p.words)]
        return [p for p in named if self._missing(p) and not self._is_role(p, self.older)]

    @property
    def new(self) -> list[Phrase]:
        """The clause's phrases that the older statement does not contain, without who changed it."""
        return [p for p in self.mine if missing_in(p.words, self.older.tokens) and not self._is_passed(p)]

    @property
    def kept(self) -> list[Phrase]:
        return [phrase for phrase in self.theirs if not self._missing(phrase)]

    def _missing(self, phrase: Phrase) -> list[Token]:
        """The words that the clause does not contain, without nouns of attributes."""
        known = [self.older.words.cues[name] for name in ("generic", "attributes", "roles")]
        missing = missing_in(phrase.words, self.words)
        is_part = len(missing) < len(phrase.words)
        if is_part and phrase.is_subject and self.newer.has("corrections"):
            return []
        return [word for word in missing if not is_part or not any(word.text in each for each in known)]

    def _is_role(self, phrase: Phrase, fact: Fact) -> bool:
        """Whether it names a role or task that a person takes over."""
        known = [fact.words.cues[name] for name in ("roles", "holders", "takeovers")]
        is_role = any(phrase.words[-1].text in each for each in known)
        return self.newer.has("takeovers") and is_role

    def _is_passed(self, phrase: Phrase) -> bool:
        is_status = all(word.text in self.newer.words.completions for word in phrase.words)
        first = next((each.at for each in self.mine if each.is_subject), 0)
        is_opening = bool(phrase.marker) and phrase.at < first and not phrase.is_name
        return is_opening or is_status or self._is_agent(phrase) or self._is_role(phrase, self.newer)

    def _is_agent(self, phrase: Phrase) -> bool:
        """Whether it names the person who changed something: the subject of a verb of change that has an object."""
        has_object = any(not each.marker and not each.is_subject for each in self.mine)
        return self.newer.change_at >= 0 and phrase.is_subject and not phrase.is_name and has_object

    @property
    def has_rivals(self) -> bool:
        """Whether two phrases share some words but not all: "the first team" and "the second team"."""
        return any(not one.is_same(other) and one.has_part_of(other) for one in self.new for other in self.left)


def _comparisons(newer: Fact, older: Fact) -> Iterator[_Comparison]:
    mine, theirs = phrases_of(newer), phrases_of(older)
    numbers = clauses_of(newer)
    for clause in dict.fromkeys(numbers[:-1]):
        here = [phrase for phrase in mine if phrase.clause == clause]
        words = [token for token, number in zip(newer.tokens, numbers, strict=False) if number == clause]
        yield _Comparison(newer, older, clause, here, theirs, words)
        if newer.context or len(set(numbers[:-1])) > 1:
            yield _Comparison(newer, older, clause, here, theirs, newer.context or newer.tokens)


def has_other_phrase(newer: Fact, older: Fact) -> bool:
    """Whether the newer statement reports a change, and both agree except for one phrase of one kind."""
    if newer.is_negative or older.is_negative or newer.end_at >= 0 or older.change_at >= 0 or conflicts(newer, older):
        return False
    is_change = newer.is_change or newer.has("takeovers")
    if not is_change or not _ordinals(newer) <= _ordinals(older) or not times_of(newer) <= times_of(older):
        return False
    return any(_differs_in_one(each) for each in _comparisons(newer, older))


def _ordinals(fact: Fact) -> set[str]:
    return {token.key for token in fact.tokens if token.value and token.value.kind == "ordinal"}


def _differs_in_one(each: _Comparison) -> bool:
    left, new, kept = each.left, each.new, each.kept
    if len(left) != 1 or len(new) != 1:
        return False
    ((old,), (other,)) = left, new
    if any(other.has_part_of(phrase) for phrase in kept) or (
        not kept and not _has_one_speaker_and_act(each.newer, each.older)
    ):
        return False
    if old.is_subject or other.is_subject:
        return _has_other_holder(each, old, other)
    is_held = each.newer.verb == "hold" and {old.marker, other.marker} <= each.newer.words.places.words
    return (is_held or old.is_name == other.is_name) and _is_slot(each, old, other)


def _has_one_speaker_and_act(newer: Fact, older: Fact) -> bool:
    """Whether both state only where the speaker does something: "we now train in the park"."""
    mine, theirs = (
        [
            token
            for place, token in enumerate(fact.tokens)
            if place in fact.actions or fact.words.verbs.get(token.text) in _OWN_VERBS
        ]
        for fact in (newer, older)
    )
    is_own = newer.persons == older.persons and (1 in newer.persons or newer.language is SPANISH)
    return is_own and any(is_in(token, theirs) for token in mine)


def _is_slot(each: _Comparison, old: Phrase, new: Phrase) -> bool:
    newer, older = each.newer, each.older
    places = newer.words.places
    is_of_thing = any(not phrase.is_name for phrase in each.kept)
    if new.marker in newer.words.targets and newer.change_at >= 0:
        is_object = not old.marker and older.verb in _SINGLE_VERBS and is_of_thing
        return is_object or old.marker in places
    if is_of_thing and ({newer.verb, older.verb} & {"run"} or (old.is_name and older.verb == "be" and not old.marker)):
        return all(not phrase.marker or phrase.marker in places for phrase in (old, new))
    if not old.marker and not new.marker and not {newer.verb, older.verb} <= _SINGLE_VERBS:
        return False
    is_one_noun = (
        agree(old.words[-1], new.words[-1]) and {old.marker, new.marker} <= places.words | newer.words.targets.words
    )
    is_marked = (
        is_one_noun or old.marker == new.marker or (bool(older.verb) and {old.marker, new.marker} <= places.words)
    )
    return is_marked and _have_one_verb(newer, older)


def _have_one_verb(newer: Fact, older: Fact) -> bool:
    mine, theirs = ([fact.tokens[place] for place in fact.actions] for fact in (newer, older))
    if mine and theirs:
        return any(is_in(token, theirs) for token in mine)
    verbs = {fact.verb for fact in (newer, older) if fact.verb not in _LIGHT_VERBS | {"have", "store"}}
    return len(verbs) + bool(mine) + bool(theirs) <= 1


def _has_other_holder(each: _Comparison, old: Phrase, new: Phrase) -> bool:
    """Return whether another person has the role or task."""
    newer, older = each.newer, each.older
    if not (old.is_subject or old.is_name) or not (new.is_subject or new.is_name):
        return False
    if newer.has("renewals") and newer.verb == older.verb == "be":
        return True
    is_role = older.has("holders") or older.has("roles")
    return is_role and (
        newer.has("takeovers") or newer.has("holders") or newer.has("roles") or _have_one_verb(newer, older)
    )


# --- Values, ends, and what is given up ------------------------------------------------------------------------------


def has_other_amount(newer: Fact, older: Fact) -> bool:
    """Whether the newer statement reports a change, and both agree except for one value of one kind."""
    pairs = conflicts(newer, older)
    kinds = [value.kind for at, _ in pairs if (value := newer.tokens[at].value)]
    if not kinds or len(kinds) != len(set(kinds)) or (len(kinds) > 1 and not set(kinds) <= {"date", "time"}):
        return False
    if not newer.is_change or newer.is_negative or older.is_negative or not have_one_predicate(newer, older):
        return False
    at, former_at = pairs[0]
    if not older.is_value_at(former_at) or {newer.bound_at(at), older.bound_at(former_at)} == {"lower", "upper"}:
        return False
    clause = clauses_of(newer)[at]
    return any(
        not each.new and each.kept and not any(p.is_name or p.is_subject for p in each.left)
        for each in _comparisons(newer, older)
        if each.clause == clause
    )


def have_one_predicate(newer: Fact, older: Fact) -> bool:
    """Whether the verbs may give the same attribute; "opens at 9" and "closes at 10" do not."""
    verbs = {newer.verb, older.verb}
    if len(verbs) == 1 or not verbs & _OWN_PREDICATES:
        return True
    return newer.is_change and newer.verb in ("", "be", "do")


def has_ended(newer: Fact, older: Fact) -> bool:
    """Return whether a clause states that the older statement no longer applies."""
    at = newer.end_at
    if at < 0 or older.is_negative or older.end_at >= 0:
        return False
    clause = clauses_of(newer)[at]
    for each in _comparisons(newer, older):
        times = {token.key for token in each.words if token.text in newer.words.times or token.value}
        if each.clause != clause or not times <= {token.key for token in older.tokens}:
            continue
        acts = [newer.tokens[place] for place in newer.actions if newer.tokens[place] in each.words]
        theirs = [older.tokens[place] for place in older.actions]
        is_same_act = not acts or not theirs or any(is_in(token, theirs) for token in acts)
        if each.mine and not each.new and is_same_act and _has_subject_of(each):
            return True
    return False


def _has_subject_of(each: _Comparison) -> bool:
    """Whether a name that is the older statement's subject occurs in the clause, or the speaker is both subjects."""
    subjects = [phrase for phrase in each.theirs if phrase.is_subject]
    if any(phrase not in each.kept for phrase in subjects):
        return False
    return bool(subjects) or (1 in each.newer.persons) == (1 in each.older.persons)


def gives_up(newer: Fact, older: Fact) -> bool:
    """Whether the newer statement exchanges a phrase of the older one for another: "from Virgin to Zen"."""
    denied, rest = newer.contrast
    if not denied or older.is_negative or older.is_past:
        return False
    if missing_in(denied, older.tokens) or conflicts(newer, older):
        return False
    for each in _comparisons(newer, older):
        new = [phrase for phrase in each.new if phrase.words[0] in rest]
        kept = [phrase for phrase in each.kept if missing_in(phrase.words, denied)]
        if (
            len(new) == 1
            and not each.has_rivals
            and (kept or (newer.change_at >= 0 and {1} & newer.persons & older.persons))
        ):
            return all(not phrase.is_name for phrase in each.left)
    return False


def is_completed(newer: Fact, older: Fact) -> bool:
    """Whether something is done that the older statement says is under way."""
    if (
        not newer.has("completions")
        or older.has("completions")
        or newer.is_negative
        or older.is_negative
        or conflicts(newer, older)
    ):
        return False
    if older.is_past or not times_of(newer) <= times_of(older):
        return False
    for each in _comparisons(newer, older):
        is_open = older.has("still") or not each.left or bool(older.statuses)
        named = [p for p in each.mine if any(word.text not in newer.words.completions for word in p.words)]
        more = [p for p in each.new if not p.marker or p.is_name or any(other.marker for other in each.left)]
        if is_open and named and not more and not each.has_rivals and not any(phrase.is_name for phrase in each.left):
            return True
    return False


def swaps(newer: Fact, older: Fact) -> bool:
    """Whether the newer statement exchanges a thing of the older one for another: "the Fiat for a Renault"."""
    is_handed = newer.has("handovers")
    if not (newer.has("swaps") or is_handed) or older.is_negative or older.is_past:
        return False
    for each in _comparisons(newer, older):
        is_given = any(not p.marker and not p.is_subject and not missing_in(p.words, older.tokens) for p in each.mine)
        is_target = len(each.new) == 1 and (
            each.new[0].marker in newer.words.swap_targets or (is_handed and each.new[0].is_name)
        )
        if is_given and is_target and not each.left:
            return True
    return False


def is_resumed(newer: Fact, older: Fact) -> bool:
    """Return whether something that the older statement denies is true again."""
    if not newer.has("resumptions") or newer.is_negative or not older.is_negative or times_of(newer) != times_of(older):
        return False
    return any(each.mine and not each.new and not each.left for each in _comparisons(newer, older))
