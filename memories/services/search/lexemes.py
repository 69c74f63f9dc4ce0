"""Lexemes that Postgres' dictionaries miss: folded forms, n-grams and identifiers (ADR-0076).

A change of these rules needs a migration that derives every row again.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise

#: Longer identifiers (encoded data, most likely) are found by their parts alone.
MAX_IDENTIFIER_CHARACTERS = 200
#: Longer lexemes are left out: Postgres stores 2,046 bytes of one, and `array_to_tsvector` garbles what is longer.
MAX_LEXEME_BYTES = 2_000
#: A single letter or digit of an identifier tells nothing.
MIN_PART_CHARACTERS = 2
#: Hexadecimal digits of the MD5 that binds derived columns to the text they were made of.
MARK_DIGITS = 8
#: What stands before a word that its language drops, in a text vector: `=the`.
STOP_WORD_MARK = "="

#: Scripts without spaces between words, and Hangul, whose words carry their particles: first and last code points.
NGRAM_RANGES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul letters
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # the marks 々 〆 〇
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3100, 0x318F),  # Bopomofo, Hangul letters
    (0x31F0, 0x31FF),  # Katakana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),  # Han
    (0x20000, 0x3FFFF),  # Han
)
#: Marks that may go without changing the word: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowel signs.
DROPPED_MARK_RANGES = ((0x0300, 0x036F), (0x0591, 0x05C7), (0x0610, 0x061A), (0x0640, 0x0640), (0x064B, 0x065F))
#: Letters that have no decomposition but a customary plain spelling.
PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"}
)
#: The other customary spelling of German and Nordic letters.
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})

_JOINER = r"(?:://|::|:\\|_+|[.@:/\\#+?=&%~-])"
#: Letters and digits in groups that single signs join.
_JOINED = re.compile(rf"[^\W_]+(?:{_JOINER}[^\W_]+)*")
#: Joined by these it is an identifier even without a digit; by a hyphen or a colon it may be plain language.
_TELLING_SIGN = re.compile(r"[._@/\\]|::")
_STRONG_SIGN = re.compile(r"[@:/\\#+?=&%~]+")
_VERSION = re.compile(r"v\d+(?:\.\w+)+")
_PART = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class SearchTerms:
    """Words for the language's dictionary, separated by spaces, and ready lexemes."""

    words: str
    lexemes: tuple[str, ...]


def search_terms(text: str) -> SearchTerms:
    """What a stored text is found by, both parts in a fixed order and without repetitions."""
    return _terms(text, is_stored=True)


def query_terms(text: str) -> SearchTerms:
    """What a query asks for: as `search_terms`, but of a run of n-gram script its pairs, not its single characters."""
    return _terms(text, is_stored=False)


def search_columns(content: str) -> dict[str, object]:
    """Return the columns derived from a text; `search_of` names the text."""
    terms = search_terms(content)
    mark = hashlib.md5(content.encode(), usedforsecurity=False).hexdigest()[:MARK_DIGITS]
    return {"search_words": terms.words, "search_lexemes": list(terms.lexemes), "search_of": mark}


@lru_cache(maxsize=16_384)
def fold_word(word: str) -> str:
    """Return `word` without case and accents: `Ångström` is `angstrom`. Indic and Japanese marks stay."""
    bare = _without_marks(_without_marks(word).casefold())
    return unicodedata.normalize("NFC", bare.translate(PLAIN_LETTERS))


def _without_marks(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", word) if not _is_dropped(char))


def _terms(text: str, *, is_stored: bool) -> SearchTerms:
    words: set[str] = set()
    lexemes: set[str] = set()
    plain = text
    if not text.isascii():
        plain = " ".join(_read_foreign(token, words, lexemes, is_stored) for token in text.split())
    for match in _JOINED.finditer(plain):
        _read_identifier(match.group(), words, lexemes)
    return SearchTerms(" ".join(sorted(words)), tuple(sorted(filter(_is_storable, lexemes))))


def _is_storable(lexeme: str) -> bool:
    return len(lexeme.encode()) <= MAX_LEXEME_BYTES


def _read_foreign(token: str, words: set[str], lexemes: set[str], is_stored: bool) -> str:
    """Collect what is beyond ASCII in a token; the token in its plain form, with room for n-gram scripts."""
    if token.isascii():
        return token
    plain = unicodedata.normalize("NFKC", "".join(filter(_is_visible, token)))
    runs = [(kind, "".join(chars)) for kind, chars in groupby(plain, key=_kind)]
    has_changed = plain != token or any(kind == "ngram" for kind, _ in runs)
    for kind, run in runs:
        if kind == "ngram":
            lexemes.update(_ngrams(_clusters(run), is_stored))
        elif kind == "word" and (has_changed or not run.isascii()):
            words.update(_spellings(run))
            if any(map(_is_mark, fold_word(run))):
                lexemes.add(fold_word(run))
    return "".join(" " if kind == "ngram" else run for kind, run in runs)


def _spellings(word: str) -> Iterator[str]:
    """The folded form of a word, and that with its umlauts spelt out."""
    yield fold_word(word)
    lowered = unicodedata.normalize("NFC", word.casefold())
    spelt = lowered.translate(UMLAUTS)
    if spelt != lowered:
        yield fold_word(spelt)


def _ngrams(clusters: list[str], is_stored: bool) -> Iterable[str]:
    pairs = {first + second for first, second in pairwise(clusters)}
    return pairs | set(clusters) if is_stored or len(clusters) == 1 else pairs


def _clusters(run: str) -> list[str]:
    """Characters with the marks that follow them."""
    clusters: list[str] = []
    for char in run:
        if clusters and _is_mark(char):
            clusters[-1] += char
        else:
            clusters.append(char)
    return clusters


def _read_identifier(joined: str, words: set[str], lexemes: set[str]) -> None:
    """Collect an identifier as a whole, by the pieces between its strong signs, and by its parts."""
    if joined.isalpha():
        return
    whole = joined.casefold()
    has_digit = any(char.isdigit() for char in whole)
    parts = _PART.findall(whole)
    if len(parts) == 1:
        if has_digit and not whole.isdigit():
            lexemes.update(_if_short([whole]))
        return
    if not has_digit and not _TELLING_SIGN.search(whole):
        return
    pieces = [piece for piece in _STRONG_SIGN.split(whole) if not piece.isalnum()]
    versions = [piece[1:] for piece in pieces if _VERSION.fullmatch(piece)]
    lexemes.update(_if_short([whole, *pieces, *versions]))
    words.update(part for part in parts if MIN_PART_CHARACTERS <= len(part) <= MAX_IDENTIFIER_CHARACTERS)


def _if_short(lexemes: Iterable[str]) -> list[str]:
    return [lexeme for lexeme in lexemes if 0 < len(lexeme) <= MAX_IDENTIFIER_CHARACTERS]


@lru_cache(maxsize=16_384)
def _kind(char: str) -> str:
    """`ngram`, `word` or `other`; a mark outside n-gram scripts belongs to its word."""
    if unicodedata.category(char)[0] not in "LMN":
        return "other"
    return "ngram" if _is_within(ord(char), NGRAM_RANGES) else "word"


@lru_cache(maxsize=16_384)
def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


@lru_cache(maxsize=16_384)
def _is_visible(char: str) -> bool:
    return unicodedata.category(char) != "Cf"


@lru_cache(maxsize=16_384)
def _is_dropped(char: str) -> bool:
    return _is_within(ord(char), DROPPED_MARK_RANGES)


def _is_within(code_point: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(first <= code_point <= last for first, last in ranges)
