"""The time from which a statement holds, if its text names one: "from 1 June", "ab Montag", "a partir del 1 de junio".

Only an open-ended date or weekday in the first part of the text counts. A range ("from 3 to 10 May") is the time of an
event, and "figures from May" is a source. An uncertain reading counts as no date, so that the statement holds from the
time when it is stored. English, German and Spanish are supported, each with its own names of months and days.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

#: ADR-0329. A longer text is read up to here.
CHARACTERS_READ = 600
#: ADR-0329. A date without a year that is farther in the future than this is uncertain.
DAYS_AHEAD_MAX = 120.0

_MONTHS = {
    "en": "january february march april may june july august september october november december",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
_DAYS = {
    "en": "monday tuesday wednesday thursday friday saturday sunday",
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
}
#: Only with a day: "from Jan" may mean a person.
_SHORT_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTH_NUMBERS = {
    word: number for words in (*_MONTHS.values(), _SHORT_MONTHS) for number, word in enumerate(words.split(), start=1)
} | {"sept": 9}
_DAY_NUMBERS = {word: number for words in _DAYS.values() for number, word in enumerate(words.split(), start=1)}
_UNITS = {"week": "w", "woche": "w", "month": "m", "monat": "m", "year": "y", "jahr": "y"} | dict.fromkeys(
    ("tomorrow", "morgen", "mañana"), "d"
)

#: What a date follows, by language.
_START = re.compile(
    r"\b(?:(?P<en>from|as of|starting(?: from| on)?|beginning|effective(?: from)?|on (?:and|or) after|takes? over on|"
    r"(?:rises?|goes up|goes down|drops?|falls?|increases?) to [\w.,€£$%]{1,20} on)|"
    r"(?P<de>ab(?: dem)?|(?:steigt|sinkt|übernimmt) (?:am|zum))|(?P<es>a partir del?|desde(?: el)?)) ",
    re.IGNORECASE,
)
#: Words after which "from" names a source or the start of an event.
_SOURCE_WORDS = (
    "nights days weeks away leave is are was were it's come comes came get gets got figures data numbers minutes notes "
    "letter mail email message photo photos picture pictures invoice report quote news results leftovers"
)
_SOURCES = frozenset(_SOURCE_WORDS.split())
_NO_RANGE = r"(?!\w)(?! ?(?:-|–|to\b|till\b|until\b|through\b|and\b|or\b|bis\b|und\b|hasta\b|al?\b|y\b))"


def _dates(language: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a date, the most exact first."""
    months, days = (names[language].replace(" ", "|") for names in (_MONTHS, _DAYS))
    month = rf"(?P<month>{months}|sept|{_SHORT_MONTHS.replace(' ', '|')})\b\.?"
    day = r"(?P<day>\d{1,2}|first|ersten|primero)(?:st|nd|rd|th|\.)?"
    year = r"(?:,?(?: de)? (?P<year>20\d\d)\b)?"
    patterns = (
        r"(?P<year>20\d\d)-(?P<month_number>\d\d)-(?P<day>\d\d)\b",
        rf"(?:(?:{days}),? )?(?:the |el )?{day}(?: of| de)? {month}{year}",
        {
            # "from June 20 jars" may mean a person
            "en": rf"{month} (?P<day>\d{{1,2}})(?:(?:st|nd|rd|th)\b{year}|,? (?P<exact>20\d\d)\b|(?= on\b|[,.;]? ?$))",
            "de": r"(?P<day>\d{1,2})\.(?P<month_number>\d{1,2})\.(?P<year>20\d\d)?",
        }.get(language),
        rf"(?P<month>{months})\b(?:(?: de)? (?P<year>20\d\d)\b)?",
        r"(?:n[aä]chste[rnms]?|next) (?P<unit>week|month|year|woche|monat|jahr)\b",
        r"(?P<unit>tomorrow|morgen|mañana)\b",
        rf"(?:(?:next|coming|n[aä]chste[rnms]?) )?(?P<weekday>{days})\b",
    )
    return tuple(re.compile(f"(?:{one}){_NO_RANGE}", re.IGNORECASE) for one in patterns if one)


_DATES = {language: _dates(language) for language in _MONTHS}


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
        """Return the start of the date in UTC, for a text of `created`; an uncertain or impossible date is `created`.

        Without a year, it is the one nearest to `created`, and uncertain from `DAYS_AHEAD_MAX` on.
        """
        midnight = created.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        date = min(self._dates(midnight), key=lambda date: abs(date - midnight), default=created)
        is_uncertain = not self.year and not self.unit and date - midnight > timedelta(days=DAYS_AHEAD_MAX)
        return created if is_uncertain else date

    def _dates(self, midnight: datetime) -> Iterator[datetime]:
        for year in [self.year] if self.year else (midnight.year - 1, midnight.year, midnight.year + 1):
            try:
                if self.weekday:
                    yield midnight + timedelta(days=(self.weekday - 2 - midnight.weekday()) % 7 + 1)
                elif self.unit:
                    yield _next_of(self.unit, midnight)
                else:
                    yield datetime(year, self.month or 1, self.day or 1, tzinfo=UTC)
            except (ValueError, OverflowError):
                continue


def announced_time(text: str) -> AnnouncedTime | None:
    """Return the time from which the text says that it holds; None if it names none."""
    text = text[:CHARACTERS_READ]
    for start in _START.finditer(text):
        word, before = start[0].split()[0].lower(), text[: start.start()].split()[-1:]
        if word == "from" and before and before[0].lower() in _SOURCES:
            continue
        matches = (pattern.match(text, start.end()) for pattern in _DATES[start.lastgroup or "en"])
        match = next((one for one in matches if one), None)
        if match and not (word in ("from", "desde") and _is_month_alone(match)):
            return _time_of(match.groupdict())
    return None


def _is_month_alone(match: re.Match[str]) -> bool:
    """Whether the name may be that of a person ("from June"), or mean "since"."""
    named = match.groupdict()
    has_more = named.get("day") or named.get("year") or match.string.startswith(" on", match.end())
    return bool(named.get("month")) and not has_more


def _next_of(unit: str, midnight: datetime) -> datetime:
    if unit == "y":
        return midnight.replace(year=midnight.year + 1, month=1, day=1)
    if unit == "m":
        return (midnight.replace(day=28) + timedelta(days=4)).replace(day=1)
    return midnight + timedelta(days=7 - midnight.weekday() if unit == "w" else 1)


def _time_of(named: dict[str, str | None]) -> AnnouncedTime:
    if weekday := named.get("weekday"):
        return AnnouncedTime(weekday=_DAY_NUMBERS[weekday.lower()])
    if unit := named.get("unit"):
        return AnnouncedTime(unit=_UNITS[unit.lower()])
    month = named.get("month")
    number = _MONTH_NUMBERS[month.lower()] if month else int(named.get("month_number") or 0)
    day = named.get("day") or "0"
    return AnnouncedTime(int(named.get("year") or named.get("exact") or 0), number, int(day) if day.isdigit() else 1)
