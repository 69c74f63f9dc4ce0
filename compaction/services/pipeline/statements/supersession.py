"""Statements that a later one of the same conversation replaces (ADR-0102)."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

from compaction.services.pipeline.statements.languages import CUE_LANGUAGES, Language, language_of, load_language
from compaction.services.pipeline.statements.model import PART_DISTANCE_MAX, ReplacedStatement, Statement, StatementKind
from compaction.services.pipeline.statements.rarity import stem, word_weights
from memories.services.hygiene.replacement import replaces
from memories.services.hygiene.replacement.reading import read_fact
from memories.services.hygiene.replacement.values import Value

#: The rarest words of a statement by which earlier ones are found, how many of each, and how many by recency.
STEMS_COMPARED_MAX, COMPARED_PER_STEM_MAX, RECENT_MAX, DECIDED_MAX = 5, 8, 10, 16
#: What two statements must have in common, in the rarity of their words within the conversation.
SHARED_MIN = 1.0
#: Words of a short conversation are as rare as in one of so many statements.
STATEMENTS_MIN = 40
#: How many statements after a mistake it may be corrected without naming another value.
MISTAKE_DISTANCE_MAX = 6
#: Others than the nearest are replaced too when they share almost as much with the newer one.
NEAREST_SHARE_MIN = 0.75
#: What a value that conflicts, and a word that is given up, count beside shared words.
CONFLICT_SCORE, DROPPED_SCORE, REVERTED_SCORE = 10.0, 20.0, 100.0
#: What another date counts for a decision that shares no word with the one that moves it.
MOVED_SCORE = 5.0
#: What a task and the report that it is done have in common, at least.
COMPLETED_SHARED_MIN = 1.5
#: A statement with so many of the values that were replaced repeats the statement that had them.
ECHOED_VALUES_MIN = 2

#: A statement repeats another one that has so much of its words.
REPEATED_SHARE_MIN = 0.6

_REPLACEABLE = frozenset(StatementKind) - {StatementKind.QUOTED, StatementKind.QUESTION}
#: Kinds that a person gives up by naming a word of them, or by "scrap that".
_SETTLED = frozenset(
    {StatementKind.DECISION, StatementKind.CORRECTION, StatementKind.COMMITMENT, StatementKind.INSTRUCTION}
)
_DECIDED = frozenset({StatementKind.DECISION, StatementKind.CORRECTION})
_MOVABLE = _DECIDED | {StatementKind.STATE}
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_CLAUSE = re.compile(r"[,;:.!?–—](?=\s|$)")
_HOURS = frozenset({"am", "pm", "uhr"})
#: Words of content that a clause may have beyond those of the clause that it states anew.
WORDS_MORE_MAX = 2
#: A resolved date.
_BRACKET = re.compile(r" \([^()]*\d{4}\)")
_WORD = re.compile(r"\w+(?:-\w+)*")


def drop_replaced(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements in order without those that a later one replaced; the later ones list them."""
    return _Conversation(statements).current()


@dataclass(frozen=True)
class _Change:
    """What a statement says about earlier ones.

    `dropped` are words that it gives up ("scrap Postgres"); `retracts`: it takes the last decision back ("scrap that");
    `corrects`: it names a mistake ("I meant"); `reverts`: something holds again; `moves`: a date changes; `changes`: it
    says that something is different now; `completes`: a task is done.
    """

    dropped: frozenset[str]
    retracts: bool
    corrects: bool
    reverts: bool
    moves: bool
    changes: bool
    completes: bool


def is_said_done(text: str) -> bool:
    """Return whether the sentence says that a task is done."""
    lower = text.lower().replace("’", "'")
    pattern = language_of(lower, load_language("en")).pattern("done")
    return pattern is not None and pattern.search(lower) is not None


