"""Answer type: whether a text contains the type of answer that the query asks for: a time, a number, a place, a name.

The rules are English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from context.services.assembly.signals.columns import CandidatePool
from context.services.scorer import ScoreColumn

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
    """What a query asks for (`asks`, on its text in lower case), and the forms of answers.

    A text that contains any of `sure` gains `weight`, 0..1; one that contains any of `maybe` gains `maybe_share` of it.
    """

    asks: re.Pattern[str]
    weight: float
    sure: tuple[AnswerForm, ...]
    maybe: tuple[AnswerForm, ...] = ()
    maybe_share: float = 0.0


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORKS = "book|movie|film|song|game|band|show"
_NUMBER_WORDS = _words("one two three four five six seven eight nine ten eleven twelve")
_UNITS = _words("minute minutes hour hours day days week weeks month months year years")
_TIME = (
    AnswerForm(
        _words(
            "yesterday today tonight tomorrow last next ago week weeks weekend weekends month months year years "
            "recently soon since birthday morning evening night summer winter spring fall autumn "
            "january february march april may june july august september october november december "
            "monday tuesday wednesday thursday friday saturday sunday"
        )
    ),
    AnswerForm(pattern=re.compile(r"\d(?:st|nd|rd|th)\b|\b(?:19|20)\d\d\b")),
)
_SPAN = (
    AnswerForm(
        _UNITS,
        re.compile(
            rf"\b(?:\d+|an?|{'|'.join(sorted(_NUMBER_WORDS))}|few|couple|several|many)\s+(?:of\s+)?"
            r"(?:minute|hour|day|week|month|year)s?\b|\bfor (?:years|months|weeks)\b",
            re.IGNORECASE,
        ),
    ),
    AnswerForm(_words("since ages")),
)
_NUMBER = (
    AnswerForm(_NUMBER_WORDS | _words("dozen once twice hundred thousand couple few several")),
    AnswerForm(pattern=re.compile(r"\d")),
)
_PLACE = (
    AnswerForm(
        _words("in at to from near around through visit visited visiting"),
        re.compile(r"\b(?:in|at|to|from|near|around|through|visit(?:ed|ing)?)\s+(?:the\s+)?[A-Z]\w+"),
    ),
)
_PLACE_WORD = (
    AnswerForm(
        _words(
            "beach park lake mountain mountains forest city town country home cafe restaurant store shop gym school "
            "museum house studio center centre hotel trail island state"
        )
    ),
)
#: A capitalised word inside a sentence.
_NAME = (AnswerForm(pattern=re.compile(r"[a-z,;:]\s+[A-Z][a-z]+\b")),)
_QUOTED = (AnswerForm(pattern=re.compile(r"[\"“][^\"”]{2,60}[\"”]")),)
_REASON = (
    AnswerForm(_words("because since help helps inspired inspires motivated motivates motivation reason wanted")),
)

#: The first rule that a query meets counts.
_RULES = (
    AnswerRule(
        re.compile(r"^when\b|^(?:(?:in|on|around|during) )?(?:what|which) (?:date|day|month|year)\b|^what time\b"),
        0.65,
        _TIME,
    ),
    AnswerRule(re.compile(r"\bhow (?:long|old)\b"), 0.9, _SPAN, _TIME, 0.3),
    AnswerRule(re.compile(r"\bhow (?:many|much|often)\b"), 0.25, _NUMBER),
    AnswerRule(
        re.compile(r"\bwhere\b|^(?:(?:in|at|to) )?(?:what|which) (?:place|city|country|state|town|location)\b"),
        1.0,
        _PLACE,
        _PLACE_WORD,
        0.6,
    ),
    AnswerRule(re.compile(r"^(?:who|whom|whose)\b"), 0.3, _NAME),
    AnswerRule(
        re.compile(rf"\bwhat(?:'s| is| are| was| were)? .*\bname|\bnames? of\b|\b(?:what|which) (?:{_WORKS})"),
        0.85,
        _QUOTED,
        _NAME,
        0.5,
    ),
    AnswerRule(re.compile(r"^why\b"), 0.25, _REASON),
)


def answer_type(pool: CandidatePool) -> ScoreColumn:
    """Return how well the form of each text suits the query, 0..1; 0 where the query asks for no known type."""
    asked = pool.question.text.strip().lower()
    rule = next((rule for rule in _RULES if rule.asks.search(asked)), None)
    return np.zeros(len(pool)) if rule is None else np.array([_suits(rule, body) for body in pool.bodies])


def _suits(rule: AnswerRule, body: str) -> float:
    words = set(_WORD.findall(body.lower()))
    if any(form.is_in(body, words) for form in rule.sure):
        return rule.weight
    return rule.weight * rule.maybe_share if any(form.is_in(body, words) for form in rule.maybe) else 0.0
