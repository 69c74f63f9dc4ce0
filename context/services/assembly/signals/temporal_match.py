"""Temporal match: memories from a time that the query names, or from soon after.

The named times are read by a table of rules for English.
"""

import calendar
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from context.services.assembly.signals.columns import CandidatePool
from context.services.scorer import SECONDS_PER_DAY, ScoreColumn

MONTHS, DAYS = (tuple(map(str.lower, names)) for names in (calendar.month_name[1:], calendar.day_name))
# fmt: off
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}
# fmt: on
#: ADR-0078. Days around a named time that still count in full: time zones before it, the evening's report after it.
DAYS_BEFORE, DAYS_AFTER = 1.0, 1.0
#: ADR-0078. The share with which a memory from after the named time counts at first, and the days after which it no
#: longer counts.
LATER_SHARE, LATER_DAYS = 0.6, 20.0
#: The first month of a named time and its number of months; seasons are those of the northern hemisphere.
_SEASONS = {"spring": (3, 3), "summer": (6, 3), "autumn": (9, 3), "fall": (9, 3), "winter": (12, 3)}
_PARTS_OF_YEAR = {"early": (1, 4), "mid": (5, 4), "late": (9, 4), "": (1, 12)}
MONTH_SPANS = {month: (number, 1) for number, month in enumerate(MONTHS, start=1)} | _SEASONS | _PARTS_OF_YEAR


class TimeSpan(NamedTuple):
    """From `start` to before `end`."""

    start: datetime
    end: datetime


class QuestionTime(NamedTuple):
    """When a question is asked, and the years of its candidates, which are used for times without a year."""

    at: datetime
    years: Sequence[int]


Resolver = Callable[[re.Match[str], QuestionTime], Iterator[TimeSpan]]


def _rule(pattern: str, spans: Resolver) -> tuple[re.Pattern[str], Resolver]:
    return re.compile(pattern, re.IGNORECASE), spans


def _day_span(year: int, month: int, number: int, days: int = 1) -> Iterator[TimeSpan]:
    try:
        start = datetime(year, month, number, tzinfo=UTC)
        yield TimeSpan(start, start + timedelta(days=days))
    except (ValueError, OverflowError):
        return


