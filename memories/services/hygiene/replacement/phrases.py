"""The noun phrases of a statement, each with its preposition and whether it is the subject of its clause."""

from collections.abc import Iterator
from typing import NamedTuple

from memories.services.hygiene.replacement.facts import Fact
from memories.services.hygiene.replacement.tokens import Token
from memories.services.hygiene.replacement.topics import missing_in

#: Words after "and" within which a verb makes it the beginning of a clause.
_CLAUSE_WORDS = 4


class Phrase(NamedTuple):
    """Adjacent words of content; `marker` is the preposition before them, and `clause` numbers their clause."""

    words: list[Token]
    at: int
    clause: int
    marker: str
    is_subject: bool
    has_article: bool

    @property
    def is_name(self) -> bool:
        """Whether it names one thing; in German, where all nouns are capitalised, a name has no article."""
        head = self.words[-1]
        if head.is_compound:
            return not self.has_article and head.raw[:1].isupper()
        return head.is_name or (head.value is not None and head.value.kind == "code")

    def is_same(self, other: "Phrase") -> bool:
        return not missing_in(self.words, other.words) and not missing_in(other.words, self.words)

    def has_part_of(self, other: "Phrase") -> bool:
        return len(missing_in(self.words, other.words)) < len(self.words)


def phrases_of(fact: Fact) -> list[Phrase]:
    """Return the phrases without times, reasons and verbs."""
    return [phrase for phrase in _phrases(fact) if not _is_circumstance(fact, phrase)]


def _phrases(fact: Fact) -> Iterator[Phrase]:
    clauses = clauses_of(fact)
    joints = {"'s"} if fact.words.has_verb_last else {"'s", *fact.words.genitives.words}  # of a genitive
    words: list[Token] = []
    at = 0
    for place, token in enumerate([*fact.tokens, None]):
        is_word = token is not None and _is_word(fact, place)
        if words and (not is_word or clauses[place] != clauses[at]):
            if token is not None and fact.texts[place] in joints and clauses[place] == clauses[at]:
                continue
            yield _phrase(fact, words, at, clauses)
            words = []
        if is_word and token is not None:
            at = at if words else place
            words.append(token)


def _is_word(fact: Fact, place: int) -> bool:
    token = fact.tokens[place]
    if token.value is not None:
        return token.value.kind == "code"
    return token.kind in ("content", "status", "unit") and place not in fact.actions


def _phrase(fact: Fact, words: list[Token], at: int, clauses: list[int]) -> Phrase:
    before = [place for place in range(at) if clauses[place] == clauses[at]]
    marker, has_article = "", False
    for place in reversed(before):
        text = fact.texts[place]
        token = fact.tokens[place]
        has_article |= text in fact.words.articles or token.kind == "person" or text == "'s"
        if token.kind == "preposition":
            marker = text
            break
        is_number = token.value is not None and token.value.kind not in ("date", "time")
        if (token.kind not in ("ignored", "cue", "person") and not is_number) or text in fact.words.dates:
            break
    is_subject = not any(
        fact.tokens[place].kind in ("verb", "be", "change") or place in fact.actions for place in before
    )
    return Phrase(words, at, clauses[at], marker, is_subject and not marker, has_article)


def _is_circumstance(fact: Fact, phrase: Phrase) -> bool:
    texts = fact.texts[max(phrase.at - 4, 0) : phrase.at]
    before = next((token for token in fact.tokens[: phrase.at][::-1] if token.kind != "ignored"), None)
    is_since = before is not None and before.kind == "cue" and before.text in fact.words.prepositions
    is_reason = phrase.marker in fact.words.genitives and any(text in fact.words.reasons for text in texts)
    is_time = all(word.text in fact.words.light or word.text in fact.words.times for word in phrase.words)
    is_cause = phrase.marker in fact.words.causes and not fact.has("swaps")
    return (
        is_cause
        or is_since
        or is_reason
        or is_time
        or (phrase.marker in fact.words.since and phrase.marker not in fact.words.sources)
    )


def clauses_of(fact: Fact) -> list[int]:
    """Return the number of the clause of each word; "and" begins a clause if a verb follows."""
    found: list[int] = []
    clause = 0
    for place, token in enumerate(fact.tokens):
        is_segment = place > 0 and token.segment != fact.tokens[place - 1].segment
        clause += is_segment or (token.text in fact.words.conjunctions and _has_verb_after(fact, place))
        found.append(clause)
    return [*found, clause + 1]


def _has_verb_after(fact: Fact, place: int) -> bool:
    return any(
        fact.tokens[at].kind in ("verb", "be", "change", "person") or at in fact.actions
        for at in range(place + 1, min(place + 1 + _CLAUSE_WORDS, len(fact.tokens)))
    )
