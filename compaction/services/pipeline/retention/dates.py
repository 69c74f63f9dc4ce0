"""Dates in their many forms, normalised to the same day, month or year."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator

from compaction.services.pipeline.retention.matches import FactMatch, blank_matches

_NAMES = [name.lower() for name in calendar.month_name[1:]]
_MONTHS = {form: number for number, name in enumerate(_NAMES, 1) for form in (name, name[:3])} | {"sept": 9}
#: In lower case these are other words as well.
_MODEST = {"may", "march", "mar", "dec", "jan", "sep"}
#: A two-digit year up to this is of this century.
_CENTURY_TURNS = 69

_MONTH = r"(?P<month>(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")(?![A-Za-z]))\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:1\d|20|21)\d\d)(?![\d]|[.,]\d)"
_GAP = r"[ \t-]{1,2}"
_LEAD = r"(?<!\w)(?<!\d[./-])(?<![A-Za-z]-)"

#: In this order: what one takes the next do not see.
_PATTERNS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_LEAD}(?P<year>(?:1\d|20|21)\d\d)([-/.])(?P<m>\d{{1,2}})\2(?P<day>\d{{1,2}})(?!\d|[-/.]\d)(?:T\d\d:[\d:.]{{2,15}}Z?)?",
        rf"{_LEAD}(?P<a>\d{{1,2}})([-/.])(?P<b>\d{{1,2}})\2(?P<year>\d{{4}}|\d\d)(?![\w/-]|[.]\d)",
        rf"{_LEAD}{_DAY}(?:{_GAP}of)?{_GAP}{_MONTH}(?:,?{_GAP}{_YEAR})?(?!\w)",
        rf"{_LEAD}{_MONTH}{_GAP}(?:the{_GAP})?{_DAY}(?![\w%]|[.,:/]\d)(?:,?{_GAP}{_YEAR})?",
        rf"{_LEAD}{_MONTH},?{_GAP}(?:of{_GAP})?{_YEAR}(?!\w)",
        rf"\b(?:in|by|since|until|last|next|early|late)\s{_MONTH}(?!\w)(?!{_GAP}\d)",
        rf"\b(?:in|since|until|from|by|during|year|before|after|around)\s{_YEAR}(?![\w-]|\s?[%€$])(?!\s[a-z]{{1,3}}\b\s?\d)",
    )
]
_HINT = re.compile(r"\d|\b(?:" + "|".join(_NAMES) + r")", re.IGNORECASE)


def find_dates(text: str) -> Iterator[FactMatch]:
    """The dates of a text: `2023-05-07`, `2023-05`, `--05-07`, `--05` or `2023` normalised."""
    if not _HINT.search(text):
        return
    for pattern in _PATTERNS:
        found = [one for one in map(_read, pattern.finditer(text)) if one]
        if found:
            yield from found
            text = blank_matches(text, found)


def _read(match: re.Match[str]) -> FactMatch | None:
    parts = match.groupdict()
    year, month, day = _number(parts.get("year")), _month(parts), _number(parts.get("day"))
    if parts.get("a"):
        month, day = _order(match)
        if year is not None and len(parts["year"]) == 2:
            if match.group(2) != "/":
                return None
            year += 2000 if year <= _CENTURY_TURNS else 1900
    if month == 0 or (month and day is not None and not 1 <= day <= _days(year, month)):
        return None
    if _is_other_word(parts.get("month"), year, day):
        return None
    start = _start(match)
    normalised = _written(year, month, day)
    offers = {_written(year, month, None), _written(None, month, day), _written(None, month, None)} if month else set()
    offers |= {_written(year, None, None)} if year else set()
    return FactMatch(
        start, match.end(), match.string[start : match.end()], normalised, tuple(offers - {normalised, ""})
    )


def _start(match: re.Match[str]) -> int:
    """Where the date itself begins: at its month, its day or its year, without the word before it."""
    return min(match.start(name) for name in ("day", "month", "m", "a", "year") if match.groupdict().get(name))


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _month(parts: dict[str, str | None]) -> int | None:
    if parts.get("m"):
        number = int(parts["m"] or 0)
        return number if 1 <= number <= 12 else 0
    name = parts.get("month")
    return _MONTHS[name.lower()] if name else None


def _order(match: re.Match[str]) -> tuple[int, int]:
    """Month and day of a date in digits: the month first, unless dots or a number above 12 say otherwise."""
    first, second = int(match["a"]), int(match["b"])
    if match.group(2) == "." or first > 12:
        first, second = second, first
    return (first, second) if 1 <= first <= 12 else (0, second)


def _days(year: int | None, month: int) -> int:
    return calendar.monthrange(year if year is not None else 2000, month)[1]


def _is_other_word(name: str | None, year: int | None, day: int | None) -> bool:
    """Whether what looks like a month is more likely another word: "may 5 people come"."""
    return name is not None and name.islower() and name in _MODEST and (year is None or day is None)


def _written(year: int | None, month: int | None, day: int | None) -> str:
    if month is None:
        return f"{year:04}" if year else ""
    head = f"{year:04}" if year else "-"
    return f"{head}-{month:02}" + (f"-{day:02}" if day is not None else "")
