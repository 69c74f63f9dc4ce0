"""Rewrite constructions that have two forms, such as "turn the oven off" and "turn off the oven", in one form."""

import re
from collections.abc import Sequence
from itertools import pairwise

from memories.services.hygiene.statements.stems import without_genitive
from memories.services.hygiene.statements.vocabulary import (
    ENGLISH,
    GERMAN,
    INFINITIVE_VERBS,
    INTERROGATIVE_NOUNS,
    NEUTRAL,
    PARTICLE_VERBS,
    PLACES_WITH_ARTICLE,
    PLACES_WITHOUT_ARTICLE,
    SPANISH,
    SPANISH_MODALS,
    LanguageVocabulary,
)
from memories.services.hygiene.statements.words import Word

#: Words between a verb and its particle.
_OBJECT_WORDS_MAX = 4
_ENGLISH_DETERMINERS = frozenset(["a", "an", "the", "my", "our", "your", "his", "her", "their"])
_ENGLISH_RELATIVES = frozenset(["which", "who", "whom"])
#: A short verb of one syllable whose last consonant is doubled before "ing".
_DOUBLING = re.compile(r"(?:qu|[^aeiou])*[aeiou][^aeiouwxy]")
_GERMAN_RELATIVES = {"welcher": "der", "welche": "die", "welches": "das", "welchem": "dem"}
_GENITIVE_PREPOSITIONS = frozenset(["wegen", "trotz", "während", "statt", "anstatt"])
_DATIVES = {"des": "dem", "eines": "einem", "meines": "meinem", "deines": "deinem", "unseres": "unserem"}
_ATTRIBUTE_DATIVES = _DATIVES | {"des": "vom"}
_SPANISH_ARTICLES = frozenset(["el", "la", "los", "las"])
_CLITICS = frozenset(["se", "me", "te", "nos", "le", "les"])
_OBJECT_CLITICS = frozenset(["lo", "la", "los", "las"])
_ENCLITIC = re.compile(r"([^\W\d_]{2,}[aei]r)(lo|la|los|las|les?|me|te|se|nos)")


def in_one_construction(words: Sequence[Word], language: LanguageVocabulary) -> list[Word]:
    """Return the words, with articles, with each construction in one of its equivalent forms."""
    found = _with_approximations(words, language)
    if language in (ENGLISH, NEUTRAL):
        return _with_gerunds(_with_particles(_with_that(found)))
    if language is GERMAN:
        return _with_datives(_with_relatives(found))
    return _with_joined_clitics(_without_places(_with_clitics(found))) if language is SPANISH else found


def _with_approximations(words: Sequence[Word], language: LanguageVocabulary) -> list[Word]:
    """Return "circa 20" for "about 20" and "roughly 20"."""
    found = list(words)
    for place, (word, after) in enumerate(pairwise(words)):
        if word.text in language.approximations and after.is_value and not after.break_before:
            found[place] = _worded(word, "circa")
    return found


def _is_start(words: Sequence[Word], place: int) -> bool:
    return place == 0 or words[place].break_before == 2


def _with_that(words: list[Word]) -> list[Word]:
    """Return "that" for "which" and "who" after the noun at the beginning of a sentence."""
    for place in range(2, len(words)):
        article, noun, relative = words[place - 2 : place + 1]
        is_subject = _is_start(words, place - 2) and article.text in _ENGLISH_DETERMINERS and not noun.break_before
        if relative.text in _ENGLISH_RELATIVES and is_subject and not relative.break_before:
            words[place] = relative._replace(text="that", stem="that")
    return words


def _with_particles(words: list[Word]) -> list[Word]:
    """Return "turn off the oven" for "turn the oven off"."""
    for place, word in enumerate(words):
        particles = PARTICLE_VERBS.get(word.text, ())
        ends = range(place + 2, min(place + 2 + _OBJECT_WORDS_MAX, len(words))) if particles else ()
        end = next((end for end in ends if words[end].text in particles), 0)
        if not end or any(each.break_before for each in words[place + 1 : end + 1]):
            continue
        stops = ENGLISH.frame_stops | ENGLISH.adverbials - {"'s"}
        after = ENGLISH.conjunctions | ENGLISH.adverbials | ENGLISH.adverbs
        is_last = end + 1 == len(words) or words[end + 1].break_before or words[end + 1].text in after
        if is_last and not any(each.text in stops for each in words[place + 1 : end]):
            words[place + 1 : end + 1] = [words[end], *words[place + 1 : end]]
    return words


