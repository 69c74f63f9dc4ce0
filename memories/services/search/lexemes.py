"""Lexemes that Postgres's dictionaries do not produce: folded forms, n-grams and identifiers (ADR-0076).

A change of these rules needs a migration that recomputes every row.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise

from memories.services.text_cache import cached_texts

#: Longer identifiers (most likely encoded data) are found only by their parts.
MAX_IDENTIFIER_CHARACTERS = 200
#: Postgres stores 2,046 bytes of a lexeme, and `array_to_tsvector` garbles longer ones.
MAX_LEXEME_BYTES = 2_000
#: A single letter or digit of an identifier is not significant.
MIN_PART_CHARACTERS = 2
#: Hexadecimal digits of the MD5 that binds derived columns to their text.
MARK_DIGITS = 8
#: The prefix of a stop word in a text vector: `=the`.
STOP_WORD_MARK = "="

#: Scripts without spaces between words, and Hangul, whose words include particles.
_NGRAM = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1100-\u11ff"  # Hangul letters
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007"  # the marks 々 〆 〇
    "\u3040-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
    "\u3100-\u318f"  # Bopomofo, Hangul letters
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7ff"  # Hangul
    "]"
)
#: Marks that may be dropped: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowel signs.
_DROPPED_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f]")
#: Letters without decomposition but with a customary plain spelling.
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


def search_terms(text: str, *, is_query: bool = False) -> SearchTerms:
    """Return the terms of a text, ordered and distinct; of a query's n-gram scripts pairs, not single characters."""
    words: set[str] = set()
    lexemes: set[str] = set()
    plain = text
    if not text.isascii():
        plain = " ".join(_read_foreign(token, words, lexemes, is_query) for token in text.split())
    for match in _JOINED.finditer(plain):
        _read_identifier(match.group(), words, lexemes)
    storable = (lexeme for lexeme in lexemes if len(lexeme.encode()) <= MAX_LEXEME_BYTES)
    return SearchTerms(" ".join(sorted(words)), tuple(sorted(storable)))


def search_columns(content: str) -> dict[str, object]:
    """Return the columns derived from a text; `search_of` names the text."""
    terms = search_terms(content)
    mark = hashlib.md5(content.encode(), usedforsecurity=False).hexdigest()[:MARK_DIGITS]
    return {"search_words": terms.words, "search_lexemes": list(terms.lexemes), "search_of": mark}


@cached_texts(16_384)
def fold_word(word: str) -> str:
    """Return `word` without case and accents: `Ångström` is `angstrom`. Indic and Japanese marks are kept."""
    bare = _without_marks(_without_marks(word).casefold())
    return unicodedata.normalize("NFC", bare.translate(PLAIN_LETTERS))


def _without_marks(word: str) -> str:
    return _DROPPED_MARKS.sub("", unicodedata.normalize("NFKD", word))


def _read_foreign(token: str, words: set[str], lexemes: set[str], is_query: bool) -> str:
    """Collect the non-ASCII parts of a token; return its plain form, with spaces for n-gram scripts."""
    if token.isascii():
        return token
    visible = "".join(char for char in token if unicodedata.category(char) != "Cf")
    plain = unicodedata.normalize("NFKC", visible)
    runs = [(kind, "".join(chars)) for kind, chars in groupby(plain, key=_kind)]
    has_changed = plain != token or any(kind == "ngram" for kind, _ in runs)
    for kind, run in runs:
        if kind == "ngram":
            clusters = _clusters(run)
            lexemes.update(first + second for first, second in pairwise(clusters))
            lexemes.update(clusters if not is_query or len(clusters) == 1 else ())
        elif kind == "word" and (has_changed or not run.isascii()):
            folded, lowered = fold_word(run), unicodedata.normalize("NFC", run.casefold())
            spelt = lowered.translate(UMLAUTS)
            words |= {folded} if spelt == lowered else {folded, fold_word(spelt)}
            if any(map(_is_mark, folded)):
                lexemes.add(folded)
    return "".join(" " if kind == "ngram" else run for kind, run in runs)


def _clusters(run: str) -> list[str]:
    """Return the characters, each with the marks that follow it."""
    clusters: list[str] = []
    for char in run:
        if clusters and _is_mark(char):
            clusters[-1] += char
        else:
            clusters.append(char)
    return clusters


def _read_identifier(joined: str, words: set[str], lexemes: set[str]) -> None:
    """Collect an identifier as a whole, its pieces between strong signs, and its parts."""
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
    """Return `ngram`, `word` or `other`; a mark outside n-gram scripts belongs to its word."""
    if unicodedata.category(char)[0] not in "LMN":
        return "other"
    return "ngram" if _NGRAM.match(char) else "word"


@lru_cache(maxsize=16_384)
def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")
