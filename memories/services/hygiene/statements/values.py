"""Numbers, dates, times and amounts of a text, each in one canonical form."""

import re
from collections.abc import Sequence
from decimal import Decimal

from memories.services.hygiene.statements.vocabulary import UNIT_PAIRS, UNITS, LanguageVocabulary
from memories.services.hygiene.statements.words import Word

_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_DAY_FIRST_DATE = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4})")
_CLOCK = re.compile(r"(\d{1,2})[:h](\d{2})")
#: A time with a point, such as "8.30 Uhr".
_POINTED_CLOCK = re.compile(r"(\d{1,2})\.(\d{2})")
#: A number with separated thousands and with decimals, without and with a comma before decimals.
_GROUPED = {
    False: re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"),
    True: re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?"),
}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_AMOUNT = re.compile(r"[+-]?\d+(\.\d+)?")
#: In a text of mixed habits, "1.500" may have decimals or separated thousands.
_UNSURE_AMOUNT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_YEAR = re.compile(r"[12]\d{3}")
#: Parts of the day that tell morning from evening after an hour, as words, and the hours to add.
_DAY_PARTS = {
    ("in", "the", "morning"): 0,
    ("in", "the", "afternoon"): 12,
    ("in", "the", "evening"): 12,
    ("at", "night"): 12,
    ("de", "la", "mañana"): 0,
    ("de", "la", "tarde"): 12,
    ("de", "la", "noche"): 12,
    ("am",): 0,
    ("pm",): 12,
}
_BEFORE_HOURS = frozenset(["las", "la", "à", "às"])
_CURRENCIES = frozenset(["EUR", "USD", "GBP", "CHF", "€", "$", "£"])
_MONTH_LINKS = frozenset(["of", "de", "del"])
#: Words between an hour and its minutes, as in "las tres y media".
_AFTER_HOURS = frozenset(["y", "menos"])
_DURATION_ANDS = frozenset(["and", "und", "y"])
_MILLISECONDS = re.compile(r"(\d+)_ms")
#: Units of amounts of something, after which "of" may be left out.
_SUBSTANCE_UNITS = frozenset(["mg", "ml", "KB", "MB", "GB", "TB"])
#: Milliseconds of an hour and of a minute.
_DURATION_UNITS = (3_600_000, 60_000)
#: Words that a number, date, time or amount may consist of.
_VALUE_WORDS_MAX = 8
#: The smallest number word that multiplies everything before it.
_SCALE_MIN = 1_000
_DAYS, _MONTHS, _HOURS, _NOON, _MINUTES = 31, 12, 24, 12, 60

#: A value and the number of its words; None if the words name no value.
Reading = tuple[str, int] | None


def read_figure(text: str, language: LanguageVocabulary) -> str:
    """Return a number, date or time in digits in its canonical form; ambiguous ones are unchanged."""
    if found := _ISO_DATE.fullmatch(text):
        return _date(int(found[3]), int(found[2]), found[1]) or text
    if found := _DAY_FIRST_DATE.fullmatch(text):
        is_day_first = found[2] == "." or language.decimal_comma
        return _date_in_digits(int(found[1]), int(found[3]), found[4], is_day_first=is_day_first) or text
    if found := _CLOCK.fullmatch(text):
        return _clock(int(found[1]), int(found[2])) or text
    grouping, decimals = (".", ",") if language.decimal_comma else (",", ".")
    if _GROUPED[language.decimal_comma].fullmatch(text):
        return text.replace(grouping, "").replace(decimals, ".")
    if (language.decimal_comma or text[-4:-3] != ",") and _DECIMAL_COMMA.fullmatch(text):
        return text.replace(",", ".")
    return text


def join_values(words: Sequence[Word], language: LanguageVocabulary) -> list[Word]:
    """Return the words with number words, dates, times and amounts joined into one word each."""
    words = _without_year_links(words, language)
    for read in (_clock_phrase, _number, _hour, _calendar_day, _amount, _duration):
        found: list[Word] = []
        place = 0
        while place < len(words):
            word = words[place]
            text, count = "", 1
            if word.is_value or word.parts or word.text in language.value_words:
                before = words[place - 1].text if place and not word.break_before else ""
                text, count = read(words[place : place + _VALUE_WORDS_MAX], before, language) or ("", 1)
            found.append(word.as_value(text) if text else word)
            place += count if text else 1
        words = found
    return list(words)


