"""Answers: a text that holds the kind of thing the question asks for: a time, a span, a number, a place, a name.

English rules; another language is another table of the same shape.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from context.services.scorer import Column
from context.services.signals.columns import Pool

_NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_WORKS = "book|movie|film|song|game|band|show"


@dataclass(frozen=True)
class AnswerRule:
    """What a question asks for (`asks`, on its text in small letters), and what of a text may answer it.

    `weight` is how much a text that holds `sure` gains, 0..1; one that only holds `maybe` gains `maybe_share` of it.
    """

    asks: re.Pattern[str]
    weight: float
    sure: re.Pattern[str]
    maybe: re.Pattern[str] | None = None
    maybe_share: float = 0.0


_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|week(?:end|s)?|months?|years?|recently|soon|since|birthday|"
    rf"morning|evening|night|summer|winter|spring|fall|autumn|{_MONTHS}|{_DAYS}|(?:19|20)\d\d|\d{{1,2}}(?:st|nd|rd|th))\b",
    re.IGNORECASE,
)
_SPAN = re.compile(
    rf"\b(?:\d+|an?|{_NUMBERS}|few|couple|several|many)\s+(?:of\s+)?(?:minute|hour|day|week|month|year)s?\b|\bsince\b|"
    r"\bfor (?:a while|ages|years|months|weeks)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    rf"\b(?:\d[\d,.]*|{_NUMBERS}|dozen|once|twice|hundred|thousand|couple|few|several)\b", re.IGNORECASE
)
_PLACE = re.compile(r"\b(?:in|at|to|from|near|around|through|visit(?:ed|ing)?)\s+(?:the\s+)?[A-Z]\w+")
_PLACE_WORD = re.compile(
    r"\b(?:beach|park|lake|mountains?|forest|city|town|country|home|cafe|restaurant|store|shop|gym|school|museum|house|"
    r"studio|center|hotel|trail|island|state)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)(?<![\"'“])\b[A-Z][a-z]+\b")
_QUOTED = re.compile(r"[\"“][^\"”]{2,60}[\"”]")
_REASON = re.compile(r"\b(?:because|since|so that|helps?|makes? me|inspired|motivat\w*|reason|wanted)\b", re.IGNORECASE)

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


def answers(pool: Pool, rules: Sequence[AnswerRule] = ENGLISH_ANSWERS) -> Column:
    """How well the form of each text suits what is asked for, 0..1; 0 where the question asks for no kind known."""
    asked = pool.text.strip().lower()
    rule = next((rule for rule in rules if rule.asks.search(asked)), None)
    if rule is None:
        return np.zeros(len(pool))
    return np.array([_suits(rule, body) for body in pool.bodies])


def _suits(rule: AnswerRule, body: str) -> float:
    if rule.sure.search(body):
        return rule.weight
    if rule.maybe is not None and rule.maybe.search(body):
        return rule.weight * rule.maybe_share
    return 0.0
