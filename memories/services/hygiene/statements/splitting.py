"""Split a text into words, whose punctuation becomes breaks."""

import re
import unicodedata
from collections.abc import Iterator

from memories.services.hygiene.statements.vocabulary import ABBREVIATIONS, LANGUAGES, UNITS
from memories.services.hygiene.statements.words import Word

_REPLACED = {"'": "‘’‚‛´ʼ′", '"': "“”„‟«»″", "-": "‐‑‒−", " – ": "–", " — ": "—", "x": "×", "th": "ºª"}
_TRANSLATION = {ord(sign): text for text, signs in _REPLACED.items() for sign in signs}
_TRANSLATION |= {ord(sign): f"^{digit}" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_TRANSLATION |= {ord("≥"): ">=", ord("≤"): "<=", ord("≠"): "!="}
_SPACED_THOUSANDS = re.compile(r"(?<=\d)(?:[\u00a0\u202f\u2009](?=\d{3}(?!\d))| (?=000(?!\d)))")
_RANGE = re.compile(r"(?<![\w.,:/-])([1-9]\d{0,3})\s?(?:–|-)\s?([1-9]\d{0,3})(?![\w.,:/-]*\w)")
_THOUSANDS = re.compile(r"(?<![\w.,])(\$|€|£)?(\d{1,3})k\b")
#: Numbers that do not begin a list, tags of memories, and figures that are written together with words.
_BEFORE = re.compile(
    r"\A\s*(?:1\)\s+(?!.*\b2\))|\[(?:memory|memo|note|notiz|nota|recuerdo|info|fyi)\]\s+)(?=\S)",
    re.DOTALL | re.IGNORECASE,
)
_MONTHS = "|".join(sorted({month for language in LANGUAGES.values() for month in language.months if month.isalpha()}))
_JOINED_DATE = re.compile(rf"(?<![\w-])(\d{{1,2}})-({_MONTHS})-(\d{{4}})(?![\w-])", re.IGNORECASE)
_SLASHED = {
    re.compile(r"(?<=[a-z€$£])/(?=(?:second|minute|hour|day|night|week|month|year|person)\b)"): " per ",
    re.compile(r"(?<=[a-zß€$£])/(?=(?:Minute|Stunde|Tag|Nacht|Woche|Monat|Jahr|Person)\b)"): " pro ",
    re.compile(r"(?<=[a-zñ€$£])/(?=(?:hora|noche|semana|mes|año|persona)\b)"): " por ",
    re.compile(r"(?<!\S)w/o(?!\S)"): "without",
    re.compile(r"(?<!\S)w/ ?(?=\w)"): "with ",
    re.compile(r"(?<!\S)b/c(?!\S)"): "because",
    re.compile(r"(?<!\S)[Cc]/ ?(?=[A-ZÁÉÍÓÚÑ])"): "calle ",
}
_JOINED_ORDINAL = re.compile(r"(?<![\w.,:/-])(\d{1,2})\.(?=[A-ZÄÖÜ][^\W\d_]+\b)")
_NEW_ITEM = re.compile(r"(?:^|\n)\s*[-*•]\s+|\n\s*\d+[.)]\s+|\n\s*\n")
_OPENING, _CLOSING = "\"'([{¿¡", "\"')]}.,;:!?…"
_HARD, _SOFT = ".;:!?…=", ",()[]-–—"
_INITIALS = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W\d_](?:\.[^\W\d_])+")
_PLAIN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*'?")
_FIGURE = re.compile(r"(US\$|[€$£])?([+-]?\d(?:[\d.,:/-]*\d)?)(.*)", re.DOTALL)
_ORDINAL = re.compile(r"\.?(?:st|nd|rd|th|er)")
_UNIT_SUFFIX = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+)?|°[CF]?|[%€$£]")
_IDENTIFIER = re.compile(r"[a-zß-ÿ][A-Z]")
_PROTECTED_CAPITALS = frozenset(["us", "it", "who", "aids"])