class _Conversation:
    """Statements in order, and by which later one each is replaced."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self._statements = statements
        self._stems = [frozenset(word_weights(statement.body)) for statement in statements]
        counts = Counter(one for several in self._stems for one in several)
        size = max(len(statements), STATEMENTS_MIN) + 1
        self._rarity = {one: math.log(size / count) for one, count in counts.items()}
        self._by_stem: defaultdict[str, list[int]] = defaultdict(list)
        self._decided: list[int] = []
        self._replaced: dict[int, int] = {}

    def current(self) -> list[Statement]:
        """Return the statements that hold at the end."""
        for number, statement in enumerate(self._statements):
            if statement.kind in _REPLACEABLE:
                for other in self._outdated(number):
                    self._replaced[other] = number
            for one in self._stems[number]:
                self._by_stem[one].append(number)
            if statement.kind in _DECIDED:
                self._decided.append(number)
        self._drop_outdated_runs()
        former: defaultdict[int, list[ReplacedStatement]] = defaultdict(list)
        for number in sorted(self._replaced):
            old = self._statements[number]
            former[self._replaced[number]] += [
                *old.replaces,
                *former[number],
                ReplacedStatement(old.text, old.message_ids),
            ]
        return [
            replace(statement, replaces=(*statement.replaces, *former[number])) if number in former else statement
            for number, statement in enumerate(self._statements)
            if number not in self._replaced
        ]

    def _drop_outdated_runs(self) -> None:
        """Drop runs that take along a sentence that was replaced, unless their claim binds."""
        for old, by in list(self._replaced.items()):
            for number in range(old + 1, min(old + 1 + PART_DISTANCE_MAX, len(self._statements))):
                run = self._statements[number]
                if number in self._replaced or number == by or run.kind == StatementKind.CONSTRAINT:
                    continue
                if run.contains(self._statements[old]):
                    self._replaced[number] = by

    def _outdated(self, number: int) -> list[int]:
        statement = self._statements[number]
        change = _read_change(statement)
        if statement.kind != StatementKind.CORRECTION:
            near = self._near(number)
            found = [other for other in near if self._states_anew(statement, self._statements[other])]
            found += [other for other in near if change.completes and self._is_completed(number, other)]
            if change.changes and not found:
                scores = {other: self._shared(number, other) for other in near if self._is_changed(number, other)}
                found = _nearest(scores, SHARED_MIN)
            return [*dict.fromkeys(found), *self._echoes(number, found)]
        if change.retracts and not change.dropped:
            found = self._last_settled(number)
        else:
            scores = {
                other: self._score(number, other, change) for other in {*self._near(number), *self._recent(number)}
            }
            found = _nearest(scores, REVERTED_SCORE) or _nearest(scores, CONFLICT_SCORE)
            found = found or sorted((other for other in scores if scores[other]), key=lambda one: -scores[one])[:1]
        return [*found, *self._echoes(number, found)]

    def _states_anew(self, statement: Statement, older: Statement) -> bool:
        """Whether it gives what an earlier statement is about another value, without saying that it changed."""
        claims = [f"{one.lead} {one.focus}".strip() for one in (statement, older)]
        if replaces(*claims):
            return True
        if statement.kind not in _SETTLED or older.kind not in _SETTLED:
            return False
        return bool(conflicting_values(*claims)) and _is_same_clause(statement.focus, older.focus)

    def _is_changed(self, number: int, other: int) -> bool:
        """Whether an earlier statement of a person has another value where this one says what holds now."""
        return bool(conflicting_values(self._claim(number), self._claim(other)))

    def _is_completed(self, number: int, other: int) -> bool:
        """Whether an earlier statement is the task that this one reports as done."""
        older = self._statements[other]
        return older.kind == StatementKind.COMMITMENT and self._shared(number, other) >= COMPLETED_SHARED_MIN

    def _claim(self, number: int) -> str:
        """The label and what the statement states, without the sentences that it takes along."""
        statement = self._statements[number]
        return f"{statement.lead} {statement.focus}".strip()

    def _near(self, number: int) -> list[int]:
        """Earlier statements with a rare word in common, the nearest of each word."""
        rarest = sorted(self._stems[number], key=lambda one: (-self._rarity[one], one))
        shared = [one for one in rarest if one in self._by_stem][:STEMS_COMPARED_MAX]
        near = {other for one in shared for other in self._by_stem[one][-COMPARED_PER_STEM_MAX:]}
        return sorted(other for other in near if self._is_open(number, other))

    def _recent(self, number: int) -> Iterator[int]:
        """The last statements, and the last decisions before them."""
        recent = {*range(max(number - RECENT_MAX, 0), number), *self._decided[-DECIDED_MAX:]}
        return (other for other in recent if self._is_open(number, other))

    def _is_open(self, number: int, other: int) -> bool:
        statement, older = self._statements[number], self._statements[other]
        if other in self._replaced or older.kind not in _REPLACEABLE or older.is_edited:
            return False
        return not set(older.message_ids) & set(statement.message_ids)

    def _shared(self, number: int, other: int) -> float:
        both = self._stems[number] & self._stems[other]
        return sum(self._rarity[one] for one in both if not any(map(str.isdigit, one)) and one not in _day_stems())

    def _score(self, number: int, other: int, change: _Change) -> float:
        """How much an earlier statement has to do with a correction, 0 for nothing that it could replace."""
        statement, older = self._statements[number], self._statements[other]
        shared = self._shared(number, other)
        if change.dropped & _words(older.focus) and older.kind in _SETTLED:
            return shared + DROPPED_SCORE
        stale = conflicting_values(self._claim(number), self._claim(other))
        if not stale:
            is_own = older.subject == statement.subject and number - other <= MISTAKE_DISTANCE_MAX
            is_mistake = change.corrects and is_own and shared >= SHARED_MIN and older.kind != StatementKind.CONSTRAINT
            return 1 / (number - other) if is_mistake else 0.0
        if change.reverts and older.kind == StatementKind.CORRECTION:
            return shared + REVERTED_SCORE
        if shared >= SHARED_MIN or any(one.startswith("--") for one in stale):
            return shared + CONFLICT_SCORE
        has_same_days = bool(self._stems[number] & self._stems[other] & _day_stems())
        return MOVED_SCORE if change.moves and has_same_days and older.kind in _MOVABLE else 0.0

    def _echoes(self, number: int, outdated: Sequence[int]) -> list[int]:
        """Earlier statements that repeat what was replaced: its value about the same, or most of its words."""
        echoes = set[int]()
        for old in outdated:
            stale = conflicting_values(self._claim(number), self._claim(old))
            for other in {*self._near(old), *self._beside(number, old)}:
                shared = self._shared(old, other)
                repeats = stale & {value.text for value in _values(self._statements[other].text)}
                is_new = stale and not conflicting_values(self._claim(number), self._claim(other))
                is_beside = len(repeats) >= ECHOED_VALUES_MIN or (
                    bool(repeats) and self._statements[old].message_ids[-1] in self._statements[other].message_ids
                )
                if other in outdated or is_new or (shared < SHARED_MIN and not is_beside):
                    continue
                if repeats or self._is_repeated(old, other):
                    echoes.add(other)
        return sorted(echoes)

    def _beside(self, number: int, old: int) -> Iterator[int]:
        """The statements around an earlier one, which may be about the same messages."""
        around = range(max(old - RECENT_MAX, 0), min(old + RECENT_MAX, number))
        return (other for other in around if other != old and self._is_open(number, other))

    def _is_repeated(self, old: int, other: int) -> bool:
        said = self._stems[old] - _day_stems()
        return bool(said) and len(said & self._stems[other]) >= REPEATED_SHARE_MIN * len(said)

    def _last_settled(self, number: int) -> list[int]:
        statement = self._statements[number]
        own = (
            other
            for other in sorted(self._recent(number), reverse=True)
            if self._statements[other].subject == statement.subject and self._statements[other].kind in _SETTLED
        )
        return list(islice(own, 1))


def _is_same_clause(newer: str, older: str) -> bool:
    """Whether a clause about the time of something says the same but for the time and a few words more."""
    clauses = [_topic(clause) for clause in _CLAUSE.split(newer) if _has_time(clause)]
    former = [_topic(clause) for clause in _CLAUSE.split(older) if _has_time(clause)]
    return any(old and old <= new and len(new - old) <= WORDS_MORE_MAX for old in former for new in clauses)


def _has_time(clause: str) -> bool:
    return any(value.kind in ("time", "date") for value in _values(clause))


def _topic(clause: str) -> frozenset[str]:
    stems = frozenset(one for one in word_weights(clause) if not any(map(str.isdigit, one)))
    return stems - _day_stems() - _HOURS


def conflicting_values(newer: str, older: str) -> frozenset[str]:
    """Return the values of `older` in whose place `newer` has others of their kind and unit."""
    mine, theirs = _values(newer), _values(older)
    said = {value.text for value in theirs}
    new = [value for value in mine if value.text not in said]
    kept = {value.text for value in mine}
    return frozenset(old.text for old in theirs if old.text not in kept and any(_conflict(one, old) for one in new))


def _conflict(one: Value, other: Value) -> bool:
    """Whether both are values of one kind; numbers only with the same unit, identifiers only of the same form."""
    if "option" in (one.kind, other.kind):
        return one.kind == other.kind
    if one.kind == "number" and (not one.unit or one.unit != other.unit):
        return False
    if one.kind == "code" and one.unit == "code":
        return False
    return one.kind == other.kind and one.conflicts_with(other)


def _values(text: str) -> list[Value]:
    fact = read_fact(_BRACKET.sub("", text))
    found = [token.value for token in fact.tokens if token.value is not None] if fact else []
    return [*found, *(Value("option", option, "option") for option in _OPTION.findall(text))]


def _read_change(statement: Statement) -> _Change:
    text = statement.focus.lower().replace("’", "'")
    language: Language = language_of(text, load_language("en"))

    def has(field: str) -> bool:
        pattern = language.pattern(field)
        return pattern is not None and pattern.search(text) is not None

    dropped = language.pattern("dropped")
    words = (word for found in (dropped.finditer(text) if dropped else ()) for word in found.groups() if word)
    return _Change(
        frozenset(stem(word) for word in words) - _day_stems(),
        retracts=has("retracted"),
        corrects=has("mistaken"),
        reverts=has("reverted"),
        moves=has("moved"),
        changes=has("changed"),
        completes=has("done"),
    )


def _nearest(scores: Mapping[int, float], score_min: float) -> list[int]:
    """The statements with about the best score, when that is high enough."""
    best = max(scores.values(), default=0.0)
    return [other for other, score in scores.items() if best >= score_min and score >= best * NEAREST_SHARE_MIN]


@cache
def _day_stems() -> frozenset[str]:
    """The stems of the names of days and months, which say nothing about what happens then."""
    return frozenset(stem(word) for name in CUE_LANGUAGES for word in load_language(name).words("days"))


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(text.lower()))
