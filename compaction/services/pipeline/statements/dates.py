"""Relative dates made absolute: "yesterday" said on 8 May 2023 is 7 May 2023, "last week" the week before that day."""

import re
from calendar import day_name, month_name
from datetime import date, timedelta
from functools import partial

#: Joins the words of a resolved date, so that it stays one token until the end.
GLUE = "\u00a0"
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_COUNT = rf"(?P<count>{'|'.join(_NUMBERS)}|\d{{1,2}})"
_WEEKDAY = r"(?:mon|tues?|wednes|wed|thurs?|fri|satur|sat|sun)(?:day)?"
_UNIT = rf"(?P<unit>week|weekend|{_WEEKDAY})"
_PART_OF_DAY = r"(?: (?:morning|afternoon|evening|night))?"
_FEW = r"(?P<count>a few|a couple(?: of)?|couple(?: of)?|few|several)"

#: A date as `resolve_dates` writes it.
RESOLVED_DATE = re.compile(
    rf"\((?:[\w ]+ (?:before|after|of) )?(?:\d{{1,2}} )?(?:(?:{'|'.join(month_name[1:])})(?: \d{{1,4}})?|\d{{4}})\)"
    r"|\([\w ]+ (?:before|after)\)"
)
#: Pattern, unit or relation, and how many units later.
_RULES = tuple(
    (re.compile(rf"\b(?:(?:on|over|during|in|just) )?(?:the )?\b{pattern}\b(?!['’])", re.IGNORECASE), unit, later)
    for pattern, unit, later in (
        (r"day before yesterday", "day", -2),
        (r"day after tomorrow", "day", 2),
        (rf"(?:yesterday{_PART_OF_DAY}|last night)", "day", -1),
        (rf"tomorrow{_PART_OF_DAY}", "day", 1),
        (r"(?:today|tonight|this (?:morning|afternoon|evening))", "day", 0),
        (rf"(?:last|this past) {_UNIT}", "before", 0),
        (rf"next {_UNIT}", "after", 0),
        (r"this (?P<unit>week|weekend)", "of", 0),
        (r"last (?P<unit>spring|summer|autumn|fall|winter)", "before", 0),
        (r"last month", "month", -1),
        (r"next month", "month", 1),
        (r"this month", "month", 0),
        (r"last year", "year", -1),
        (r"next year", "year", 1),
        (r"this year", "year", 0),
        (rf"{_FEW} (?P<unit>day|week|weekend|month)s (?:ago|back)", "few", 0),
        (rf"{_COUNT} (?P<unit>day|week|weekend|month|year)s? (?:ago|back)", "ago", 0),
    )
)
_YEARS_AGO = re.compile(r"years? (?:ago|back)$", re.IGNORECASE)
_HINT = re.compile(r"yesterday|night|tomorrow|today|this |last |next |ago|back", re.IGNORECASE)


def date_text(day: date) -> str:
    """Return e.g. "7 May 2023"."""
    return f"{day.day} {month_name[day.month]} {day.year}"


def resolve_dates(text: str, stated_on: date | None) -> str:
    """Return `text` with absolute dates in brackets for relative ones; unchanged when the day is unknown."""
    if stated_on is None or not _HINT.search(text):
        return text
    for pattern, unit, later in _RULES:
        text = pattern.sub(partial(_resolved, said=stated_on, unit=unit, later=later), text)
    return text


def _resolved(match: re.Match[str], *, said: date, unit: str, later: int) -> str:
    words = {name: word.lower() for name, word in match.groupdict().items()}
    try:
        if unit == "few":
            count = words["count"].removeprefix("a ").removesuffix(" of")
            resolved = f"{count} {words['unit']}s before {date_text(said)}"
        elif unit == "ago":
            resolved = _ago(words["count"], words["unit"], said)
        elif unit in ("before", "after", "of"):
            name = next((day for day in day_name if day.lower().startswith(words["unit"])), words["unit"])
            resolved = f"{name} {unit} {date_text(said)}"
        else:
            resolved = _shifted(said, unit, later)
    except OverflowError:
        return match[0]
    bracket = f"({resolved})".replace(" ", GLUE)
    return f"{match[0]} {bracket}" if _YEARS_AGO.search(match[0]) else bracket


def _ago(spelled: str, unit: str, said: date) -> str:
    count = _NUMBERS.get(spelled) or int(spelled)
    if unit in ("day", "month", "year"):
        return _shifted(said, unit, -count)
    return f"{f'{spelled} {unit}s' if count > 1 else unit} before {date_text(said)}"


def _shifted(said: date, unit: str, later: int) -> str:
    if unit == "day":
        return date_text(said + timedelta(days=later))
    if unit == "year":
        return str(said.year + later)
    year, month = divmod(said.year * 12 + said.month - 1 + later, 12)
    return f"{month_name[month + 1]} {year}"