def clean(text: str) -> str:
    """Return the text with one character per punctuation mark and one notation for numbers, list items and emphasis."""
    text = _SPACED_THOUSANDS.sub("", text).translate(_TRANSLATION)
    if not text.isascii():
        text = "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")
    text = _JOINED_ORDINAL.sub(r"\1. ", _JOINED_DATE.sub(r"\1 \2 \3", text))
    for pattern, words in _SLASHED.items() if "/" in text else ():
        text = pattern.sub(words, text)
    text = _BEFORE.sub("", text, count=1)
    text = _NEW_ITEM.sub(" ; ", text.replace("**", "").replace("`", "").strip())
    return _RANGE.sub(r"\1 to \2", _THOUSANDS.sub(r"\1\g<2>000", text))


def split(text: str) -> Iterator[Word]:
    """Yield the words between spaces without the punctuation around them, which becomes breaks."""
    pending = 0
    for chunk in text.split():
        if chunk in ("-", "–", "—", "="):
            pending = max(pending, 2 if chunk == "=" else 1)
            continue
        core = (chunk.strip("*") or chunk).lstrip(_OPENING)
        if core.startswith("_") and core.rstrip(_CLOSING).endswith("_"):
            core = core.strip("_")
        opened = 1 if set(chunk[: len(chunk) - len(core)]) & set("([{") else 0
        stripped = core.rstrip(_CLOSING)
        tail = core[len(stripped) :]
        if stripped and _INITIALS.fullmatch(stripped + "."):
            stripped, tail = stripped.replace(".", ""), tail.removeprefix(".")
        elif stripped.casefold() in ABBREVIATIONS or (len(stripped) == 1 and stripped.isalpha()):
            tail = tail.replace(".", "", 1)
        after = _break_of(tail)
        if stripped.isdecimal() and tail == ".":
            yield Word(core, stripped, stripped, break_before=max(pending, opened), is_value=True)
            pending, after = 0, 1
        elif stripped:
            yield from _words_of(stripped, max(pending, opened))
            pending = 0
        pending = max(pending, after)
        if "?" in tail:
            yield Word("?", "?", "?", is_value=True)


def _break_of(punctuation: str) -> int:
    if any(sign in _HARD for sign in punctuation):
        return 2
    return 1 if any(sign in _SOFT for sign in punctuation) else 0


def _words_of(core: str, break_before: int) -> list[Word]:
    if _PLAIN.fullmatch(core):
        return [_plain_word(core, break_before)]
    found = _FIGURE.fullmatch(core)
    whole = Word(core, core, core, break_before=break_before, is_value=True)
    if found is None:
        return [whole]
    currency, figure, suffix = found.groups()
    words = [Word(figure, figure, figure, break_before=break_before, is_value=True)]
    if suffix.casefold() in ("am", "pm", "a.m", "p.m"):
        words.append(_plain_word(suffix.casefold().replace(".", ""), 0))
    elif _ORDINAL.fullmatch(suffix):
        words[0] = words[0].as_value(f"{figure}.")
    elif _UNIT_SUFFIX.fullmatch(suffix) and suffix.split("/")[0] in UNITS:
        words.append(Word(suffix, suffix, suffix))
    elif suffix:
        return [whole]
    return [*words, Word(currency, currency, currency)] if currency else words


def _plain_word(core: str, break_before: int) -> Word:
    core = core.rstrip("'")
    parts = tuple(part.lower() for part in core.split("-"))
    if len(parts) > 1 and all(len(part) <= 3 and part.isupper() for part in core.split("-")):
        return Word(core, core, core, break_before=break_before, is_value=True)
    is_identifier = _IDENTIFIER.search(core) or (core.isupper() and core.lower() in _PROTECTED_CAPITALS)
    text = core if is_identifier else core.lower()
    return Word(core, text, text, break_before=break_before, parts=parts if len(parts) > 1 else ())
