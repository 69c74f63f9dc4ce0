"""Recognise a note that leaves out the article of its subject, as in "Kater bekommt morgens Futter"."""

import re
from collections.abc import Sequence
from itertools import pairwise

from memories.services.hygiene.statements.vocabulary import (
    FEMININES,
    GERMAN,
    SINGULAR_VERBS,
    SPANISH,
    LanguageVocabulary,
)
from memories.services.hygiene.statements.words import Word

#: Endings of feminine nouns, which are not the subject after "der": "Der Nachbarin hilft Ina."
_FEMININE = re.compile(r".*(?:[aei]|in|ung|heit|keit|schaft|ion|tät|frau|mutter|schwester|tochter|bank|stadt|firma)")
_SINGULAR = re.compile(r"[^\W\d_]{2,}t")


def lacks_article(shorter: Sequence[Word], longer: Sequence[Word], language: LanguageVocabulary) -> bool:
    """Whether `longer` is one word longer and begins with the article of its subject, which is clear without it."""
    if len(longer) != len(shorter) + 1 or len(longer) < 4:
        return False
    article, noun, verb, after = longer[:4]
    if any(word.break_before or word.is_value for word in (noun, verb)):
        return False
    if language is SPANISH:
        return article.text == "el" and noun.case == "l" and noun.text not in SPANISH.unended | {"que", "cual", "de"}
    is_german = language is GERMAN and article.text in ("der", "die", "das") and noun.case == "N"
    has_other_subject = any(
        one.text == "der" and before.text not in GERMAN.adverbials for before, one in pairwise(longer)
    )
    is_subject = not (is_feminine(noun.text) if article.text == "der" else has_other_subject)
    is_singular = verb.text in SINGULAR_VERBS or _SINGULAR.fullmatch(verb.text) is not None
    return is_german and is_subject and is_singular and verb.case == "l" and not after.raw[:1].isupper()


def is_feminine(noun: str) -> bool:
    """Whether a German noun may be feminine."""
    return noun in FEMININES or _FEMININE.fullmatch(noun) is not None
