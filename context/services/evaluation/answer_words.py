"""The words of an answer that tell whether a text holds it: the measure of contexts and of summaries."""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z0-9']+")
_OF_EVERY_TEXT = (
    "a an the and or of to in on at for with from by is are was were be been it its this that she he they her his "
    "their i you we my your our as not no do did does have has had will would can could yes"
)
#: Words of answers that any text of English holds.
IGNORED_WORDS = frozenset(_OF_EVERY_TEXT.split())


def significant_words(text: object) -> frozenset[str]:
    """The words of a text in lower case without those of every text."""
    return frozenset(_WORD.findall(str(text).lower())) - IGNORED_WORDS


def answer_word_share(answer_words: frozenset[str], text: object) -> float:
    """The share (0..1) of the answer's words that `text` holds; there is at least one."""
    return len(answer_words & significant_words(text)) / len(answer_words)
