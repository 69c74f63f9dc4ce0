"""Relative dates followed by the date in brackets: "tomorrow (8 May 2026)", "on Friday (15 May 2026)"."""

import re
from calendar import month_name
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache, partial
from typing import Any

from compaction.services.pipeline.statements.languages import Language

#: Cues of sentences whose weekday may be past or repeated.
_NO_DAY_AHEAD = ("past", "past_verbs", "done", "repeated")

#: The text of a date for a matched expression, "" for none.
DateResolver = Callable[[re.Match[str], date], str]


def date_text(day: date) -> str:
    """Return e.g. "7 May 2023"."""
    return f"{day.day} {month_name[day.month]} {day.year}"


def resolve_dates(text: str, stated_on: date | None, language: Language) -> str:
    """Return `text` with absolute dates in brackets after relative ones.

    It is unchanged if the day is unknown, or if a date in the text already states which day is meant.
    """
    rules = _rules(language)
    if stated_on is None or not rules or _explicit(language).search(text):
        return text
    pattern, resolvers = rules
    dated = pattern.sub(partial(_with_bracket, stated_on=stated_on, resolvers=resolvers), text)
    weekdays = _weekdays(language)
    if weekdays is None or any(language.has_cue(name, text) for name in _NO_DAY_AHEAD):
        return dated
    return weekdays.sub(partial(_with_weekday, stated_on=stated_on, language=language), dated)


@cache
def _explicit(language: Language) -> re.Pattern[str]:
    """Match a date as day and month, in words or digits."""
    months = "|".join(language.given["months"])
    words = rf"\d\W{{0,3}}(?:st |nd |rd |th )?(?:of |de )?(?:{months})\b|\b(?:{months}) \d"
    return re.compile(rf"{words}|\b\d{{1,2}}[./]\d{{1,2}}\b|\b\d{{4}}-\d\d-\d\d\b", re.IGNORECASE)


@cache
def _weekdays(language: Language) -> re.Pattern[str] | None:
    """A weekday ahead without its date."""
    given = language.given
    if "weekdays" not in given:
        return None
    before, names = given["before_weekday"], "|".join(given["weekdays"])
    months = "|".join(given["months"])
    return re.compile(
        rf"(?<![\w-])(?:{before}) (?P<day>{names})(?![\w'’-])(?! \()(?!,? (?:(?:the|den|el|de) )?(?:\d|{months}))",
        re.IGNORECASE,
    )


def _with_weekday(match: re.Match[str], *, stated_on: date, language: Language) -> str:
    names = [name.lower() for name in language.given["weekdays"]]
    days = (names.index(match["day"].lower()) - stated_on.weekday()) % 7
    return f"{match[0]} ({_dated(stated_on + timedelta(days=days), language)})" if days else match[0]


def _with_bracket(match: re.Match[str], *, stated_on: date, resolvers: Mapping[str, DateResolver]) -> str:
    name = next(name for name in resolvers if match[name] is not None)
    try:
        resolved = resolvers[name](match, stated_on)
    except (OverflowError, ValueError):
        return match[0]
    return f"{match[0]} ({resolved})"


@cache
def _rules(language: Language) -> tuple[re.Pattern[str], Mapping[str, DateResolver]] | None:
    """One pattern of all expressions of a language, a named group for each, and what resolves it."""
    parts, resolvers = [], {}
    for number, (expression, resolver) in enumerate(_expressions(language)):
        name = f"rule{number}"
        parts.append(f"(?P<{name}>{_grouped(expression, number)})")
        resolvers[name] = partial(resolver, group=f"count{number}")
    if not parts:
        return None
    return re.compile(rf"(?<![\w-])(?i:{'|'.join(parts)})(?![\w'’-])(?! \()"), resolvers


def _grouped(expression: str, number: int) -> str:
    return expression.replace("(?P<count>", f"(?P<count{number}>").replace("(?P<unit>", f"(?P<count{number}>")


def _expressions(language: Language) -> Iterator[tuple[str, Callable[..., str]]]:
    given = language.given
    for expression, days in given.get("relative_days", []):
        yield expression, partial(_day, language=language, days=days)
    for expression, template in given.get("relative_weeks", []):
        yield expression, partial(_around, language=language, template=template)
    for expression, months in given.get("relative_months", []):
        yield expression, partial(_month, language=language, months=months)
    for expression, years in given.get("relative_years", []):
        yield expression, partial(_year, years=years)
    numbers: Mapping[str, int] = given.get("numbers", {})
    spelled = rf"(?:{'|'.join(numbers)}|\d{{1,3}})"
    for expression, unit, sign in given.get("ago", []):
        # "in two weeks after the delivery" is not counted from the day of the message
        unanchored = rf"(?! (?:{'|'.join(given['anchors'])})\b)" if sign > 0 else ""
        counted = expression.replace("NUMBER", spelled) + unanchored
        yield counted, partial(_counted, language=language, unit=unit, sign=sign)


def _dated(day: date, language: Language) -> str:
    given: Mapping[str, Any] = language.given
    return str(given["date"]).format(day=day.day, month=given["months"][day.month - 1], year=day.year)


def _day(match: re.Match[str], stated_on: date, *, group: str, language: Language, days: int) -> str:  # noqa: ARG001
    return _dated(stated_on + timedelta(days=days), language)


def _around(match: re.Match[str], stated_on: date, *, group: str, language: Language, template: str) -> str:
    unit = match[group] if "{unit}" in template else ""
    return template.format(date=_dated(stated_on, language), unit=unit)


def _month(match: re.Match[str], stated_on: date, *, group: str, language: Language, months: int) -> str:  # noqa: ARG001
    return _shifted_month(stated_on, months, language)


def _year(match: re.Match[str], stated_on: date, *, group: str, years: int) -> str:  # noqa: ARG001
    return str(stated_on.year + years)


def _counted(match: re.Match[str], stated_on: date, *, group: str, language: Language, unit: str, sign: int) -> str:
    spelled = match[group].lower()
    count = sign * (language.given["numbers"].get(spelled) or int(spelled))
    if unit == "year":
        return str(stated_on.year + count)
    if unit == "month":
        return _shifted_month(stated_on, count, language)
    return _dated(stated_on + timedelta(days=count * (7 if unit == "week" else 1)), language)


def _shifted_month(stated_on: date, months: int, language: Language) -> str:
    year, month = divmod(stated_on.year * 12 + stated_on.month - 1 + months, 12)
    return f"{language.given['months'][month]} {year}"
