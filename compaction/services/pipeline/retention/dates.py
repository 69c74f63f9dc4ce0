"""Dates in their many forms, normalised to the same day, month or year."""

import calendar
import re
from collections.abc import Iterator

from compaction.services.pipeline.retention.matches import FactMatch, blank_matches

_NAMES = [name.lower() for name in calendar.month_name[1:]]
_MONTHS = {form: number for number, name in enumerate(_NAMES, 1) for form in (name, name[:3])} | {"sept": 9}
#: In lower case, these are also other words.
_MODEST = {"may", "march", "mar", "dec", "jan", "sep"}
#: A two-digit year up to this one belongs to this century.
_CENTURY_TURNS = 69

_MONTH = r"(?P<month>(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")(?![A-Za-z]))\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:1\d|20|21)\d\d)(?![\d]|[.,]\d)"
_GAP = r"[ \t-]{1,2}"
_LEAD = r"(?<!\w)(?<!\d[./-])(?<![A-Za-z]-)"

#: In this order: text that one matches is not seen by the next.
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
    """Yield the dates of a text: `2023-05-07`, `2023-05`, `--05-07`, `--05` or `2023` normalised."""
    if not _HINT.search(text):
        return
    for pattern in _PATTERNS:
        found = [one for one in map(_read, pattern.finditer(text)) if one]
        if found:
            yield from found
            text = blank_matches(text, found)


def _read(match: re.Match[str]) -> FactMatch | None:
    parts = {name: text for name, text in match.groupdict().items() if text}
    year = int(parts["year"]) if "year" in parts else None
    day = int(parts["day"]) if "day" in parts else None
    month = int(parts["m"]) if "m" in parts else _MONTHS[parts["month"].lower()] if "month" in parts else None
    if "a" in parts:
        # the month comes first, unless dots or a number above 12 say otherwise
        month, day = int(parts["a"]), int(parts["b"])
        if match[2] == "." or month > 12:
            month, day = day, month
        if year is not None and len(parts["year"]) == 2:
            if match[2] != "/":
                return None
            year += 2000 if year <= _CENTURY_TURNS else 1900
    if month is not None and not 1 <= month <= 12:
        return None
    if month and day is not None and not 1 <= day <= calendar.monthrange(2000 if year is None else year, month)[1]:
        return None
    name = parts.get("month", "")
    if name.islower() and name in _MODEST and (year is None or day is None):
        return None  # more likely another word: "may 5 people come"
    # the date itself, without the word before it
    start = min(match.start(name) for name in ("day", "month", "m", "a", "year") if name in parts)
    normalised = _written(year, month, day)
    implied = {_written(year, month, None), _written(None, month, day), _written(None, month, None)} if month else set()
    implied |= {_written(year, None, None)} if year else set()
    return FactMatch(start, match.string[start : match.end()], normalised, tuple(implied - {normalised, ""}))


def _written(year: int | None, month: int | None, day: int | None) -> str:
    if month is None:
        return f"{year:04}" if year else ""
    head = f"{year:04}" if year else "-"
    return f"{head}-{month:02}" + (f"-{day:02}" if day is not None else "")
