"""Which of several versions of a fact is true at the time that a query is about.

A query is about the present, a named time, or an earlier state ("originally", "früher"). Past tense alone ("Who
signed?") does not make it a query about an earlier state. English, German and Spanish are supported.
"""

import re

import numpy as np

from context.services.assembly.signals.columns import CandidatePool
from context.services.assembly.signals.temporal_match import MONTHS, QuestionTime, TimeSpan, named_time_spans
from context.services.scorer import ScoreColumn

#: Longer than the time between any two memories.
_EVER_SECONDS = 1e12

#: Words of the past. At the beginning, "Was" may be the German "what".
_PAST = re.compile(
    r"\b(?:were|did|had|used to)\b|(?<!^)\bwas\b|^[Ww]as (?:the|it|there|he|she|my|our|your|a|an|this|that)\b|"
    r"\b(?:war|waren|hatten?|wurden?|galten?|zahlten?|kosteten?|lebten?|wohnten?|"
    r"era|eran|estaban?|fue|fueron|tenían?|había|hacía|costaba|vivía)\b"
)
#: Words that make any query one about an earlier state.
_FORMER = (
    "used? to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|at first|initial(?:ly)?|in the past|back then|"
    r"in the beginning|at the start|früher\w*|zuvor|ursprünglich\w*|damals|vorher|anfangs|"
    "anteriormente|originalmente|al principio|inicialmente"
)
#: Words that do so only together with words of the past: "the old bridge" may still exist.
_FORMER_IF_PAST = rf"{_FORMER}|before|earlier|old|until|first|bisher\w*|zuerst|antes"
_IS_FORMER = re.compile(rf"\b(?:{_FORMER})\b", re.IGNORECASE)
_IS_FORMER_IF_PAST = re.compile(rf"\b(?:{_FORMER_IF_PAST})\b", re.IGNORECASE)
_DATED = re.compile(r"\b(?:19|20)\d\d\b|\bas of\b")
_UP_TO = re.compile(r"\b(?:before|until|prior to|bis|vor|antes de|hasta)\b", re.IGNORECASE)

_GERMAN_AND_SPANISH = (
    ("januar", "februar", "märz", "april", "mai", "juni", "juli"),
    ("august", "september", "oktober", "november", "dezember"),
    ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio"),
    ("agosto", "septiembre", "octubre", "noviembre", "diciembre"),
)
_SEASONS = {
    "frühling": "spring",
    "sommer": "summer",
    "herbst": "autumn",
    "primavera": "spring",
    "verano": "summer",
    "otoño": "autumn",
    "invierno": "winter",
}
#: Months and seasons in English, by their German and Spanish names.
_ENGLISH = {
    **dict(zip(_GERMAN_AND_SPANISH[0] + _GERMAN_AND_SPANISH[1], MONTHS, strict=True)),
    **dict(zip(_GERMAN_AND_SPANISH[2] + _GERMAN_AND_SPANISH[3], MONTHS, strict=True)),
    **_SEASONS,
}
_FOREIGN_TIME = re.compile(rf"\b({'|'.join(_ENGLISH)})\b(?: de(?= \d))?", re.IGNORECASE)


def validity_order(pool: CandidatePool) -> ScoreColumn:
    """Return a larger number for a memory that is more likely true at the queried time, if both state one fact.

    Now: the newest. At a named time: the newest from before its end, then what came later, soonest first. For an
    earlier state: the oldest.
    """
    text = pool.question.text
    is_past = _PAST.search(text) is not None
    if (is_past or _DATED.search(text)) and (span := _queried_span(pool)):
        end = (span.start if _UP_TO.search(text) else span.end).timestamp()
        return np.where(pool.created >= end, -pool.created - _EVER_SECONDS, pool.created)
    is_former = (_IS_FORMER_IF_PAST if is_past else _IS_FORMER).search(text) is not None
    return -pool.created if is_former else pool.created


def _queried_span(pool: CandidatePool) -> TimeSpan | None:
    """Return the time that the query names, in the latest year in which it has begun; None without one."""
    asked_at = pool.question.asked_at
    text = _FOREIGN_TIME.sub(lambda match: _ENGLISH[match[1].lower()].capitalize(), pool.question.text)
    begun = [span for span in named_time_spans(text, QuestionTime(asked_at, pool.years)) if span.start <= asked_at]
    same = [span for span in begun if _day_of_year(span) == _day_of_year(begun[0])]
    return max(same, default=None)


def _day_of_year(span: TimeSpan) -> tuple[int, int]:
    return span.start.month, span.start.day