def _without_year_links(words: Sequence[Word], language: LanguageVocabulary) -> list[Word]:
    """Return the words without "of" between a month or a season and a year."""
    return [
        word
        for place, word in enumerate(words)
        if not (
            word.text in _MONTH_LINKS
            and 0 < place < len(words) - 1
            and (words[place - 1].text in language.months or words[place - 1].text in language.seasons)
            and _year(words[place + 1 :])
        )
    ]


def _clock_phrase(words: Sequence[Word], before: str, language: LanguageVocabulary) -> Reading:
    """Read "half past seven", "halb acht" and "las siete y media"."""
    texts = [word.text for word in words]
    for phrase, minutes in language.clock_phrases.items():
        size = len(phrase)
        if tuple(texts[:size]) == phrase and len(texts) > size:
            hour = _hour_named(words[size], language)
            return (_clock_before(hour, minutes), size + 1) if hour else None
        if before in _BEFORE_HOURS and tuple(texts[1 : 1 + size]) == phrase and phrase[0] in _AFTER_HOURS:
            hour = _hour_named(words[0], language)
            return (_clock_before(hour, minutes), size + 1) if hour else None
    return None


def _hour_named(word: Word, language: LanguageVocabulary) -> int:
    """Return the hour from 1 to 12 that a word names; 0 if it names none."""
    hour = int(word.text) if word.text.isdecimal() and len(word.text) <= 2 else language.numbers.get(word.text, 0)
    return hour if hour <= _NOON and not word.break_before else 0


