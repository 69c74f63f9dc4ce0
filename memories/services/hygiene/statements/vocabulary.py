"""Closed classes of words, by language, that the comparison of statements knows; every other word is content."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

_FILE: Mapping[str, Any] = json.loads(Path(__file__).with_name("vocabulary.json").read_text("utf-8"))
#: Words other than numbers and months with which an amount may begin.
_VALUE_STARTS = ("€", "$", "£", "eur", "usd", "gbp", "chf")

#: The number of fields of a language that are sets of words; they come first.
_WORD_SETS = 18

WordSequence = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LanguageVocabulary:
    """The closed classes of one language.

    `typical` words and `letters` recognise the language. `comments` are the words of asides such as "please note that",
    `fillers` can be dropped anywhere. A phrase that begins with one of `adverbials` or `conjunctions` may stand first
    or last; one of `adverbs` is such a phrase by itself. `auxiliaries` are the verbs that may precede their subject;
    None where any verb may. After `predicate_verbs` an article tells a noun from an adjective. The
    letters of `doubled` are often doubled by mistake. `phrases` have one meaning with what they are replaced by, and so
    have `spellings`: abbreviations, accents left out and frequent mistakes that are no word. `reporting` verbs have a
    statement of their own after them. Before `relatives` a comma changes who is meant. The rest is for `frames`:
    `attributes` are nouns that one thing has of another, `frame_stops` belong to no plain noun phrase, `no_agents` do
    not act where a passive names them, and `pasts` and `presents` are irregular participles with these forms. Pronouns
    of `subjects` have no other case, and before a number, `approximations` mean the same.
    """

    typical: frozenset[str]
    comments: frozenset[str]
    fillers: frozenset[str]
    adverbials: frozenset[str]
    adverbs: frozenset[str]
    conjunctions: frozenset[str]
    negations: frozenset[str]
    dropped_articles: frozenset[str]
    leading_articles: frozenset[str]
    predicate_verbs: frozenset[str]
    reporting: frozenset[str]
    relatives: frozenset[str]
    attributes: frozenset[str]
    frame_stops: frozenset[str]
    no_agents: frozenset[str]
    seasons: frozenset[str]
    subjects: frozenset[str]
    approximations: frozenset[str]
    letters: frozenset[str]
    auxiliaries: frozenset[str] | None
    that: str
    doubled: frozenset[str]
    decimal_comma: bool
    numbers: Mapping[str, int]
    ordinals: Mapping[str, int]
    months: Mapping[str, int]
    clock_phrases: Mapping[WordSequence, int]
    phrases: Mapping[WordSequence, WordSequence]
    spellings: Mapping[str, str]
    abbreviations: Mapping[str, str]
    frames: Sequence[tuple[WordSequence, WordSequence]]
    pasts: Mapping[str, str]
    presents: Mapping[str, str]

    @cached_property
    def value_words(self) -> frozenset[str]:
        """The words with which a number, date or time may begin."""
        clocks = (phrase[0] for phrase in self.clock_phrases)
        return frozenset((*self.numbers, *self.ordinals, *self.months, *clocks, *_VALUE_STARTS))

    @cached_property
    def phrase_sizes(self) -> Mapping[str, Sequence[int]]:
        """The numbers of words of phrases by their first word, the longest first."""
        sizes: dict[str, set[int]] = {}
        for phrase in self.phrases:
            sizes.setdefault(phrase[0], set()).add(len(phrase))
        return {first: sorted(several, reverse=True) for first, several in sizes.items()}

    @cached_property
    def common(self) -> frozenset[str]:
        """The words that are not acronyms when written in capitals."""
        return self.typical | self.negations

    @cached_property
    def caseless(self) -> frozenset[str]:
        """The full forms of abbreviations; whether they are capitalised has no meaning."""
        return frozenset(self.abbreviations.values())

    @cached_property
    def unended(self) -> frozenset[str]:
        """The words that a phrase does not end with."""
        return self.adverbials | self.negations | self.leading_articles


def _words_of(text: str) -> frozenset[str]:
    """Return the words of a text between spaces."""
    return frozenset(text.split())


def _language(name: str, given: Mapping[str, Any]) -> LanguageVocabulary:
    numbers = given["numbers"]
    return LanguageVocabulary(
        **{field.name: _words_of(given.get(field.name, "")) for field in fields(LanguageVocabulary)[:_WORD_SETS]},
        letters=frozenset(given.get("letters", "")),
        auxiliaries=_words_of(given["auxiliaries"]) if "auxiliaries" in given else None,
        that=given.get("that", ""),
        doubled=frozenset(given.get("doubled", "")),
        decimal_comma=given.get("decimal_comma", True),
        numbers=_german_numbers(numbers) if name == "de" else numbers,
        ordinals=given.get("ordinals", {}),
        months=given["months"],
        clock_phrases={tuple(text.split()): minutes for text, minutes in given.get("clock_phrases", {}).items()},
        phrases={tuple(one.split()): tuple(other.split()) for one, other in given["phrases"].items()},
        spellings={**given.get("spellings", {}), **given.get("abbreviations", {})},
        abbreviations=given.get("abbreviations", {}),
        frames=[(tuple(one.split()), tuple(other.split())) for one, other in given.get("frames", ())],
        pasts=given.get("pasts", {}),
        presents=given.get("presents", {}),
    )


def _german_numbers(simple: Mapping[str, int]) -> dict[str, int]:
    """Return the German number words, which are one word each below a million."""
    digits = {"ein": 1, **{word: value for word, value in simple.items() if 1 < value < 10}}
    tens = {word: value for word, value in simple.items() if 20 <= value < 100 and value % 10 == 0}
    small = {word: value for word, value in simple.items() if value < 100}
    small |= {f"{unit}und{ten}": value + more for ten, value in tens.items() for unit, more in digits.items()}
    hundreds = {f"{unit}hundert": value * 100 for unit, value in digits.items()} | {"hundert": 100}
    large = {word + rest: value + more for word, value in hundreds.items() for rest, more in small.items()}
    thousands = {f"{unit}tausend": value * 1000 for unit, value in (digits | small).items()}
    return {**small, **hundreds, **large, **thousands, **simple}


LANGUAGES: Mapping[str, LanguageVocabulary] = {
    name: _language(name, given) for name, given in _FILE["languages"].items()
}
ENGLISH, GERMAN, SPANISH = LANGUAGES["en"], LANGUAGES["de"], LANGUAGES["es"]
#: English for a text that may be of another language: "a" and a final s may mean something there.
NEUTRAL = replace(ENGLISH, dropped_articles=frozenset(["the"]))
#: Typical words of English that are words of other languages too.
SHARED_WORDS = _words_of(_FILE["shared_words"])

#: Canonical unit and factor of the words and symbols of units that follow a number; the case of symbols counts.
UNITS: Mapping[str, tuple[str, int]] = {
    word: (unit, factor) for unit, factor, words in _FILE["units"] for word in words.split()
}
#: Units of two words.
UNIT_PAIRS: Mapping[WordSequence, str] = {tuple(pair.split()): unit for pair, unit in _FILE["unit_pairs"].items()}
#: Other spellings, short titles and names of days, with the spelling that replaces them.
VARIANTS: Mapping[str, str] = _FILE["variants"]
TITLES: Mapping[str, str] = _FILE["titles"]
WEEKDAYS: Mapping[str, str] = _FILE["weekdays"]
#: Beginnings of words in -our that American English writes with -or.
OUR_WORDS: Sequence[str] = _FILE["our_words"].split()
#: Words in -s that are not plurals, or whose plural has another meaning.
NO_PLURALS = _words_of(_FILE["no_plurals"])
#: Words that another word differs from only in ß, ph or an accent.
DISTINCT_SPELLINGS = _words_of(_FILE["distinct_spellings"])
#: Words after which a point does not end the sentence.
ABBREVIATIONS = _words_of(_FILE["abbreviations"]).union(
    *(given.get("abbreviations", ()) for given in _FILE["languages"].values())
)
#: Every aside contains at least one of these words; those of `ASIDE_FIRST_WORDS` only at the beginning of a text.
ASIDE_WORDS, ASIDE_FIRST_WORDS = _words_of(_FILE["asides"]["words"]), _words_of(_FILE["asides"]["first_words"])
#: Words that may precede an aside.
ASIDE_SOFTENERS = _words_of(_FILE["asides"]["softeners"])
#: Asides that need no punctuation after them, and those that do.
UNMARKED_ASIDES, MARKED_ASIDES = (
    frozenset(tuple(text.split()) for text in _FILE["asides"][name]) for name in ("unmarked", "marked")
)
#: Verbs before a list whose order has no meaning, the words between its last items, and words that give it an order.
LIST_VERBS, LIST_ANDS, LIST_PREPOSITIONS, ORDER_WORDS = (
    _words_of(_FILE["lists"][name]) for name in ("verbs", "ands", "prepositions", "order_words")
)
#: Beginnings of English words that one letter distinguishes.
CONFUSABLE = tuple(_FILE["confusable"].split())
#: Words that have another meaning next to an adverb.
SCOPE_WORDS = _words_of(_FILE["scope_words"])
#: English verbs with the particles that may stand before or after their object.
PARTICLE_VERBS: Mapping[str, frozenset[str]] = {
    verb: _words_of(particles) for verb, particles in _FILE["particle_verbs"].items()
}
#: English verbs after which an infinitive and a gerund mean the same.
INFINITIVE_VERBS = _words_of(_FILE["infinitive_verbs"])
#: German nouns after which "welche" may ask.
INTERROGATIVE_NOUNS = _words_of(_FILE["interrogative_nouns"])
#: Names that mean another place without "la", and countries that mean the same without "el".
PLACES_WITH_ARTICLE, PLACES_WITHOUT_ARTICLE = (
    _words_of(_FILE[name]) for name in ("places_with_article", "places_without_article")
)
#: Spanish verbs before or after whose infinitive a pronoun may stand.
SPANISH_MODALS = _words_of(_FILE["spanish_modals"])
#: German feminine nouns and names without a feminine ending, and verbs of one subject without -t.
FEMININES, SINGULAR_VERBS = _words_of(_FILE["feminines"]), _words_of(_FILE["singular_verbs"])
#: Words after which the letters of a word count, such as "password".
LITERAL_MARKERS = _words_of(_FILE["literal_markers"])
