"""Numbers of a text, as digits: those in digits and those in English, German and Spanish words."""

import re
from collections.abc import Iterator

_DIGITS = re.compile(r"\d+(?:[.,:/]\d+)*")
_WORD = re.compile(r"[^\W\d_]+|[.;!?]")
_UP_TO_19 = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen",
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn "
    "neunzehn",
    "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho "
    "diecinueve",
)
_TENS = (
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
)
_VALUES = {word: value for words in _UP_TO_19 for value, word in enumerate(words.split(), start=2)} | {
    word: 10 * value for words in _TENS for value, word in enumerate(words.split(), start=2)
}
_MULTIPLES = {"hundred": 100, "thousand": 1_000}


def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers without leading zeros, with a point for each comma ("2,400" and "2.400" are the same)."""
    digits = (number.replace(",", ".").lstrip("0") or "0" for number in _DIGITS.findall(text))
    return frozenset((*digits, *map(str, _spelled(text.lower()))))


def _spelled(text: str) -> Iterator[int]:
    """Yield the numbers in words; the words of one number follow each other ("one hundred and thirty-four")."""
    thousands = number = 0
    for word in (*_WORD.findall(text), "."):
        if word in _MULTIPLES:
            value = max(number, 1) * _MULTIPLES[word]
            thousands, number = (thousands + value, 0) if word == "thousand" else (thousands, value)
        elif word in _VALUES or (word == "one" and number):
            number += _VALUES.get(word, 1)
        elif word != "and" and (thousands or number):
            yield thousands + number
            thousands = number = 0
