"""Relative dates made absolute: "yesterday" said on 8 May 2023 is 7 May 2023, "last week" the week before that day."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

#: Stands between the words of a resolved date, so that it stays one token until the end.
GLUE = "\u00a0"
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_COUNT = rf"(?P<count>{'|'.join(_NUMBERS)}|\d{{1,2}})"
_WEEKDAY = r"(?:mon|tues?|wednes|wed|thurs?|fri|satur|sat|sun)(?:day)?"
_UNIT = rf"(?P<unit>week|weekend|{_WEEKDAY})"
_PART_OF_DAY = r"(?: (?:morning|afternoon|evening|night))?"

#: A date as `resolve_dates` writes it, for telling it from what was said.
RESOLVED_DATE = re.compile(
    rf"\((?:[\w ]+ (?:before|after|of) )?(?:\d{{1,2}} )?(?:(?:{'|'.join(_MONTHS)})(?: \d{{1,4}})?|\d{{4}})\)"
    r"|\([\w ]+ (?:before|after)\)"
)

_Resolver = Callable[[re.Match[str], date], str]


def date_text(day: date) -> str:
    """E.g. "7 May 2023", the same on every platform."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def month_text(day: date, months: int) -> str:
    """The month so many months later, e.g. "June 2023"."""
    index = day.year * 12 + day.month - 1 + months
    return f"{_MONTHS[index % 12]} {index // 12}"


def resolve_dates(text: str, stated_on: date | None) -> str:
    """`text` with each relative date replaced by an absolute one in brackets; unchanged when the day is unknown."""
    if stated_on is None or not _HINT.search(text):
        return text
    for pattern, resolve in _RULES:
        text = pattern.sub(_putting(resolve, stated_on), text)
    return text


def _putting(resolve: _Resolver, said: date) -> Callable[[re.Match[str]], str]:
    def put(match: re.Match[str]) -> str:
        try:
            bracket = f"({resolve(match, said)})".replace(" ", GLUE)
        except OverflowError:
            return match[0]
        return f"{match[0]} {bracket}" if _YEARS_AGO.search(match[0]) else bracket

    return put


def _shift(days: int) -> _Resolver:
    return lambda _, said: date_text(said + timedelta(days=days))


def _month(months: int) -> _Resolver:
    return lambda _, said: month_text(said, months)


def _year(years: int) -> _Resolver:
    return lambda _, said: str(said.year + years)


def _near(word: str) -> _Resolver:
    """ "last week" as "week before 8 May 2023"."""
    return lambda match, said: f"{_unit(match['unit'])} {word} {date_text(said)}"


def _few(match: re.Match[str], said: date) -> str:
    count = match["count"].lower().removeprefix("a ").removesuffix(" of")
    return f"{count} {match['unit'].lower()}s before {date_text(said)}"


def _ago(match: re.Match[str], said: date) -> str:
    spelled, unit = match["count"].lower(), match["unit"].lower()
    count = _NUMBERS.get(spelled) or int(spelled)
    if unit == "day":
        return date_text(said - timedelta(days=count))
    if unit == "month":
        return month_text(said, -count)
    if unit == "year":
        return str(said.year - count)
    return f"{f'{spelled} {unit}s' if count > 1 else unit} before {date_text(said)}"


def _unit(text: str) -> str:
    word = text.lower()
    return next((day for day in _DAYS if day.lower().startswith(word)), word)


def _rule(pattern: str, resolve: _Resolver) -> tuple[re.Pattern[str], _Resolver]:
    return re.compile(rf"\b(?:(?:on|over|during|in|just) )?(?:the )?\b{pattern}\b(?!['’])", re.IGNORECASE), resolve


_RULES = (
    _rule(r"day before yesterday", _shift(-2)),
    _rule(r"day after tomorrow", _shift(2)),
    _rule(rf"(?:yesterday{_PART_OF_DAY}|last night)", _shift(-1)),
    _rule(rf"tomorrow{_PART_OF_DAY}", _shift(1)),
    _rule(r"(?:today|tonight|this (?:morning|afternoon|evening))", _shift(0)),
    _rule(rf"(?:last|this past) {_UNIT}", _near("before")),
    _rule(rf"next {_UNIT}", _near("after")),
    _rule(r"this (?P<unit>week|weekend)", _near("of")),
    _rule(r"last (?P<unit>spring|summer|autumn|fall|winter)", _near("before")),
    _rule(r"last month", _month(-1)),
    _rule(r"next month", _month(1)),
    _rule(r"this month", _month(0)),
    _rule(r"last year", _year(-1)),
    _rule(r"next year", _year(1)),
    _rule(r"this year", _year(0)),
    _rule(
        r"(?P<count>a few|a couple(?: of)?|couple(?: of)?|few|several) (?P<unit>day|week|weekend|month)s (?:ago|back)",
        _few,
    ),
    _rule(rf"{_COUNT} (?P<unit>day|week|weekend|month|year)s? (?:ago|back)", _ago),
)
_YEARS_AGO = re.compile(r"years? (?:ago|back)$", re.IGNORECASE)
_HINT = re.compile(r"yesterday|night|tomorrow|today|this |last |next |ago|back", re.IGNORECASE)
