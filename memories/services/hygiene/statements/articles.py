"""Recognise a note that leaves out the article of its subject, as in "Kater bekommt morgens Futter"."""

import re

from memories.services.hygiene.statements.reading import Statement
from memories.services.hygiene.statements.vocabulary import FEMININES, GERMAN, SINGULAR_VERBS, SPANISH

#: After "der", a noun with such an ending is no subject: "Der Nachbarin hilft Ina."
_FEMININE = re.compile(r".*(?:[aei]|in|ung|heit|keit|schaft|ion|tät|frau|mutter|schwester|tochter|bank|stadt|firma)")
_SINGULAR = re.compile(r"[^\W\d_]{2,}t")


def lacks_article(shorter: Statement, longer: Statement) -> bool:
    """Whether `longer` is one word longer and begins with the article of its subject, which is clear without it."""
    if len(longer.words) != len(shorter.words) + 1 or len(shorter.words) < 3 or shorter.language is not longer.language:
        return False
    article, noun, verb, after = (*longer.words[:3], longer.words[3])
    if any(word.break_before or word.is_value for word in (noun, verb)):
        return False
    if shorter.language is SPANISH:
        return article.text == "el" and noun.case == "l" and noun.text not in SPANISH.unended | {"que", "cual", "de"}
    is_german = shorter.language is GERMAN and article.text in ("der", "die", "das") and noun.case == "N"
    is_subject = article.text != "der" or not (_FEMININE.fullmatch(noun.text) or noun.text in FEMININES)
    is_singular = verb.text in SINGULAR_VERBS or _SINGULAR.fullmatch(verb.text) is not None
    return is_german and is_subject and is_singular and verb.case == "l" and not after.raw[:1].isupper()
