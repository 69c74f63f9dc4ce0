"""The numbers with units, dates, times and identifiers of a statement, and which of them conflict."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from memories.services.hygiene.replacement.vocabulary import AttributeWords
from memories.services.hygiene.statements.vocabulary import LanguageVocabulary
from memories.services.hygiene.statements.words import Word

_DATE = re.compile(r"date_(\d{4})?-(\d{2})-(\d{2})")
_MONTH = re.compile(r"month_(\d+)")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})")
_AMOUNT = re.compile(r"([+-]?\d+(?:\.\d+)?)_(.+)")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"(\d{1,2})\.")
_DAYS = {
    "en": "monday tuesday wednesday thursday friday saturday sunday",
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
}
_WEEKDAYS = {day: number for days in _DAYS.values() for number, day in enumerate(days.split())}
_WEEKDAYS |= {"sonnabend": 5}
_MONEY = frozenset(["eur", "usd", "gbp", "chf"])
#: Words that a number neither counts nor belongs to.
_NO_NOUNS = (
    *("prepositions", "ignored", "now", "additions", "changes", "ends", "be", "negations", "light", "contrasts"),
    *("first_person", "second_person", "third_person"),
)
_DAYS_OF_MONTH, _HOURS, _HALF_DAY = 31, 24, 720


class Value(NamedTuple):
    """A value: its kind, its unit or the noun that it counts, its number, or the parts of its date by name."""

    kind: str
    text: str
    unit: str = ""
    number: Decimal = Decimal(0)
    date: tuple[tuple[str, int], ...] = ()

    def conflicts_with(self, other: "Value") -> bool:
        """Whether both are values of one attribute that cannot be true at the same time."""
        if "date" in (self.kind, other.kind):
            mine, theirs = dict(self.date), dict(other.date)
            return self.kind == other.kind and any(mine[part] != theirs[part] for part in mine.keys() & theirs.keys())
        if self.kind != other.kind and {self.kind, other.kind} & {"code", "ordinal"}:
            return False
        if self.kind in ("code", "ordinal"):
            return self.unit == other.unit and self.text != other.text
        if "time" in (self.kind, other.kind):
            return _times_differ(self, other)
        is_same_unit = self.unit == other.unit or not self.unit or not other.unit
        return is_same_unit and self.number != other.number


def _times_differ(one: Value, other: Value) -> bool:
    """Whether times of day differ; a bare number up to 24 is an hour, and morning and evening are not distinguished."""
    minutes = []
    for value in (one, other):
        if value.kind == "time":
            minutes.append(int(value.number))
        elif value.unit or not 0 <= value.number <= _HOURS or value.number % 1:
            return False
        else:
            minutes.append(int(value.number) * 60)
    return (minutes[0] - minutes[1]) % _HALF_DAY != 0


def read_value(
    words: Sequence[Word], place: int, language: LanguageVocabulary, vocabulary: AttributeWords
) -> tuple[Value, int] | None:
    """Return the value that begins at a position and the number of its words."""
    word = words[place]
    read = _read_clock(words, place, vocabulary) or _read_date(words, place, language, vocabulary)
    if read is not None:
        return read
    if not word.is_value:
        return None
    if found := _CLOCK.fullmatch(word.text):
        return Value("time", word.text, number=Decimal(int(found[1]) * 60 + int(found[2]))), 1
    if found := _AMOUNT.fullmatch(word.text):
        unit = "money" if found[2] in _MONEY else found[2]
        return Value("number", word.text, unit, Decimal(found[1])), 1
    if _NUMBER.fullmatch(word.text):
        unit = _counted(words, place, vocabulary) or _numbered(words, place, vocabulary)
        return Value("number", word.text, unit, Decimal(word.text)), 1
    if found := _ORDINAL.fullmatch(word.text):
        return Value("ordinal", word.text, _counted(words, place, vocabulary), Decimal(found[1])), 1
    return Value("code", word.text, _shape(word.text)), 1


def _counted(words: Sequence[Word], place: int, vocabulary: AttributeWords) -> str:
    """Return the noun that a number counts: the word after it, without its ending."""
    if place + 1 >= len(words):
        return ""
    after = words[place + 1]
    is_other = after.break_before or after.is_value or not after.text.isalpha() or after.text in vocabulary.verbs
    return "" if is_other or any(after.text in vocabulary.cues[cue] for cue in _NO_NOUNS) else after.stem.rstrip("ns")


def _numbered(words: Sequence[Word], place: int, vocabulary: AttributeWords) -> str:
    """Return the noun before a number that belongs to it, as in "room 12", marked as such."""
    if not place or words[place].break_before:
        return ""
    before = words[place - 1]
    is_other = not before.text.isalpha() or before.text in vocabulary.verbs
    return "" if is_other or any(before.text in vocabulary.cues[cue] for cue in _NO_NOUNS) else f"#{before.stem}"


def _shape(text: str) -> str:
    if "@" in text:
        return "mail"
    if re.fullmatch(r"[+\d][\d /()-]+", text):
        return "digits"
    if "://" in text or text.startswith("www."):
        return "url"
    return "code"


def _read_date(
    words: Sequence[Word], place: int, language: LanguageVocabulary, vocabulary: AttributeWords
) -> tuple[Value, int] | None:
    parts: dict[str, int] = {}
    at = place
    while at < len(words) and at < place + 4:
        if at > place and words[at].break_before == 2:
            break
        is_ordinal = _ORDINAL.fullmatch(words[at].text) and not _counted(words, at, vocabulary)
        is_day = is_ordinal or "weekday" in parts or (at == place > 0 and words[place - 1].text in vocabulary.day_words)
        more = _date_parts(words[at], language, is_day=bool(is_day))
        if not more or more.keys() & parts.keys():
            break
        parts |= more
        at += 1
    if not parts:
        return None
    text = "-".join(f"{name}{number}" for name, number in sorted(parts.items()))
    return Value("date", text, date=tuple(sorted(parts.items()))), at - place


def _date_parts(word: Word, language: LanguageVocabulary, *, is_day: bool) -> dict[str, int]:
    if found := _DATE.fullmatch(word.text):
        year = {"year": int(found[1])} if found[1] else {}
        return {"month": int(found[2]), "day": int(found[3]), **year}
    if found := _MONTH.fullmatch(word.text):
        return {"month": int(found[1])}
    if found := _ORDINAL.fullmatch(word.text):
        return {"day": int(found[1])} if is_day and 0 < int(found[1]) <= _DAYS_OF_MONTH else {}
    name = word.text if word.text in _WEEKDAYS else word.stem if word.stem in _WEEKDAYS else word.text[:-1]
    if not word.is_value and name in _WEEKDAYS:
        return {"weekday": _WEEKDAYS[name]}
    if (
        word.text in language.months
        and word.raw[:1].isupper() | language.decimal_comma
        and (len(word.text) > 3 or word.case == "C")
    ):
        return {"month": language.months[word.text]}
    if is_day and word.text.isdigit() and 0 < int(word.text) <= _DAYS_OF_MONTH:
        return {"day": int(word.text)}
    return {}


def _read_clock(words: Sequence[Word], place: int, vocabulary: AttributeWords) -> tuple[Value, int] | None:
    for pattern, minutes in vocabulary.clock:
        some = words[place : place + len(pattern)]
        if len(some) < len(pattern):
            continue
        hour = some[pattern.index("#")].text
        is_match = all(one == "#" or one == word.text for one, word in zip(pattern, some, strict=True))
        if is_match and hour.isdigit() and int(hour) <= _HOURS:
            total = int(hour) * 60 + minutes
            return Value("time", f"{total}min", number=Decimal(total)), len(pattern)
    return None
