"""Times named in a question, as spans: a table of rules for English, of a shape that other languages can fill."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# fmt: off
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}
# fmt: on
#: First month of each season, in the north.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
#: First month and number of months of a part of a year.
PARTS_OF_YEAR = {"early": (1, 4), "mid": (5, 4), "late": (9, 4)}


@dataclass(frozen=True)
class TimeSpan:
    """From `start` to before `end`."""

    start: datetime
    end: datetime


@dataclass(frozen=True)
class QuestionTime:
    """When a question is asked, and the years in which its candidates lie: for times without a year."""

    at: datetime
    years: Sequence[int]


Resolver = Callable[[re.Match[str], QuestionTime], Iterator[TimeSpan]]


@dataclass(frozen=True)
class TimeRule:
    """Text that names a time (matched without regard to case), and what spans it may mean."""

    pattern: re.Pattern[str]
    spans: Resolver


def _rule(pattern: str, spans: Resolver) -> TimeRule:
    return TimeRule(re.compile(pattern, re.IGNORECASE), spans)


def day_span(year: int, month: int, number: int, days: int = 1) -> Iterator[TimeSpan]:
    """So many days from this one; nothing for a day that there is not."""
    try:
        start = datetime(year, month, number, tzinfo=UTC)
        yield TimeSpan(start, start + timedelta(days=days))
    except (ValueError, OverflowError):
        return


def month_span(year: int, month: int, count: int = 1) -> Iterator[TimeSpan]:
    """So many months from this one; beyond December is next year."""
    last = month - 1 + count
    try:
        yield TimeSpan(datetime(year, month, 1, tzinfo=UTC), datetime(year + last // 12, last % 12 + 1, 1, tzinfo=UTC))
    except ValueError:
        return


def _years(text: str | None, asked: QuestionTime) -> Sequence[int]:
    return [int(text)] if text else asked.years


def _date(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:
    month = MONTHS.index(match["month"].lower()) + 1
    for year in _years(match["year"], asked):
        yield from day_span(year, month, int(match["day"]))


def _iso_date(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:  # noqa: ARG001
    yield from day_span(int(match["year"]), int(match["month"]), int(match["day"]))


def _month(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:
    month = MONTHS.index(match["month"].lower()) + 1
    for year in _years(match["year"], asked):
        yield from month_span(year, month)


def _last_month_named(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:
    """The one before the question; where no candidate is from that year, of any year: it was asked long after."""
    month = MONTHS.index(match["month"].lower()) + 1
    year = asked.at.year if month < asked.at.month else asked.at.year - 1
    for one in [year] if year in asked.years else asked.years:
        yield from month_span(one, month)


def _season(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:
    for year in _years(match["year"], asked):
        yield from month_span(year, SEASONS[match["season"].lower()], 3)


def _part_of_year(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:  # noqa: ARG001
    yield from month_span(int(match["year"]), *PARTS_OF_YEAR[match["part"].lower()])


def _year(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:  # noqa: ARG001
    yield from month_span(int(match["year"]), 1, 12)


def _ago(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:
    """As exact as it is said: "two weeks ago" is that day, give or take half a week."""
    word = match["count"].lower()
    count = int(word) if word.isdigit() else _NUMBERS[word]
    unit_days = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.25}[match["unit"].lower()]
    try:
        middle = asked.at - timedelta(days=count * unit_days)
        yield TimeSpan(middle - timedelta(days=unit_days / 2), middle + timedelta(days=unit_days / 2))
    except OverflowError:
        return


def _yesterday(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:  # noqa: ARG001
    before = asked.at - timedelta(days=1)
    yield from day_span(before.year, before.month, before.day)


def _last_unit(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:
    unit = match["unit"].lower()
    if unit == "year":
        yield from month_span(asked.at.year - 1, 1, 12)
    elif unit == "month":
        year, month = divmod(asked.at.year * 12 + asked.at.month - 2, 12)
        yield from month_span(year, month + 1)
    else:
        monday = asked.at - timedelta(days=asked.at.weekday() + 7)
        yield from day_span(monday.year, monday.month, monday.day, 7)


def _last_day_named(match: re.Match[str], asked: QuestionTime) -> Iterator[TimeSpan]:
    back = (asked.at.weekday() - DAYS.index(match["weekday"].lower()) - 1) % 7 + 1
    before = asked.at - timedelta(days=back)
    yield from day_span(before.year, before.month, before.day)


_MONTH = f"(?P<month>{'|'.join(MONTHS)})"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ORDINAL = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_SURE_MONTH = (
    rf"\b(?:(?:in|since|until|before|after|during|by|of|early|mid|late|this|next)[ -])?{_MONTH}\b(?:,? {_YEAR})?"
)

#: In order of how exact they are; what one has matched no later one sees.
ENGLISH_TIMES: tuple[TimeRule, ...] = (
    _rule(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b", _iso_date),
    _rule(rf"\b{_ORDINAL}(?: of)? {_MONTH}\b(?:,? {_YEAR})?", _date),
    _rule(rf"\b{_MONTH} {_ORDINAL}(?!\d)\b(?:,? {_YEAR})?", _date),
    _rule(rf"\blast {_MONTH}\b(?! \d)", _last_month_named),
    _rule(_SURE_MONTH, _month),
    _rule(rf"\b(?P<season>{'|'.join(SEASONS)})(?: of)? {_YEAR}", _season),
    _rule(rf"\b(?P<part>early|mid|late)(?: in)?[ -]{_YEAR}", _part_of_year),
    _rule(rf"\b{_YEAR}\b", _year),
    _rule(rf"\b(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})(?: of)? (?P<unit>day|week|month|year)s? ago\b", _ago),
    _rule(r"\byesterday\b", _yesterday),
    _rule(r"\blast (?P<unit>week|month|year)\b", _last_unit),
    _rule(rf"\blast (?P<weekday>{'|'.join(DAYS)})\b", _last_day_named),
)


def named_time_spans(text: str, asked: QuestionTime, rules: Sequence[TimeRule] = ENGLISH_TIMES) -> list[TimeSpan]:
    """The spans that the text names, the most exactly named first."""
    spans: list[TimeSpan] = []
    for rule in rules:
        for match in rule.pattern.finditer(text):
            if not _is_verb(match):
                spans += rule.spans(match, asked)
        text = rule.pattern.sub(lambda match: match[0] if _is_verb(match) else "\n", text)
    return spans


def _is_verb(match: re.Match[str]) -> bool:
    """Whether "may" or "march" stands alone, in small letters or where the sentence begins."""
    return match[0] in ("may", "march") or (match[0] in ("May", "March") and match.start() == 0)
