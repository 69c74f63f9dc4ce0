"""Answer type: whether a text contains the type of answer that the query asks for: a time, a number, a place, a name.

The rules are English.
"""

import re
from dataclasses import dataclass

import numpy as np

from context.services.assembly.signals.columns import CandidatePool
from context.services.assembly.signals.texts import TextReading
from context.services.scorer import ScoreColumn
from memories.services.time_limits import in_time

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class AnswerForm:
    """A form in texts: any of `words` (in lower case) if there are any, and the `pattern` if there is one.

    Words are looked up first, which is many times faster than a pattern of alternatives.
    """

    words: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None

    def is_in(self, body: str, words: set[str]) -> bool:
        """Whether the text, whose words these are, contains the form."""
        if self.words and self.words.isdisjoint(words):
            return False
        return self.pattern is None or self.pattern.search(body) is not None


@dataclass(frozen=True)
class AnswerRule:
    """The requested type of answer (`asks`, matched in the lower-case query), and the forms of answers.

    A text that contains any of `sure` gains `weight`, 0..1; one that contains any of `maybe` gains `maybe_share` of it.
    """

    asks: re.Pattern[str]
    weight: float
    sure: tuple[AnswerForm, ...]
    maybe: tuple[AnswerForm, ...] = ()
    maybe_share: float = 0.0


def _form(words: str = "", pattern: str = "") -> AnswerForm:
    return AnswerForm(frozenset(words.split()), re.compile(pattern) if pattern else None)


_WORKS = "book|movie|film|song|game|band|show"
_NUMBER_WORDS = "one two three four five six seven eight nine ten eleven twelve"
_TIME = (
    _form(
        "yesterday today tonight tomorrow last next ago week weeks weekend weekends month months year years "
        "recently soon since birthday morning evening night summer winter spring fall autumn "
        "january february march april may june july august september october november december "
        "monday tuesday wednesday thursday friday saturday sunday"
    ),
    _form(pattern=r"\d(?:st|nd|rd|th)\b|\b(?:19|20)\d\d\b"),
)
_SPAN = (
    _form(
        "minute minutes hour hours day days week weeks month months year years",
        rf"(?i)\b(?:\d+|an?|{'|'.join(sorted(_NUMBER_WORDS.split()))}|few|couple|several|many)\s+(?:of\s+)?"
        r"(?:minute|hour|day|week|month|year)s?\b|\bfor (?:years|months|weeks)\b",
    ),
    _form("since ages"),
)
_NUMBER = (_form(f"{_NUMBER_WORDS} dozen once twice hundred thousand couple few several"), _form(pattern=r"\d"))
_PLACE = (
    _form(
        "in at to from near around through visit visited visiting",
        r"\b(?:in|at|to|from|near|around|through|visit(?:ed|ing)?)\s+(?:the\s+)?[A-Z]\w+",
    ),
)
_PLACE_WORD = (
    _form(
        "beach park lake mountain mountains forest city town country home cafe restaurant store shop gym school "
        "museum house studio center centre hotel trail island state"
    ),
)
#: A capitalised word inside a sentence.
_NAME = (_form(pattern=r"[a-z,;:]\s+[A-Z][a-z]+\b"),)
_QUOTED = (_form(pattern=r"[\"“][^\"”]{2,60}[\"”]"),)
_REASON = (_form("because since help helps inspired inspires motivated motivates motivation reason wanted"),)

_WHEN = re.compile(r"^when\b|^(?:(?:in|on|around|during) )?(?:what|which) (?:date|day|month|year)\b|^what time\b")
_WHERE = re.compile(r"\bwhere\b|^(?:(?:in|at|to) )?(?:what|which) (?:place|city|country|state|town|location)\b")
_TITLE = re.compile(rf"\bwhat(?:'s| is| are| was| were)? .*\bname|\bnames? of\b|\b(?:what|which) (?:{_WORKS})")
#: The first rule that a query meets counts.
_RULES = (
    AnswerRule(_WHEN, 0.65, _TIME),
    AnswerRule(re.compile(r"\bhow (?:long|old)\b"), 0.9, _SPAN, _TIME, 0.3),
    AnswerRule(re.compile(r"\bhow (?:many|much|often)\b"), 0.25, _NUMBER),
    AnswerRule(_WHERE, 1.0, _PLACE, _PLACE_WORD, 0.6),
    AnswerRule(re.compile(r"^(?:who|whom|whose)\b"), 0.3, _NAME),
    AnswerRule(_TITLE, 0.85, _QUOTED, _NAME, 0.5),
    AnswerRule(re.compile(r"^why\b"), 0.25, _REASON),
)


def answer_type(pool: CandidatePool) -> ScoreColumn:
    """Return how well the form of each text suits the query, 0..1; 0 if the query requests no known type."""
    question = pool.question.text.strip().lower()
    number = next((number for number, rule in enumerate(_RULES) if rule.asks.search(question)), None)
    found = np.zeros(len(pool))
    if number is not None:
        found[:] = [_suits(number, text) for text in in_time(pool.texts)]
    return found


def _suits(number: int, text: TextReading) -> float:
    """Return how well a text suits the rule with this number; each pair is computed once."""
    found = text.answers.get(number)
    if found is None:
        rule, words = _RULES[number], set(_WORD.findall(text.body.lower()))
        if any(form.is_in(text.body, words) for form in rule.sure):
            found = rule.weight
        else:
            found = rule.weight * rule.maybe_share if any(form.is_in(text.body, words) for form in rule.maybe) else 0.0
        text.answers[number] = found
    return found
