"""The time from which a statement holds, if its text names one: "from 1 June", "ab Montag", "a partir del 1 de junio".

An open-ended date or weekday after such a word counts; a range ("from 3 to 10 May") does not, because it is the time of
an event. English, German and Spanish are supported.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

# fmt: off
_MONTHS = (
    "jan(?:uary|uar)?|enero", "feb(?:ruary|ruar)?|febrero", "mar(?:ch|zo)?|m[aä]rz", "apr(?:il)?|abril",
    "may|mai|mayo", "june?|juni|junio", "july?|juli|julio", "aug(?:ust)?|agosto", "sept?(?:ember|iembre)?",
    "oct(?:ober|ubre)?|okt(?:ober)?", "nov(?:ember|iembre)?", "dec(?:ember)?|dez(?:ember)?|diciembre",
)
_DAYS = (
    "mon(?:day)?|montag|lunes", "tue(?:s|sday)?|dienstag|martes", "wed(?:nesday)?|mittwoch|mi[eé]rcoles",
    "thu(?:rs|rsday)?|donnerstag|jueves", "fri(?:day)?|freitag|viernes", "sat(?:urday)?|samstag|s[aá]bado",
    "sun(?:day)?|sonntag|domingo",
)
# fmt: on
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})\b\.?"
_WEEKDAY = rf"(?P<weekday>{'|'.join(_DAYS)})\b"
_YEAR = r"(?P<year>20\d\d)"
_DAY = r"(?P<day>\d{1,2}|first|ersten|primero)(?:st|nd|rd|th|\.)?"
#: The most exact first.
_DATES = (
    r"(?P<year>20\d\d)-(?P<month_number>\d\d)-(?P<day>\d\d)\b",
    r"(?P<day>\d{1,2})\.(?P<month_number>\d{1,2})\.(?P<year>20\d\d)?",
    rf"(?:\w+,? )?(?:the |el )?{_DAY}(?: of| de)? {_MONTH}(?:,?(?: de)? {_YEAR}\b)?",
    rf"{_MONTH} {_DAY}(?![\d:])(?:,? {_YEAR}\b)?",
    rf"{_MONTH}(?:(?: de)? {_YEAR}\b)?",
    rf"{_YEAR}\b",
    r"(?:n[aä]chste[rnms]?|next) (?P<unit>week|month|year|woche|monat|jahr)\b",
    r"(?P<tomorrow>tomorrow|morgen)\b",
    rf"(?:(?:next|coming|n[aä]chste[rnms]?) )?{_WEEKDAY}",
)
_STARTS = (
    r"(?<!\bnights )(?<!\bdays )(?<!\bweeks )(?<!\baway )(?<!\bleave )\b"
    r"(?:from|as of|starting(?: from| on)?|beginning|effective(?: from)?|on (?:and|or) after|ab(?: dem)?|zum|"
    r"a partir del?|desde(?: el)?|(?:takes? over|rises?|goes up|goes down|drops?|falls?|increases?|steigt|sinkt)"
    r"(?: to [\w.,€£$%]+)? (?:on|am)) "
)
_NO_RANGE = r"(?!\w)(?! ?(?:-|–|to\b|till\b|until\b|through\b|and\b|bis\b|hasta\b))"
_ANNOUNCEMENTS = [
    *(re.compile(rf"{_STARTS}{date}{_NO_RANGE}", re.IGNORECASE) for date in _DATES),
    *(re.compile(rf"\b{date} on(?:wards?)?(?=[,.:;]|$)", re.IGNORECASE) for date in _DATES[2:5]),
    *(re.compile(rf"\b(?:on|am|el) {date}\b[^.]*\b(?:from|on) that day\b", re.IGNORECASE) for date in _DATES[2:4]),
]
_IS_MONTH = [re.compile(rf"(?:{name})\.?", re.IGNORECASE) for name in _MONTHS]
_IS_DAY = [re.compile(name, re.IGNORECASE) for name in _DAYS]


class AnnouncedTime(NamedTuple):
    """The named date; 0 for an unknown part, and for all of it with a `weekday` (from 1) or a `unit`.

    `unit` is the first letter of the day, week, month or year that begins next.
    """

    year: int = 0
    month: int = 0
    day: int = 0
    weekday: int = 0
    unit: str = ""

    def starts_at(self, created: datetime) -> datetime:
        """Return the start of the date in UTC, for a text of `created`; a date that does not exist is `created`.

        Without a year, it is the one nearest to `created`.
        """
        midnight = created.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        if self.weekday:
            return midnight + timedelta(days=(self.weekday - 2 - midnight.weekday()) % 7 + 1)
        if self.unit:
            return _next_of(self.unit, midnight)
        return min(self._dates(midnight), key=lambda date: abs(date - midnight), default=created)

    def _dates(self, midnight: datetime) -> Iterator[datetime]:
        for year in [self.year] if self.year else (midnight.year - 1, midnight.year, midnight.year + 1):
            try:
                yield datetime(year, self.month or 1, self.day or 1, tzinfo=UTC)
            except ValueError:
                continue


def announced_time(text: str) -> AnnouncedTime | None:
    """Return the time from which the text says that it holds; None if it names none."""
    for pattern in _ANNOUNCEMENTS:
        if match := pattern.search(text):
            return _time_of(match.groupdict())
    return None


def _next_of(unit: str, midnight: datetime) -> datetime:
    if unit == "y":
        return midnight.replace(year=midnight.year + 1, month=1, day=1)
    if unit == "m":
        return (midnight.replace(day=28) + timedelta(days=4)).replace(day=1)
    return midnight + timedelta(days=7 - midnight.weekday() if unit == "w" else 1)


def _time_of(named: dict[str, str | None]) -> AnnouncedTime:
    if weekday := named.get("weekday"):
        return AnnouncedTime(weekday=_number_in(_IS_DAY, weekday))
    if unit := named.get("unit"):
        return AnnouncedTime(unit=unit[0].lower().replace("j", "y"))
    if named.get("tomorrow"):
        return AnnouncedTime(unit="d")
    month = named.get("month")
    number = _number_in(_IS_MONTH, month) if month else int(named.get("month_number") or 0)
    day = named.get("day") or "0"
    return AnnouncedTime(int(named.get("year") or 0), number, int(day) if day.isdigit() else 1)


def _number_in(patterns: list[re.Pattern[str]], word: str) -> int:
    return next(number for number, pattern in enumerate(patterns, start=1) if pattern.fullmatch(word))
