"""Word differences of two texts, and whether they differ in numbers or dates only (ADR-0083)."""

import re
import unicodedata
from calendar import day_abbr, day_name, month_abbr, month_name
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

#: Minimum of shared words besides numbers and dates for a common subject.
SHARED_WORDS_MIN = 2
#: Maximum words of a text that are compared.
WORDS_COMPARED_MAX = 400

_UP_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_DATE_NAMES = (*month_name[1:], *month_abbr[1:], *day_name, *day_abbr, "sept", "tues", "thur", "thurs")
DATE_WORDS = frozenset(map(str.lower, _DATE_NAMES))
#: Number words and their digits.
_NUMBER_WORDS = {
    **{word: str(number) for number, word in enumerate(_UP_TO_NINETEEN.split())},
    **{word: str(number) for number, word in zip(range(20, 100, 10), _TENS.split(), strict=True)},
    "dozen": "12",
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
}
#: Words that depend on the format of a date or number: "on 5 May", "on the 5th of May", "about 40".
_GLUE = frozenset(["a", "about", "an", "approximately", "around", "at", "by", "in", "of", "on", "the", "to"])

_WORD = re.compile(r"[^\W_]+(?:[._:/,'’@-]+[^\W_]+|_+[^\W_]+)*")
# 40, 1,200.50, 12:30, 2026-05-12, 3rd, 5pm, 40kg; letters before digits make a name.
_VALUE = re.compile(r"\d[\d.,:/-]*(?:st|nd|rd|th|am|pm|h|s|k|m|g|kg|km|cm|mm|min|ms|gb|mb|eur|usd)?", re.IGNORECASE)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")


@dataclass(frozen=True)
class ComparedSpan:
    """A part of a text; `is_shared` if the other text has it too, `is_value` for numbers and dates."""

    text: str
    is_shared: bool
    is_value: bool = False


class _Word(NamedTuple):  # one page creates thousands of words
    folded: str
    is_value: bool
    start: int
    end: int


def has_value_difference(one: str, other: str) -> bool:
    """Whether two texts differ only in numbers or dates; numbers in names ("Room 12", "ERR_4012") do not count."""
    left, right = list(_words(one)), list(_words(other))
    subject = _subject(left)
    if len(subject) < SHARED_WORDS_MIN or subject != _subject(right):
        return False
    mine, theirs = _values(left), _values(right)
    return bool(mine - theirs) and bool(theirs - mine)


def mark_value_differences(one: str, other: str) -> tuple[list[ComparedSpan], list[ComparedSpan]]:
    """Return both texts as consecutive spans that mark what the other text lacks."""
    left, right = list(_words(one))[:WORDS_COMPARED_MAX], list(_words(other))[:WORDS_COMPARED_MAX]
    matcher = SequenceMatcher(None, [word.folded for word in left], [word.folded for word in right], autojunk=False)
    shared_left, shared_right = set[int](), set[int]()
    for place, other_place, size in matcher.get_matching_blocks():
        shared_left.update(range(place, place + size))
        shared_right.update(range(other_place, other_place + size))
    return _spans(one, left, shared_left), _spans(other, right, shared_right)


def _subject(words: Sequence[_Word]) -> list[str]:
    return sorted(word.folded for word in words if not word.is_value and word.folded not in _GLUE)


def _values(words: Sequence[_Word]) -> set[str]:
    return {word.folded for word in words if word.is_value}


def _words(text: str) -> Iterator[_Word]:
    former = ""
    for found in _WORD.finditer(text):
        word = found[0]
        folded = word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()
        start, end = found.span()
        is_value = _is_value(word, folded, former)
        if is_value:
            folded = _NUMBER_WORDS.get(folded) or _ORDINAL.sub("", folded)
        yield _Word(folded, is_value, start, end)
        former = word if text[end : end + 1] == " " else ""


def _is_value(word: str, folded: str, former: str) -> bool:
    if folded in DATE_WORDS:
        return word[:1].isupper()  # "may" is a verb more often than a month
    if folded in _NUMBER_WORDS:
        return True
    if not folded[:1].isdecimal():
        return False
    # a number after a name belongs to it: "Otter 3", but not "May 3"
    is_after_name = former[:1].isupper() and former.casefold() not in DATE_WORDS
    return _VALUE.fullmatch(folded) is not None and not (folded.isdigit() and is_after_name)


def _spans(text: str, words: Sequence[_Word], shared: set[int]) -> list[ComparedSpan]:
    spans: list[ComparedSpan] = []
    place = 0
    for number, word in enumerate(words):
        if number in shared:
            continue
        if word.start > place:
            spans.append(ComparedSpan(text[place : word.start], is_shared=True))
        spans.append(ComparedSpan(text[word.start : word.end], is_shared=False, is_value=word.is_value))
        place = word.end
    if place < len(text):
        spans.append(ComparedSpan(text[place:], is_shared=True))
    return spans