def _month_span(year: int, month: int, count: int = 1) -> Iterator[TimeSpan]:
    last = month - 1 + count
    try:
        yield TimeSpan(datetime(year, month, 1, tzinfo=UTC), datetime(year + last // 12, last % 12 + 1, 1, tzinfo=UTC))
    except ValueError:
        return


def _named(match: re.Match[str], question_time: QuestionTime) -> Iterator[TimeSpan]:
    """Yield the day, the months or the year, in each possible year if none is named."""
    names = {"month": "", "day": "", **match.groupdict()}
    for year in [int(names["year"])] if names["year"] else question_time.years:
        month, count = MONTH_SPANS.get(names["month"].lower(), (0, 1))
        if names["day"]:
            yield from _day_span(year, month or int(names["month"]), int(names["day"]))
        else:
            yield from _month_span(year, month, count)


def _last_month_named(match: re.Match[str], question_time: QuestionTime) -> Iterator[TimeSpan]:
    """Yield the last one before the query; if no candidate is from that year, that month of any year."""
    month, _ = MONTH_SPANS[match["month"].lower()]
    year = question_time.at.year if month < question_time.at.month else question_time.at.year - 1
    for one in [year] if year in question_time.years else question_time.years:
        yield from _month_span(one, month)


def _ago(match: re.Match[str], question_time: QuestionTime) -> Iterator[TimeSpan]:
    """Yield a span as exact as the words: "two weeks ago" is that day plus or minus half a week."""
    word = match["count"].lower()
    count = int(word) if word.isdigit() else _NUMBERS[word]
    unit_days = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}[match["unit"].lower()]
    try:
        middle = question_time.at - timedelta(days=count * unit_days)
        yield TimeSpan(middle - timedelta(days=unit_days / 2), middle + timedelta(days=unit_days / 2))
    except OverflowError:
        return


def _yesterday(match: re.Match[str], question_time: QuestionTime) -> Iterator[TimeSpan]:  # noqa: ARG001
    before = question_time.at - timedelta(days=1)
    yield from _day_span(before.year, before.month, before.day)


def _last_unit(match: re.Match[str], question_time: QuestionTime) -> Iterator[TimeSpan]:
    unit = match["unit"].lower()
    if unit == "year":
        yield from _month_span(question_time.at.year - 1, 1, 12)
    elif unit == "month":
        year, month = divmod(question_time.at.year * 12 + question_time.at.month - 2, 12)
        yield from _month_span(year, month + 1)
    else:
        monday = question_time.at - timedelta(days=question_time.at.weekday() + 7)
        yield from _day_span(monday.year, monday.month, monday.day, 7)


def _last_day_named(match: re.Match[str], question_time: QuestionTime) -> Iterator[TimeSpan]:
    back = (question_time.at.weekday() - DAYS.index(match["weekday"].lower()) - 1) % 7 + 1
    before = question_time.at - timedelta(days=back)
    yield from _day_span(before.year, before.month, before.day)


_MONTH = f"(?P<month>{'|'.join(MONTHS)})"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ORDINAL = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_SURE_MONTH = (
    rf"\b(?:(?:in|since|until|before|after|during|by|of|early|mid|late|this|next)[ -])?{_MONTH}\b(?:,? {_YEAR})?"
)

#: Patterns that name a time, and what spans it may mean, the most exact first; a match hides its text from later rules.
_RULES = (
    _rule(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b", _named),
    _rule(rf"\b{_ORDINAL}(?: of)? {_MONTH}\b(?:,? {_YEAR})?", _named),
    _rule(rf"\b{_MONTH} {_ORDINAL}(?!\d)\b(?:,? {_YEAR})?", _named),
    _rule(rf"\blast {_MONTH}\b(?! \d)", _last_month_named),
    _rule(_SURE_MONTH, _named),
    _rule(rf"\b(?P<month>spring|summer|autumn|fall|winter)(?: of)? {_YEAR}", _named),
    _rule(rf"\b(?P<month>early|mid|late)(?: in)?[ -]{_YEAR}", _named),
    _rule(rf"\b{_YEAR}\b", _named),
    _rule(rf"\b(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})(?: of)? (?P<unit>day|week|month|year)s? ago\b", _ago),
    _rule(r"\byesterday\b", _yesterday),
    _rule(r"\blast (?P<unit>week|month|year)\b", _last_unit),
    _rule(rf"\blast (?P<weekday>{'|'.join(DAYS)})\b", _last_day_named),
)


def temporal_match(pool: CandidatePool) -> ScoreColumn:
    """Return how well the time of each memory fits a time named in the query, 0..1; all 0 if none is named."""
    found = np.zeros(len(pool))
    for span in query_time_spans(pool):
        found = np.maximum(found, _suits(pool.created, span))
    return found


def query_time_spans(pool: CandidatePool) -> list[TimeSpan]:
    """Return the times that the query names, those without a year in every year that a candidate is from."""
    return named_time_spans(pool.question.text, QuestionTime(pool.question.asked_at, pool.years))


def named_time_spans(text: str, question_time: QuestionTime) -> list[TimeSpan]:
    """Return the spans that the text names, the most exactly named first."""
    spans: list[TimeSpan] = []
    for pattern, resolve in _RULES:
        matches = [match for match in pattern.finditer(text) if not _is_verb(match)]
        for match in matches:
            spans += resolve(match, question_time)
        if matches:
            text = pattern.sub(lambda match: match[0] if _is_verb(match) else "\n", text)
    return spans


def _suits(created: ScoreColumn, span: TimeSpan) -> ScoreColumn:
    days_before = (span.start.timestamp() - created) / SECONDS_PER_DAY
    days_after = (created - span.end.timestamp()) / SECONDS_PER_DAY
    is_within = (days_before <= DAYS_BEFORE) & (days_after <= DAYS_AFTER)
    later = LATER_SHARE * np.clip(1.0 - days_after / LATER_DAYS, 0.0, 1.0)
    return np.where(is_within, 1.0, np.where(days_after > 0, later, 0.0))


def _is_verb(match: re.Match[str]) -> bool:
    """Whether "may" or "march" stands alone, in lower case or at the start of the sentence."""
    return match[0] in ("may", "march") or (match[0] in ("May", "March") and match.start() == 0)
