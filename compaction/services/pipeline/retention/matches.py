"""Facts with their positions in a text, and words in comparable form."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

FACT_KINDS = IDENTIFIER, NUMBER, DATE, MONEY, URL, PATH, EMAIL, QUOTED, FACT_KIND_NAME, CODE, RULE = (
    "identifier", "number", "date", "money", "url", "path", "email", "quoted", "name", "code", "rule",
)  # fmt: skip
#: Whole sentences that limit what may be done: positive ones ("must", "allergic") and negations ("never").
CONSTRAINT, NEGATION = "constraint", "negation"
#: Kinds whose loss a person reviews, regardless of the share.
BINDING_KINDS = frozenset({RULE, CONSTRAINT, NEGATION})

#: Replaces text that an earlier finder matched: neither a word nor white space.
TAKEN = "\ufffc"
POSSESSIVE = ("'s", "’s")
_WORD = re.compile(r"\w+(?:['’]\w+)*+")
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True)
class FactMatch:
    """A fact in a text, as written and as compared. `implied` are what follows from it: a day implies its month."""

    start: int
    text: str
    normalised: str
    implied: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        """The position after the match."""
        return self.start + len(self.text)

    @property
    def values(self) -> tuple[str, ...]:
        """All normalised forms that are compared."""
        return (self.normalised, *self.implied)


def blank_matches(text: str, found: Iterable[FactMatch]) -> str:
    """Return the text with the matches replaced with `TAKEN`, without changing any position."""
    parts, place = [], 0
    for one in sorted(found, key=lambda each: each.start):
        if one.start >= place:
            parts += [text[place : one.start], TAKEN * len(one.text)]
            place = one.end
    return "".join([*parts, text[place:]])


def normalised_words(text: str) -> str:
    """Return the words of a text in comparable form, each between spaces, without case, marks or possessive."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = (word[:-2] if word.endswith(POSSESSIVE) else word for word in _WORD.findall(folded))
    return f" {' '.join(words)} ".replace("’", "'")


class WordPlaces:
    """The positions of the words of a text, indexed once to search it for many texts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for word in _TOKEN.finditer(text):
            self._places[word[0]].append(word.start())

    def of(self, words: str) -> Iterator[int]:
        """Yield where the words are, as `whole_word_places` does."""
        tokens = [(len(self._places.get(word[0], ())), word.start(), word[0]) for word in _TOKEN.finditer(words)]
        if not tokens:
            yield from whole_word_places(words, self._text)
            return
        _, offset, rarest = min(tokens)
        end = 0
        for place in self._places.get(rarest, ()):
            start = place - offset
            if start >= end and _is_whole_at(start, words, self._text):
                end = start + len(words)
                yield start


def whole_word_places(words: str, text: str) -> Iterator[int]:
    """Yield where the words are in the text, not as a part of a longer word."""
    start = text.find(words) if words else -1
    while start >= 0:
        if _is_whole_at(start, words, text):
            yield start
        start = text.find(words, start + len(words))


def _is_whole_at(start: int, words: str, text: str) -> bool:
    end = start + len(words)
    before, behind = text[max(start - 1, 0) : start], text[end : end + 1]
    is_within = _is_within_word(before, words[0]) or _is_within_word(words[-1], behind)
    return text.startswith(words, start) and not is_within


def _is_within_word(left: str, right: str) -> bool:
    return (left.isalnum() or left == "_") and (right.isalnum() or right == "_")
