"""Rewrite converse sentences, such as passives and "is younger than", in one form.

A frame is a pair of patterns of `vocabulary.json`. Its capitals are slots, and the other words are literal, with "|"
between alternatives:

- X, Y, O: a plain noun phrase; A: one that may act; W: a name; Z: the rest of a sentence from its verb; R: any words;
- N: a noun of `attributes`, with at most two words before it; V: an amount or another value, with its unit;
- Q: a noun phrase that may begin with a number;
- P, T: a participle, which becomes the past or the present form; E: one verb; K: a German participle.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from memories.services.hygiene.statements.articles import is_feminine
from memories.services.hygiene.statements.vocabulary import (
    GERMAN,
    LIST_ANDS,
    SPANISH,
    UNITS,
    WEEKDAYS,
    LanguageVocabulary,
    WordSequence,
)
from memories.services.hygiene.statements.words import Word

#: Words of a sentence that is rewritten, of one slot, and of the rest of a sentence.
SENTENCE_WORDS_MAX = 24
_PHRASE_WORDS_MAX, _ATTRIBUTE_WORDS_MAX, _NAME_WORDS_MAX = 6, 3, 4
_ARTICLES = frozenset(["der", "die", "das", "den", "dem", "el", "la", "los", "las", "a", "an", "the"])
_LINKS = frozenset(["of", "de", "del"])
#: Spanish endings of a participle with those of the past form.
_SPANISH_PASTS = {
    "ado": "ó",
    "ada": "ó",
    "ados": "ó",
    "adas": "ó",
    "ido": "ió",
    "ida": "ió",
    "idos": "ió",
    "idas": "ió",
}

_GERMAN_PARTICIPLE = re.compile(
    r"(?:(?:[^\W\d_]{2,})?ge[^\W\d_]+|(?:be|ver|er|ent|zer|über|unter|wider)[^\W\d_]+|[^\W\d_]+iert)(?<=t|n)"
)
#: Ends of English verbs that are written with a silent e.
_SILENT_E = re.compile(r"(?:[csvzug]|(?<![eo])at|[^aeioul]l|[^aeiou]ir|^[^aeiou]+[aeiou][kmnpr])$")

Slots = Mapping[str, Sequence[Word]]


def in_one_frame(words: Sequence[Word], language: LanguageVocabulary) -> list[Word]:
    """Return the words of a sentence as its frames rewrite them, one after the other."""
    found = list(words)
    if len(found) > SENTENCE_WORDS_MAX or any(word.break_before or word.text == "?" for word in found[1:]):
        return found
    if language is GERMAN:
        found = _without_genitive_name(found)
    texts = {word.text for word in found}
    for pattern, other in language.frames:
        if not all((len(token) == 1 and token.isupper()) or texts & set(token.split("|")) for token in pattern):
            continue
        slots = next(_matches(pattern, found, language), None)
        if slots is not None and not _is_ordered(pattern, other, slots):
            found = _filled(other, slots, language)
            texts = {word.text for word in found}
    return found


def _is_ordered(pattern: WordSequence, other: WordSequence, slots: Slots) -> bool:
    """Whether a relation that holds both ways, such as "is married to", has its two sides in order."""
    if (
        "X" not in slots
        or "Y" not in slots
        or other != tuple({"X": "Y", "Y": "X"}.get(token, token) for token in pattern)
    ):
        return False
    return [word.text for word in slots["X"]] <= [word.text for word in slots["Y"]]


def _matches(pattern: WordSequence, words: Sequence[Word], language: LanguageVocabulary) -> Iterator[Slots]:
    """Yield the ways in which a pattern matches all the words."""
    if not pattern:
        if not words:
            yield {}
        return
    token, rest = pattern[0], pattern[1:]
    if len(token) > 1 or not token.isupper():
        if words and words[0].text in token.split("|"):
            yield from _matches(rest, words[1:], language)
        return
    for size in range(1, len(words) - len(rest) + 1):
        if _FITS[token](words[:size], language):
            yield from ({token: words[:size], **slots} for slots in _matches(rest, words[size:], language))


def _filled(pattern: WordSequence, slots: Slots, language: LanguageVocabulary) -> list[Word]:
    found: list[Word] = []
    for sign in pattern:
        if sign == "P":
            found.append(_past_of(slots[sign][0], language))
        elif sign == "T":
            found.append(_present_of(slots[sign][0], language))
        elif sign in slots:
            found += slots[sign]
        else:
            found.append(Word(sign, sign, sign, "l"))
    return [word._replace(break_before=0) for word in found]


def _is_phrase(words: Sequence[Word], language: LanguageVocabulary) -> bool:
    stops = language.frame_stops | language.negations | language.conjunctions | LIST_ANDS
    stops |= language.adverbials - _ARTICLES | language.adverbs
    is_short = len(words) <= _PHRASE_WORDS_MAX and not words[0].is_value and words[-1].raw not in _ARTICLES | _LINKS
    return is_short and not any(word.text in stops for word in words)


def _is_name(words: Sequence[Word], language: LanguageVocabulary) -> bool:
    first = words[0]
    is_capital = first.raw[:1].isupper() and first.text not in _ARTICLES and first.text not in language.months
    return len(words) <= _NAME_WORDS_MAX and is_capital and (first.is_value or _is_phrase(words, language))


def _is_agent(words: Sequence[Word], language: LanguageVocabulary) -> bool:
    last = words[-1].text
    no_agents = language.no_agents | WEEKDAYS.keys() | set(WEEKDAYS.values()) | language.months.keys()
    return last not in no_agents and last not in UNITS and _is_phrase(words, language)


def _is_attribute(words: Sequence[Word], language: LanguageVocabulary) -> bool:
    is_short = len(words) <= _ATTRIBUTE_WORDS_MAX
    stops = language.frame_stops - {"of"} | language.negations
    is_plain = not any(word.is_value or word.text in stops for word in words)
    return is_short and is_plain and words[-1].text in language.attributes


def _is_measure(words: Sequence[Word], _language: LanguageVocabulary) -> bool:
    is_unit = len(words) == 1 or (len(words) == 2 and words[1].case != "C" and words[1].text.isalpha())
    return words[0].is_value and words[0].text != "?" and is_unit


def _is_rest(words: Sequence[Word], language: LanguageVocabulary) -> bool:
    """Whether the words go on with a verb, and not with more of the phrase before them."""
    first = words[0].text
    return first not in LIST_ANDS | language.adverbials | language.relatives | _LINKS | {"'s", "von", "vom", "des"}


def _past_of(word: Word, language: LanguageVocabulary) -> Word:
    """Return the past form of a participle; the word itself if it is none."""
    text = word.text
    if language is SPANISH:
        ending = next(
            (ending for ending in _SPANISH_PASTS if text.endswith(ending) and len(text) > len(ending) + 1), ""
        )
        text = text.removesuffix(ending) + _SPANISH_PASTS.get(ending, "")
        return word._replace(text=text, stem=text) if ending else word
    past = language.pasts.get(text) or (text if text.endswith("ed") and len(text) > 4 else "")
    return word._replace(raw=past, text=past, stem=past) if past else word


def _present_of(word: Word, language: LanguageVocabulary) -> Word:
    """Return the form with "he" of an English participle; the word itself if it is none."""
    root = word.text.removesuffix("ed")
    present = language.presents.get(word.text, "")
    if not present and word.text.endswith("ied"):
        present = f"{word.text.removesuffix('ied')}ies"
    elif not present and word.text.endswith("ed") and len(root) > 2:
        present = root + ("es" if _SILENT_E.search(root) else "s")
    return word._replace(raw=present, text=present, stem=present) if present else word


def _without_genitive_name(words: list[Word]) -> list[Word]:
    """Return "Martins Auto ist rot" and "Das Auto von Martin ist rot" as "Auto von Martin ist rot"."""
    if len(words) < len(("martins", "auto", "ist")):
        return words
    first, second, third = words[:3]
    is_clear = first.text in ("die", "das") or (first.text == "der" and not is_feminine(second.text))
    if is_clear and second.text in GERMAN.attributes and third.text in ("von", "vom"):
        return words[1:]
    is_name = first.raw[:1].isupper() and first.text.endswith("s") and len(first.text) > len("tim")
    if not is_name or second.text not in GERMAN.attributes or not _is_rest(words[2:], GERMAN):
        return words
    if first.text in GERMAN.frame_stops | GERMAN.typical:
        return words
    name = first._replace(raw=first.raw[:-1], text=first.text[:-1], stem=first.text[:-1])
    return [second, Word("von", "von", "von", "l"), name, *words[2:]]


_FITS: Mapping[str, Callable[[Sequence[Word], LanguageVocabulary], bool]] = {
    **dict.fromkeys("XYO", _is_phrase),
    "A": _is_agent,
    "N": _is_attribute,
    "V": _is_measure,
    "W": _is_name,
    "Z": _is_rest,
    "R": lambda _words, _language: True,
    "P": lambda words, language: len(words) == 1 and _past_of(words[0], language) is not words[0],
    "E": lambda words, language: len(words) == 1 and words[0].case in ("l", "") and _is_phrase(words, language),
    "Q": lambda words, language: _is_measure(words, language) or _is_phrase(words, language),
    "T": lambda words, language: len(words) == 1 and _present_of(words[0], language) is not words[0],
    "K": lambda words, language: (
        len(words) == 1
        and words[0].text not in language.no_agents
        and _GERMAN_PARTICIPLE.fullmatch(words[0].text) is not None
    ),
}
