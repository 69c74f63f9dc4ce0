"""Numbers of a text, as digits: those in digits and those in words.

English words are read up to 999,999, German and Spanish ones up to 99 and with whole thousands. Number words that form
no such number together ("six thirty", "two and a half") are not read. The Spanish "once" is not read, because it is an
English word.
"""

import re
from collections.abc import Iterator

_DIGITS = re.compile(r"\d+(?:[.,:/]\d+)*")
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\s\w-]")
_UNITS = (
    "two three four five six seven eight nine",
    "zwei drei vier fünf sechs sieben acht neun",
    "dos tres cuatro cinco seis siete ocho nueve",
)
_TEENS = (
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
)
#: From 12 on.
_SPANISH_TEENS = "doce trece catorce quince dieciséis diecisiete dieciocho diecinueve"
_SPANISH_TWENTIES = (
    "veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
)
_TENS = (
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
)
_OF_UNITS = {word: value for words in _UNITS for value, word in enumerate(words.split(), start=2)}
_OF_TENS = {word: 10 * value for words in _TENS for value, word in enumerate(words.split(), start=2)}
#: Those to which nothing is added: below twenty, and German and Spanish ones in one word.
_OF_WHOLE = {
    **{word: value for words in _TEENS for value, word in enumerate(words.split(), start=10)},
    "diez": 10,
    **{word: value for value, word in enumerate(_SPANISH_TEENS.split(), start=12)},
    **{word: value for value, word in enumerate(_SPANISH_TWENTIES.split(), start=21)},
    **{
        f"{unit}und{tens}": value + 10 * ten
        for value, unit in enumerate(("ein", *_UNITS[1].split()), start=1)
        for ten, tens in enumerate(_TENS[1].split(), start=2)
    },
}
_ONES = dict.fromkeys(("one", "uno", "una"), 1)
_VALUES = _OF_UNITS | _OF_TENS | _OF_WHOLE | _ONES
_MULTIPLES = {"hundred": 100, "thousand": 1_000, "tausend": 1_000, "mil": 1_000}
#: Words next to which a number is not read.
_UNREAD = "half quarter dozen million millions billion hundert millionen medio media cien ciento millón millones"
#: The kind of each word as a letter, so that one expression describes the words of a number.
_KINDS = {
    **dict.fromkeys(_OF_UNITS, "u"),
    **dict.fromkeys(_OF_TENS, "d"),
    **dict.fromkeys(_OF_WHOLE, "t"),
    **dict.fromkeys(_ONES, "o"),
    **dict.fromkeys(_MULTIPLES, "k"),
    **dict.fromkeys(_UNREAD.split(), "x"),
    "hundred": "h",
    "a": "a",
    "and": "n",
    "y": "y",
}
_UP_TO_99 = "(?:d(?:y?[uo])?|t|u)"
_UP_TO_999 = f"(?:[uoa]h(?:n?(?:{_UP_TO_99}|o))?|{_UP_TO_99})"
_NUMBER = re.compile(
    rf"(?<![udtohkx])(?:(?:{_UP_TO_999}|[oa])k(?:n?(?:{_UP_TO_999}|o))?|{_UP_TO_999})(?![udtohkx]|na?x|yx)"
)


def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers without leading zeros, with a point for each comma ("2,400" and "2.400" are the same)."""
    digits = (number.replace(",", ".").lstrip("0") or "0" for number in _DIGITS.findall(text))
    return frozenset((*digits, *map(str, _spelled(_TOKEN.findall(text.lower())))))


def _spelled(tokens: list[str]) -> Iterator[int]:
    """Yield the numbers in words; the words of one number follow each other ("one hundred and thirty-four")."""
    if _VALUES.keys().isdisjoint(tokens) and _MULTIPLES.keys().isdisjoint(tokens):
        return
    for match in _NUMBER.finditer("".join([_KINDS.get(token, ".") for token in tokens])):
        thousands = number = 0
        for word in tokens[match.start() : match.end()]:
            if multiple := _MULTIPLES.get(word):
                value = max(number, 1) * multiple
                thousands, number = (thousands, value) if multiple < 1_000 else (value, 0)
            else:
                number += _VALUES.get(word, 0)
        yield thousands + number
