"""Answers: a text that holds the kind of thing the question asks for: a time, a span, a number, a place, a name.

English rules; another language is another table of the same shape.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from context.services.assembly.signals.columns import CandidatePool
from context.services.scorer import ScoreColumn

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class AnswerForm:
    """A form that texts hold: any of `words` (in small letters), and where a `pattern` is given that as well.

    Words are looked up first, which is many times faster than a pattern of alternatives. No words: the pattern alone.
    """

    words: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None

    def is_in(self, body: str, words: set[str]) -> bool:
        """Whether the text, whose words these are, holds the form."""
        if self.words and self.words.isdisjoint(words):
            return False
        return self.pattern is None or self.pattern.search(body) is not None


@dataclass(frozen=True)
class AnswerRule:
    """What a question asks for (`asks`, on its text in small letters), and the forms of what may answer it.

    `weight` is how much a text gains that holds any of `sure`, 0..1; one that holds `maybe` gains `maybe_share` of it.
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

#: The first rule that a question meets counts.
ENGLISH_ANSWERS: tuple[AnswerRule, ...] = (
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


def answer_type(pool: CandidatePool, rules: Sequence[AnswerRule] = ENGLISH_ANSWERS) -> ScoreColumn:
    """How well the form of each text suits what is asked for, 0..1; 0 where the question asks for no kind known."""
    asked = pool.text.strip().lower()
    rule = next((rule for rule in rules if rule.asks.search(asked)), None)
    if rule is None:
        return np.zeros(len(pool))
    return np.array([_suits(rule, body) for body in pool.bodies])


def _suits(rule: AnswerRule, body: str) -> float:
    words = set(_WORD.findall(body.lower()))
    if any(form.is_in(body, words) for form in rule.sure):
        return rule.weight
    return rule.weight * rule.maybe_share if any(form.is_in(body, words) for form in rule.maybe) else 0.0
