"""Numbers with units, times of day, and money."""

import re
from collections.abc import Iterator
from decimal import Decimal

from compaction.services.pipeline.retention.matches import FactMatch
from compaction.services.pipeline.retention.units import CURRENCIES, CURRENCY_SIGNS, MEASUREMENT_UNITS

_ONES_TEXT = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen
"""
_ONES = _ONES_TEXT.split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {word: Decimal(value) for value, word in enumerate(_ONES)}
_WORDS |= {word: Decimal(value * 10) for value, word in enumerate(_TENS, 2)}
#: Numbers as English words, except compound ones.
NUMBER_WORDS = {word: int(value) for word, value in _WORDS.items()}
_SCALES = {
    "dozen": Decimal(12),
    "hundred": Decimal(100),
    **dict.fromkeys(("thousand", "k", "K"), Decimal(10**3)),
    **dict.fromkeys(("million", "mn", "m", "M"), Decimal(10**6)),
    **dict.fromkeys(("billion", "bn", "b", "B"), Decimal(10**9)),
}
_LONG_SCALES = "hundred|thousand|million|billion|dozen"

# Digits in groups, with a decimal part; a comma is a decimal separator if it cannot separate groups.
_DIGITS = (
    r"(?>\d{1,3}(?:\.\d{3}){1,6},\d{1,2}(?!\d)|\d{1,3}(?:,\d{3}){1,6}(?![\d])(?:\.\d{1,9})?|\d{1,18}(?:[.,]\d{1,9})?)"
)
_WORD_NUMBER = (
    rf"(?:{'|'.join([*_TENS, *reversed(_ONES)])}|a(?=[ -](?:{_LONG_SCALES})\b))"
    rf"(?:[ -](?:{'|'.join([*_TENS, *reversed(_ONES), *_LONG_SCALES.split('|')])})\b){{0,4}}"
)
_LEAD = r"(?<![\w.#/])(?<![A-Za-z_]-)(?<!\d,)"
_AMOUNT = rf"(?P<n>{_DIGITS})(?:\s?(?P<scale>{_LONG_SCALES}|mn|bn|[kKmMbB])(?![A-Za-z\d]))?"

_SIGNS = "|".join(re.escape(sign) for sign in sorted(CURRENCY_SIGNS, key=len, reverse=True))
_CODES = "|".join(sorted({word for word in CURRENCIES if word.isupper()}))
_MONEY_WORDS = "|".join(sorted((word for word in CURRENCIES if not word.isupper()), key=len, reverse=True))

_MONEY = [
    re.compile(rf"(?<![\w.])(?P<c>{_SIGNS})\s?{_AMOUNT}(?:\s(?P<code>{_CODES})\b)?(?!\w)"),
    re.compile(rf"\b(?P<c>{_CODES})\s?{_AMOUNT}(?!\w)"),
    re.compile(rf"{_LEAD}{_AMOUNT}[ -]?(?P<c>(?i:{_MONEY_WORDS})\b|(?:{_CODES})\b|[€£¥₹₽])"),
]
_SPELLED_MONEY = re.compile(rf"(?i:\b(?P<w>{_WORD_NUMBER})[ -](?P<c>{_MONEY_WORDS})\b)")
_NUMBER = re.compile(
    rf"{_LEAD}(?P<sign>(?<!\S)[-−])?(?P<n>{_DIGITS})(?:\s?(?P<scale>(?:{_LONG_SCALES})(?![A-Za-z])|[kKM](?=\s)))?"
    r"(?P<rest>[ -]?[A-Za-zµ°%‰²³/″]{1,24}(?: [A-Za-z°²³/]{1,16}){0,2})"
)
_SPELLED = re.compile(
    rf"\b(?P<w>{_WORD_NUMBER})(?P<rest>[ -][A-Za-z/]{{1,24}}(?: [A-Za-z/]{{1,16}}){{0,2}})", re.IGNORECASE
)
_CLOCK = re.compile(
    r"(?<![\w:.,/-])(?:(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)(?::[0-5]\d)?(?:\s?(?P<half>[AaPp])\.?[Mm]\b)?"
    r"|(?P<h12>1[0-2]|0?[1-9])\s?(?P<half12>[AaPp])\.?[Mm]\b)(?![:\d])"
)
_DIGIT = re.compile(r"\d")
#: Every spelled-out amount contains some of these.
_MONEY_STEMS = tuple(sorted({word[:4].lower() for word in CURRENCIES if not word.isupper()}))
#: "the 1980s" are not seconds, and "one day" is not an amount.
_DECADE = re.compile(r"\d{3}0")
_IDLE_WORDS = {"one", "zero"}


def find_money(text: str) -> Iterator[FactMatch]:
    """Yield amounts of money, `1200 USD` normalised."""
    patterns = _MONEY if _DIGIT.search(text) else []
    folded = text.lower()
    if any(stem in folded for stem in _MONEY_STEMS):
        patterns = [*patterns, _SPELLED_MONEY]
    for pattern in patterns:
        for match in pattern.finditer(text):
            written = match.groupdict().get("code") or match["c"]
            currency = CURRENCIES.get(written) or CURRENCY_SIGNS.get(written) or CURRENCIES[written.lower()]
            value = _value(match)
            if currency.endswith("/100"):
                value, currency = value / 100, currency[:-4]
            yield FactMatch(match.start(), match[0], f"{_plain(value)} {currency}")


def find_numbers(text: str) -> Iterator[FactMatch]:
    """Yield numbers with their units (`5 km`) and times of day (`15:30`), normalised."""
    has_digits = bool(_DIGIT.search(text))
    if has_digits:
        yield from map(_clock, _CLOCK.finditer(text))
    for pattern in (_NUMBER, _SPELLED) if has_digits else (_SPELLED,):
        yield from filter(None, map(_with_unit, pattern.finditer(text)))


def _with_unit(match: re.Match[str]) -> FactMatch | None:
    parts = match.groupdict()
    gap = 1 if match["rest"][0] in " -" else 0
    rest = match["rest"][gap:]
    unit, length = _unit(rest)
    is_decade = unit == "s" and not gap and _DECADE.fullmatch(parts.get("n") or "")
    if not unit or is_decade or (parts.get("w") or "").lower() in _IDLE_WORDS:
        return None
    value = _plain(_value(match))
    sign = "-" if parts.get("sign") else ""
    # "50 pounds" may be money as well
    implied = (f"{value} GBP",) if rest.lower().startswith("pound") else ()
    text = match.string[match.start() : match.start("rest") + gap + length]
    return FactMatch(match.start(), text, f"{sign}{value} {unit}", implied)


def _unit(rest: str) -> tuple[str, int]:
    words = rest.split(" ")
    for count in range(len(words), 0, -1):
        written = " ".join(words[:count])
        # short ones mean something else in another case
        unit = MEASUREMENT_UNITS.get(written) or (MEASUREMENT_UNITS.get(written.lower()) if len(written) > 2 else None)
        if unit:
            return unit, len(written)
    return "", 0


def _clock(match: re.Match[str]) -> FactMatch:
    hour = int(match["h"] or match["h12"])
    half = (match["half"] or match["half12"] or "").lower()
    minute = match["m"] or "00"
    # "3:30" may be in the morning or in the afternoon; "3:30 pm" and "15:30" are unambiguous
    unclear = f"{hour % 12 or 12}:{minute}?"
    if not half and 1 <= hour <= 12 and not match["h"].startswith("0"):
        return FactMatch(match.start(), match[0], unclear)
    hour_24 = hour % 12 + 12 * (half == "p") if half and hour <= 12 else hour
    return FactMatch(match.start(), match[0], f"{hour_24:02}:{minute}", (unclear,))


def _value(match: re.Match[str]) -> Decimal:
    parts = match.groupdict()
    if words := parts.get("w"):
        return _spelled(re.split(r"[ -]", words.lower()))
    return _parsed(match["n"]) * _SCALES.get(parts.get("scale") or "", Decimal(1))


def _parsed(digits: str) -> Decimal:
    point, comma = digits.rfind("."), digits.rfind(",")
    if comma > point >= 0:
        return Decimal(digits.replace(".", "").replace(",", "."))
    if point < 0 <= comma and len(digits) - comma - 1 != 3:
        return Decimal(digits.replace(",", "."))
    return Decimal(digits.replace(",", ""))


def _spelled(words: list[str]) -> Decimal:
    total, current = Decimal(0), Decimal(0)
    for word in words:
        if word in _WORDS:
            current += _WORDS[word]
        elif word in ("hundred", "dozen"):
            current = max(current, Decimal(1)) * _SCALES[word]
        elif word in _SCALES:
            total += max(current, Decimal(1)) * _SCALES[word]
            current = Decimal(0)
    return total + current


def _plain(value: Decimal) -> str:
    written = f"{value:f}"
    return written.rstrip("0").rstrip(".") if "." in written else written