def _with_gerunds(words: list[Word]) -> list[Word]:
    """Return "started throwing" for "started to throw"."""
    found: list[Word] = []
    place = 0
    while place < len(words):
        word = words[place]
        found.append(word)
        verb = words[place + 2] if place + 2 < len(words) else word
        is_infinitive = word.text in INFINITIVE_VERBS and words[place + 1 : place + 2] and words[place + 1].text == "to"
        is_wish = any(each.text == "would" for each in words[max(place - 2, 0) : place])
        if is_infinitive and verb.raw.isalpha() and verb.raw.islower() and not is_wish and not verb.break_before:
            text = _gerund(verb.text)
            found.append(verb._replace(raw=text, text=text, stem=text))
            place += 2
        place += 1
    return found


def _gerund(verb: str) -> str:
    if _DOUBLING.fullmatch(verb):
        return f"{verb}{verb[-1]}ing"
    return (verb[:-1] if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) else verb) + "ing"


def _with_relatives(words: list[Word]) -> list[Word]:
    """Return "der" for "welcher" after the noun at the beginning of a sentence."""
    for place in range(2, len(words)):
        article, noun, relative = words[place - 2 : place + 1]
        is_subject = _is_start(words, place - 2) and article.text in ("der", "die", "das") and noun.raw[:1].isupper()
        if is_subject and relative.break_before == 1 and noun.text not in INTERROGATIVE_NOUNS:
            text = _GERMAN_RELATIVES.get(relative.text, relative.text)
            words[place] = relative._replace(raw=text, text=text, stem=text)
    return words


def _with_datives(words: list[Word]) -> list[Word]:
    """Return "wegen dem Sturm" for "wegen des Sturms", and "Auto von meinem Bruder" for "Auto meines Bruders"."""
    found: list[Word] = []
    place = 0
    while place < len(words):
        found.append(words[place])
        article, noun = words[place + 1 : place + 3] if place + 2 < len(words) else (words[place], words[place])
        is_noun = noun.raw[:1].isupper() and not article.break_before and not noun.break_before
        before = [word.text for word in words[max(place - 2, 0) : place]]
        is_definite = before[-1:] and before[-1] in ("der", "die", "das") and before[:-1] in ([], ["ist"])
        is_owned = is_definite and words[place].text in GERMAN.attributes
        if is_noun and words[place].text in _GENITIVE_PREPOSITIONS and article.text in _DATIVES:
            found += [_worded(article, _DATIVES[article.text]), without_genitive(noun)]
            place += 2
        elif is_noun and is_owned and article.text in _ATTRIBUTE_DATIVES:
            dative = _worded(article, _ATTRIBUTE_DATIVES[article.text])
            found += [dative] if dative.text == "vom" else [_worded(article, "von"), dative]
            found.append(without_genitive(noun))
            place += 2
        place += 1
    return found


def _worded(word: Word, text: str) -> Word:
    return word._replace(raw=text, text=text, stem=text)


def _with_clitics(words: list[Word]) -> list[Word]:
    """Return "no lo puedo instalar" for "no puedo instalarlo", and "la que" for "la cual" after a preposition."""
    found: list[Word] = []
    for place, word in enumerate(words):
        before, further = (words[place - back].text if place >= back else "" for back in (1, 2))
        enclitic = _ENCLITIC.fullmatch(word.text) if before in SPANISH_MODALS and not word.break_before else None
        if enclitic and further not in _CLITICS | _OBJECT_CLITICS:
            modal = found.pop()
            clitic = Word(enclitic[2], enclitic[2], enclitic[2], "l", modal.break_before)
            found += [clitic, modal._replace(raw=modal.text, case="l", break_before=0), _worded(word, enclitic[1])]
            continue
        is_relative = word.text in ("cual", "cuales") and before in _SPANISH_ARTICLES
        is_after_preposition = further in SPANISH.adverbials or further == "de"
        found.append(_worded(word, "que") if is_relative and is_after_preposition else word)
    return found


def _without_places(words: list[Word]) -> list[Word]:
    """Return the words without "la" before a name, as in "la Lucía" and "la Argentina", unless it belongs to it."""
    found: list[Word] = []
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else word
        is_name = word.case in ("l", "S") and after.case == "C" and not after.break_before
        is_article = word.text == "la" and after.text not in PLACES_WITH_ARTICLE
        if is_name and (is_article or (word.text == "el" and after.text in PLACES_WITHOUT_ARTICLE)):
            words[place + 1] = after._replace(break_before=word.break_before)
        else:
            found.append(words[place])
    return found


def _with_joined_clitics(words: list[Word]) -> list[Word]:
    """Return the words with "se", "me" and the like joined to the verb after them."""
    found: list[Word] = []
    place = 0
    while place < len(words):
        size = 1
        if words[place].text in _CLITICS:
            size = 3 if place + 2 < len(words) and words[place + 1].text in _OBJECT_CLITICS else 2
        group = words[place : place + size]
        if size == len(group) > 1 and all(word.raw.islower() and not word.break_before for word in group[1:]):
            text = "_".join(word.text for word in group)
            found.append(_worded(group[0], text))
            place += size
        else:
            found.append(words[place])
            place += 1
    return found
