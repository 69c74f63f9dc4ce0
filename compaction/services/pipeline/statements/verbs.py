"""Verbs that agree with a name: "I want" becomes "Caroline wants"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compaction.services.pipeline.statements.lexicon import (
    AUXILIARIES,
    DROPPED,
    FREQUENCY_ADVERBS,
    IRREGULAR_PAST,
    VERBS_IN_LY,
)
from compaction.services.pipeline.statements.words import EDGE, strip_punctuation

_THIRD_PERSON = {
    "am": "is", "are": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "were": "was",
    "weren't": "wasn't", "aren't": "isn't", "ain't": "isn't",
}  # fmt: skip
#: Adverbs are looked over for so many tokens behind the subject.
_REACH_TOKENS = 4


def third_person(verb: str) -> str:
    """The form of `verb` that goes with a name; past forms and modals stay."""
    word = verb.lower()
    if word in _THIRD_PERSON:
        return _THIRD_PERSON[word]
    if not word.isalpha() or word in AUXILIARIES or is_past(word) or word.endswith("ing"):
        return verb
    if word.endswith(("ss", "sh", "ch", "x", "o", "z")):
        return verb + "es"
    if word.endswith("s"):
        return verb
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def is_past(word: str) -> bool:
    """Whether a verb in lower case is a past form or a modal, the same for every person."""
    return word.removeprefix("re") in IRREGULAR_PAST or (word.endswith("ed") and not word.endswith("eed"))


def third_person_clause(tokens: Sequence[str]) -> list[str]:
    """The tokens behind "I" with their first verb in the third person."""
    result = list(tokens)
    for place in verb_places(result, 0):
        result[place] = third_person_token(result[place])
    return result


def verb_places(tokens: Sequence[str], start: int, *, only_telling: bool = False) -> Iterator[int]:
    """Where the verb stands at or soon behind `start`, if any; `only_telling` asks for a form that shows its person."""
    for place in range(start, min(start + _REACH_TOKENS, len(tokens))):
        word = strip_punctuation(tokens[place])
        if word in DROPPED or word in FREQUENCY_ADVERBS or (is_adverb(word) and place + 1 < len(tokens)):
            continue
        if not only_telling or word in _THIRD_PERSON:
            yield place
        return


def is_adverb(word: str) -> bool:
    """Whether a word in lower case is an adverb in -ly."""
    return word.endswith("ly") and word not in VERBS_IN_LY


def third_person_token(token: str) -> str:
    """`third_person` of a token that may carry punctuation."""
    verb = token.strip(EDGE)
    return token.replace(verb, third_person(verb), 1) if verb else token