def _clock_before(hour: int, minutes: int) -> str:
    """Return the time that is `minutes` after an hour, or before it if they are negative."""
    past = hour * _MINUTES + minutes
    return _clock(past // _MINUTES or _NOON, past % _MINUTES)


def _duration(words: Sequence[Word], _before: str, _language: LanguageVocabulary) -> Reading:
    """Read "3 hours and 42 minutes" as one amount."""
    place = 2 if len(words) > 2 and words[1].text in _DURATION_ANDS else 1
    if len(words) <= place or any(word.break_before for word in words[1 : place + 1]):
        return None
    larger, smaller = (_MILLISECONDS.fullmatch(word.text) for word in (words[0], words[place]))
    if larger is None or smaller is None:
        return None
    total, more = int(larger[1]), int(smaller[1])
    unit = next((unit for unit in _DURATION_UNITS if total % unit == 0), 0)
    return (f"{total + more}_ms", place + 1) if 0 < more < unit else None


def _number(words: Sequence[Word], before: str, language: LanguageVocabulary) -> Reading:
    first = words[0]
    if first.text in language.ordinals and not before[:1].isdigit():
        return f"{language.ordinals[first.text]}.", 1
    if not first.is_value:
        value, count = _number_run(words, language)
        if count and [word.text for word in words[count : count + 3]] == ["and", "a", "half"]:
            return f"{value}.5", count + 3
        return (str(value), count) if count else None
    scale = _number_word(words[1], language) if len(words) > 1 and not words[1].break_before else None
    if scale is None or scale < _SCALE_MIN or not _AMOUNT.fullmatch(first.text):
        return None
    return f"{(Decimal(first.text) * scale).normalize():f}", 2


def _number_run(words: Sequence[Word], language: LanguageVocabulary) -> tuple[int, int]:
    """Return the number that the first words name and how many these are; 0 words if they name none."""
    total = current = count = 0
    for place, word in enumerate(words):
        value = _number_word(word, language)
        if place and word.break_before:
            break
        if word.text in ("and", "y") and current and place + 1 < len(words):
            unit = _number_word(words[place + 1], language)
            if unit and current % 10 == 0 and unit < (100 if current % 100 == 0 else 10):
                continue
            break
        if value is None:
            break
        if value >= _SCALE_MIN:
            total, current = total + max(current, 1) * value, 0
        elif (joined := _joined(current, value, word.text)) is not None:
            current = joined
        else:
            break
        count = place + 1
    return total + current, count


def _joined(current: int, value: int, text: str) -> int | None:
    """Return the number that a number and the number word after it name together."""
    if 0 < current < 100 and (value == 100 or text == "dozen"):
        return current * value
    if 10 <= current < 100 and 10 <= value < 100:
        return current * 100 + value
    is_after_hundreds = current >= 100 and current % 100 == 0 and value < 100
    is_after_tens = current % 100 >= 20 and current % 10 == 0 and value < 10
    return current + value if not current or is_after_hundreds or is_after_tens else None


def _number_word(word: Word, language: LanguageVocabulary) -> int | None:
    if len(word.parts) != 2:
        return language.numbers.get(word.text)
    tens, unit = (language.numbers.get(part, 0) for part in word.parts)
    return tens + unit if tens and tens % 10 == 0 and 0 < unit < 10 else None


def _hour(words: Sequence[Word], before: str, _language: LanguageVocabulary) -> Reading:
    texts = tuple(word.text for word in words)
    if not words[0].is_value:
        return None
    is_named = texts[1:2] == ("uhr",)
    hour, minute = _clock_parts(texts[0], is_named=is_named)
    if hour is None:
        return None
    for part, added in _DAY_PARTS.items():
        if texts[1 : 1 + len(part)] == part and hour <= _NOON:
            return _clock(hour % _NOON + added, minute), 1 + len(part)
    is_clock = before in _BEFORE_HOURS
    if is_named and texts[2:3] and texts[2].isdigit() and ":" not in texts[0] and int(texts[2]) < _MINUTES:
        return _clock(hour, int(texts[2])), 3
    is_followed = (texts[1:2] == ("h",) and (is_clock or ":" in texts[0])) or (is_clock and texts[1:2] == ("horas",))
    return (_clock(hour, minute), 2) if is_named or is_followed else None


def _clock_parts(text: str, *, is_named: bool) -> tuple[int | None, int]:
    if is_named and _POINTED_CLOCK.fullmatch(text):
        text = text.replace(".", ":")
    hour, _, minute = text.partition(":")
    if hour.isdigit() and len(hour) <= 2 and int(hour) <= _HOURS and (not minute or minute.isdigit()):
        return int(hour), int(minute or 0)
    return None, 0


def _clock(hour: int, minute: int) -> str:
    return f"{hour}:{minute:02}" if hour <= _HOURS and minute < _MINUTES else ""


def _calendar_day(words: Sequence[Word], _before: str, language: LanguageVocabulary) -> Reading:
    texts = [word.text for word in words]
    months = language.months
    if words[0].is_value and texts[0].rstrip(".").isdigit():
        place = 2 if texts[1:2] and texts[1] in _MONTH_LINKS else 1
        if place < len(words) and texts[place] in months:
            after = place + 2 if texts[place + 1 : place + 2] and texts[place + 1] in _MONTH_LINKS else place + 1
            year = _year(words[after:])
            return _date(int(texts[0].rstrip(".")), months[texts[place]], year), after + 1 if year else place + 1
    elif texts[0] in months:
        day, year = (texts[1].rstrip(".") if len(words) > 1 and words[1].is_value else ""), _year(words[2:])
        if day.isdigit() and len(day) <= 2 and not language.decimal_comma:
            return _date(int(day), months[texts[0]], year), 3 if year else 2
        if _year(words[1:]):
            return f"month_{months[texts[0]]}", 1
    return None


def _year(words: Sequence[Word]) -> str:
    return words[0].text if words and words[0].is_value and _YEAR.fullmatch(words[0].text) else ""


def _date_in_digits(day: int, month: int, year: str, *, is_day_first: bool) -> str:
    """Return a date whose numbers are in the order of day and month, unless the second is not a month."""
    if is_day_first or day > _MONTHS:
        return _date(day, month, year)
    return _date(month, day, year) if month > _MONTHS else ""


def _date(day: int, month: int, year: str) -> str:
    return f"date_{year}-{month:02}-{day:02}" if 1 <= day <= _DAYS and 1 <= month <= _MONTHS else ""


def _amount(words: Sequence[Word], before: str, language: LanguageVocabulary) -> Reading:
    if words[0].raw in _CURRENCIES and len(words) > 1 and words[1].is_value and _AMOUNT.fullmatch(words[1].text):
        return _amount([words[1], words[0].as_value(words[0].raw)], before, language)
    if not words[0].is_value or not _AMOUNT.fullmatch(words[0].text) or len(words) < 2 or words[1].break_before:
        return None
    pair = UNIT_PAIRS.get((words[1].text, words[2].text)) if len(words) > 2 else None
    unit = pair or words[1].raw
    canonical = UNITS.get(unit) or (UNITS.get(unit.casefold()) if len(unit) > 3 else None)
    if canonical is None:
        return None
    name, factor = canonical
    sign = "+" if words[0].text.startswith("+") else ""
    count = 3 if pair else 2
    is_of = name in _SUBSTANCE_UNITS and len(words) > count + 1 and words[count].text == "of"
    if _UNSURE_AMOUNT.fullmatch(words[0].text):
        return f"{words[0].text}_{factor}_{name}", count + is_of
    return f"{sign}{(Decimal(words[0].text) * factor).normalize():f}_{name}", count + is_of
