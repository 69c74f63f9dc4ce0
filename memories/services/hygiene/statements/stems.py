"""Words without inflection and with one spelling; never so that opposites, tenses or persons become equal."""

import re

from memories.services.hygiene.statements.vocabulary import (
    DISTINCT_SPELLINGS,
    ENGLISH,
    GERMAN,
    NEUTRAL,
    NO_PLURALS,
    OUR_WORDS,
    SPANISH,
    TITLES,
    VARIANTS,
    WEEKDAYS,
    LanguageVocabulary,
)
from memories.services.hygiene.statements.words import Word
from memories.services.text_cache import cached_texts

#: Maximum words whose spelling and stem are cached.
WORDS_CACHED = 8_192
DOUBLED = re.compile(r"([bcdfghjklmnpqrstvwxyz])\1+")
_Z_SPELLING = re.compile(r"(?<=[^\W\d_]{3})([iy])z(?=(?:e[ds]?|ing|ations?|ers?)$)")
_DATIVES = frozenset(["dem", "einem", "im", "am", "zum", "beim", "vom"])
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_ACUTES = str.maketrans("áéíóú", "aeiou")
_FOLDED_ACUTE = re.compile(r"[áéíóú](?=[^\W\d_]*[aeiouáéíóú][^\W\d_]*|[íóú][ns]$)|[íóú](?=[ns]$)")
_GENITIVE_ES = re.compile(r"[^\W\d_]{2}[^\Waeiouäöü\d_]es$")
_SPANISH_G = re.compile(r"g(?=[eiéí])")


def spelled(word: Word, language: LanguageVocabulary) -> Word:
    """Return the word in one of its spellings; names are unchanged, except names of days and titles."""
    if word.is_value:
        return word
    if word.case == "C" or (not word.case and word.text in WEEKDAYS and word.raw[:1].isupper()):
        return word._replace(text=WEEKDAYS.get(word.text) or TITLES.get(word.text, word.text))
    text = TITLES.get(word.text) or VARIANTS.get(word.text, word.text)
    if language in (ENGLISH, NEUTRAL):
        text = _british(text).replace("cei", "cie")
    return word._replace(text=text)


def stem_of(word: Word, before: str, language: LanguageVocabulary) -> Word:
    """Return the word, which follows the word `before`, with its stem."""
    if word.is_value or (not word.text.isalpha() and not word.parts):
        return word._replace(stem=word.text)
    text = "".join(word.parts) or word.text
    if language is GERMAN and before in _DATIVES and word.case in ("N", ""):
        text = text.removesuffix("e")
    return word._replace(stem=_stem(text, language))


def without_genitive(word: Word) -> Word:
    """Return a German noun without the ending of the genitive."""
    text = word.text
    ending = "es" if _GENITIVE_ES.search(text) else "s" if text.endswith("s") and len(text) > len("eis") else ""
    text = text.removesuffix(ending)
    return word._replace(raw=word.raw[: len(text)], text=text, stem=text)


@cached_texts(WORDS_CACHED)
def _stem(text: str, language: LanguageVocabulary) -> str:
    if text in DISTINCT_SPELLINGS:
        return text
    if language is ENGLISH:
        return _english(text)
    if language is GERMAN:
        return text.translate(_UMLAUTS).replace("ph", "f")
    if language is SPANISH:
        text = _FOLDED_ACUTE.sub(lambda found: found[0].translate(_ACUTES), text)
        return _SPANISH_G.sub("j", text.replace("psi", "si") if text.startswith("psi") else text)
    return text


@cached_texts(WORDS_CACHED)
def _british(text: str) -> str:
    for word in OUR_WORDS:
        american = word.replace("our", "or")
        if text.startswith(american):
            text = word + text[len(american) :]
            break
    return _Z_SPELLING.sub(r"\1s", text)


def _english(text: str) -> str:
    if len(text) < 4 or text in NO_PLURALS or text.endswith(("ss", "us", "is")):
        return text
    if text.endswith("ies") and len(text) > 4:
        return text[:-3] + "y"
    if text.endswith(("ches", "shes", "sses", "xes")):
        return text[:-2]
    text = text.removesuffix("s")
    text = VARIANTS.get(text, text)
    return text[:-2] + "y" if text.endswith("ie") and len(text) > 4 else text
