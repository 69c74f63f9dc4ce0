"""Answer words: how much of an answer a context or summary contains."""

import re

_WORD = re.compile(r"[a-z0-9']+")
_STOP_WORDS = (
    "a an the and or of to in on at for with from by is are was were be been it its this that she he they her his "
    "their i you we my your our as not no do did does have has had will would can could yes"
)
#: Words that any English text contains.
IGNORED_WORDS = frozenset(_STOP_WORDS.split())


def significant_words(text: object) -> frozenset[str]:
    """Return the words of a text in lower case, without the ignored ones."""
    return frozenset(_WORD.findall(str(text).lower())) - IGNORED_WORDS


def answer_word_share(answer_words: frozenset[str], text: object) -> float:
    """Return the share (0..1) of the answer's words, at least one, that `text` contains."""
    return len(answer_words & significant_words(text)) / len(answer_words)
