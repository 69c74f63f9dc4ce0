"""What the finders of facts answer with, and words as they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

IDENTIFIER = "identifier"
NUMBER = "number"
DATE = "date"
MONEY = "money"
URL = "url"
PATH = "path"
EMAIL = "email"
QUOTED = "quoted"
FACT_KIND_NAME = "name"
CODE = "code"
RULE = "rule"
FACT_KINDS = (IDENTIFIER, NUMBER, DATE, MONEY, URL, PATH, EMAIL, QUOTED, FACT_KIND_NAME, CODE, RULE)

#: Stands for what an earlier finder took: neither a word nor white space.
TAKEN = "\ufffc"

_WORD = re.compile(r"\w+(?:['’]\w+)*+")
_POSSESSIVE = ("'s", "’s")


@dataclass(frozen=True)
class FactMatch:
    """A fact at a place of a text: as written, and `normalised` for comparison.

    `offers` are the normalised facts that somebody who reads this one knows: a day tells its month.
    """

    start: int
    end: int
    text: str
    normalised: str
    offers: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """Everything it tells."""
        return (self.normalised, *self.offers)


def blank_matches(text: str, found: Iterable[FactMatch]) -> str:
    """The text with what was found taken out, everything else in its place."""
    parts, place = [], 0
    for one in sorted(found, key=lambda each: each.start):
        if one.start >= place:
            parts += [text[place : one.start], TAKEN * (one.end - one.start)]
            place = one.end
    return "".join([*parts, text[place:]])


def normalised_words(text: str) -> str:
    """The words of a text as they are compared, each with a space on both sides; no case, marks or possessive."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = (word[:-2] if word.endswith(_POSSESSIVE) else word for word in _WORD.findall(folded))
    return f" {' '.join(words)} ".replace("’", "'")


def is_within_word(left: str, right: str) -> bool:
    """Whether two characters that stand beside each other belong to one word."""
    return (left.isalnum() or left == "_") and (right.isalnum() or right == "_")
