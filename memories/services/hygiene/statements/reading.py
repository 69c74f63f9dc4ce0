"""Read a text as a statement: its words in canonical form, without parts that cannot change its meaning."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from memories.services.hygiene.statements.asides import drop_asides
from memories.services.hygiene.statements.constructions import in_one_construction
from memories.services.hygiene.statements.frames import in_one_frame
from memories.services.hygiene.statements.splitting import clean, split
from memories.services.hygiene.statements.stems import DOUBLED, spelled, stem_of
from memories.services.hygiene.statements.values import join_values, read_figure
from memories.services.hygiene.statements.vocabulary import (
    ENGLISH,
    GERMAN,
    LANGUAGES,
    LITERAL_MARKERS,
    NEUTRAL,
    SHARED_WORDS,
    TITLES,
    LanguageVocabulary,
)
from memories.services.hygiene.statements.words import Word
from memories.services.text_cache import cached_texts

#: Maximum characters of a text that is read; a longer text makes the same statement only as an equal text.
CHARACTERS_MAX = 2_000
#: Maximum statements in the cache, because contexts read the same memories repeatedly: 1.3 MB if texts have 60
#: characters, 18 MB if all have the maximum length.
STATEMENTS_CACHED = 256

#: Letters from which a word in capitals is not an acronym.
_EMPHASIS_LETTERS_MIN = 5
_CONTRACTED = {"d": "would", "re": "are", "m": "am", "ve": "have", "ll": "will"}
_IS_AFTER = frozenset(["it", "he", "she", "that", "what", "who", "where", "there", "here", "how"])
#: Words before which "'s" is not a genitive if at most this many words precede it.
_IS_BEFORE = frozenset(["a", "an", "the", "not", "my", "our", "your", "on", "in", "at", "from"])
_SUBJECT_WORDS_MAX = 2
_IRREGULAR = {"can't": "can not", "won't": "will not", "shan't": "shall not", "cannot": "can not", "let's": "let us"}
_DETERMINERS = re.compile(
    r"der|die|das|den|dem|des|(?:k|m|d|s)?ein(?:e[nmrs]?)?|ihr(?:e[nmrs]?)?|unser(?:e[nmrs]?)?|im|am|zum|zur|vom|beim"
    r"|ins|ans|jede[nmrs]?|diese[nmrs]?|alle[nr]?|viele|fürs"
)


@dataclass(frozen=True, eq=False)
class ParsedStatement:
    """A text as its words; `is_inverted` if the verb may come first, `is_verb_last` after "dass".

    Equal only to itself, so that comparisons of two can be cached.
    """

    words: Sequence[Word]
    language: LanguageVocabulary
    is_inverted: bool = False
    is_verb_last: bool = False
    #: The text, if it is read as English without evidence.
    unsure_text: str = ""

    @cached_property
    def form(self) -> tuple[tuple[str, str, int, tuple[str, ...]], ...]:
        """The form that is compared; texts with equal forms make the same statement."""
        words = read_statement(self.unsure_text, NEUTRAL).words if self.unsure_text else self.words
        return tuple((word.text, word.case, word.break_before, word.parts) for word in words)

    @cached_property
    def key(self) -> str:
        """The sorted letters and digits; texts with different keys do not make the same statement."""
        articles = self.language.leading_articles
        text = " ".join(word.stem for word in self.words if word.text not in articles)
        return "".join(sorted(DOUBLED.sub(r"\1", text.lower()).replace(" ", "")))


@cached_texts(STATEMENTS_CACHED, longest=CHARACTERS_MAX)
def read_statement(text: str, language: LanguageVocabulary | None = None) -> ParsedStatement:
    """Return the statement of a text in a language, by default in that of its typical words."""
    words = _words_in(text)
    if not words:
        whole = " ".join(unicodedata.normalize("NFKC", text).split())
        return ParsedStatement([Word(whole, whole, whole, is_value=True)], ENGLISH)
    is_unsure = language is None and _is_unsure(words)
    language = language or _language_of(words)
    words = _with_case(_replace_phrases(_expand(words, language), language), language)
    words, is_inverted, is_verb_last = drop_asides(words, language)
    words = _drop(words, language.fillers)
    words = in_one_construction(join_values(words, language), language)
    words = _drop(words, language.dropped_articles, language.predicate_verbs)
    words = in_one_frame(words, language)
    words = _with_stems(words, language)
    return ParsedStatement(words, language, is_inverted, is_verb_last, text if is_unsure else "")


def read_words(text: str, language: LanguageVocabulary | None = None) -> tuple[list[Word], LanguageVocabulary, bool]:
    """Return all words of a text in canonical form, its language, by default that of its words, and if that is unsure.

    Unlike a statement, the words include asides and articles.
    """
    words = _words_in(text)
    is_unsure = language is None and _is_unsure(words)
    language = language or _language_of(words)
    words = _with_case(_replace_phrases(_expand(words, language), language), language)
    return _with_stems(join_values(words, language), language, ()), language, is_unsure


def _words_in(text: str) -> list[Word]:
    """Return the words of a text; none if it is too long."""
    return list(split(clean(text))) if len(text) <= CHARACTERS_MAX else []


def _with_stems(
    words: Sequence[Word], language: LanguageVocabulary, literal_markers: Collection[str] = LITERAL_MARKERS
) -> list[Word]:
    """Return the words in one spelling with their stems; those after a word such as "password" as they are."""
    found: list[Word] = []
    former, is_literal = "", False
    for word in words:
        if is_literal:
            found.append(word._replace(stem=word.text, is_value=True))
            continue
        found.append(stem_of(spelled(word, language), former, language))
        former, is_literal = found[-1].text, word.text in literal_markers
    return found


def _language_of(words: Sequence[Word]) -> LanguageVocabulary:
    texts = [word.text for word in words if not word.is_value]
    letters = set("".join(texts))
    counts = {
        name: sum(text in each.typical for text in texts) + len(letters & each.letters)
        for name, each in LANGUAGES.items()
    }
    best = max(counts, key=lambda name: counts[name])
    return LANGUAGES[best if counts[best] > counts["en"] else "en"]


def _is_unsure(words: Sequence[Word]) -> bool:
    """Whether there is no evidence of the language, so that English is assumed."""
    texts = {word.text for word in words if not word.is_value}
    return _language_of(words) is ENGLISH and not texts & (ENGLISH.typical - SHARED_WORDS)


def _expand(words: Sequence[Word], language: LanguageVocabulary) -> list[Word]:
    """Return the words with contractions expanded and figures in canonical form."""
    found: list[Word] = []
    is_literal = False
    words = _with_ordinals(words) if language is GERMAN else words
    following = [*(word.text for word in words[1:]), ""]
    for place, (word, after) in enumerate(zip(words, following, strict=False)):
        if word.is_value:
            text = read_figure(word.text, language)
            found.append(word._replace(text=text, stem=text))
            continue
        texts = _contraction(word, language)
        if texts[1:] in (["is"], ["'s"]) and after in ("been", "got"):
            texts[1] = "has"
        elif texts[1:] == ["'s"] and place < _SUBJECT_WORDS_MAX and after in _IS_BEFORE:
            texts[1] = "is"
        first = word._replace(text=texts[0], stem=texts[0], raw=word.raw.split("'")[0])
        word = word if texts == [word.text] else first
        is_literal |= word.text in LITERAL_MARKERS
        found.append(word if is_literal else _spelled_out(word, language))
        found += [Word(text, text, text) for text in texts[1:]]
    return found


def _with_ordinals(words: Sequence[Word]) -> list[Word]:
    """Return German words with a number and a point after a determiner, as in "den 1. Platz", as an ordinal."""
    found = list(words)
    for place in range(1, len(found) - 1):
        word, after = found[place], found[place + 1]
        if word.raw.endswith(".") and word.text.isdecimal() and _DETERMINERS.fullmatch(found[place - 1].text):
            found[place : place + 2] = [word.as_value(word.raw), after._replace(break_before=0)]
    return found


def _spelled_out(word: Word, language: LanguageVocabulary) -> Word:
    """Return the full or correct form of an abbreviation or a frequent misspelling."""
    text = language.spellings.get(word.raw) or (None if word.raw.isupper() else language.spellings.get(word.text))
    if text is None:
        return word
    return word._replace(raw=text.capitalize() if word.raw[:1].isupper() else text, text=text, stem=text)


def _contraction(word: Word, language: LanguageVocabulary) -> list[str]:
    text = word.text
    if language in (ENGLISH, NEUTRAL):
        return _english_contraction(text)
    if language is GERMAN and text.endswith("'s") and word.raw[:1].islower():
        return [text[:-2], "es"]
    return text.split("'") if "'" in text and language is not GERMAN else [text]


def _english_contraction(text: str) -> list[str]:
    if text in _IRREGULAR:
        return _IRREGULAR[text].split()
    if text.endswith("n't"):
        return [text[:-3], "not"]
    base, mark, rest = text.rpartition("'")
    if mark and rest == "s":
        return [base, "is" if base in _IS_AFTER else "'s"]
    return [base, _CONTRACTED[rest]] if mark and rest in _CONTRACTED else [text]


def _replace_phrases(words: list[Word], language: LanguageVocabulary) -> list[Word]:
    found: list[Word] = []
    place = 0
    while place < len(words):
        phrase = _phrase_at(words, place, language)
        if phrase:
            found += _replaced(words[place], language.phrases[phrase])
        else:
            found.append(words[place])
        place += len(phrase) or 1
    return found


def _phrase_at(words: Sequence[Word], place: int, language: LanguageVocabulary) -> tuple[str, ...]:
    """Return the longest phrase that begins at a place; empty if none does."""
    for size in language.phrase_sizes.get(words[place].text, ()):
        texts = tuple(word.text for word in words[place : place + size])
        is_joined = not any(word.break_before for word in words[place + 1 : place + size])
        is_negated = texts[0] in ("have", "has") and place > 0 and words[place - 1].text == "not"
        if texts in language.phrases and is_joined and not is_negated:
            return texts
    return ()


def _replaced(start: Word, texts: Sequence[str]) -> list[Word]:
    words = [Word(text, text.lower(), text.lower(), is_value=text[:1].isdigit()) for text in texts]
    first = start if texts[0] == start.text else words[0]._replace(break_before=start.break_before)
    return [first, *words[1:]]


def _with_case(words: Sequence[Word], language: LanguageVocabulary) -> list[Word]:
    """Return the words with their cases, unless the whole text is in small or in capital letters."""
    plain = [word.raw for word in words if not word.is_value and word.raw.isalpha()]
    if not any(raw[:1].isupper() for raw in plain) or all(raw.isupper() for raw in plain):
        return list(words)
    return [
        word._replace(case=_case(words, place, language)) if word.raw[:1].isalpha() and not word.is_value else word
        for place, word in enumerate(words)
    ]


def _case(words: Sequence[Word], place: int, language: LanguageVocabulary) -> str:
    word = words[place]
    is_named = place + 1 < len(words) and words[place + 1].raw[:1].isupper() and not words[place + 1].break_before
    is_title = is_named and (word.text in TITLES or word.text in TITLES.values())
    if is_title or word.text in language.caseless:
        return ""
    if not word.raw[:1].isupper():
        return "l"
    is_numbered = language is not GERMAN and place + 1 < len(words) and words[place + 1].is_value
    if is_numbered or (word.raw.isupper() and (len(word.raw) >= _EMPHASIS_LETTERS_MIN or word.text in language.common)):
        return ""
    if not place or word.break_before == 2:
        return "S"
    before = words[place - 1]
    return "N" if language is GERMAN and (_DETERMINERS.fullmatch(before.text) or before.is_value) else "C"


def _drop(words: Sequence[Word], dropped: frozenset[str], predicate_verbs: frozenset[str] = frozenset()) -> list[Word]:
    """Return the words without those that are dropped; their breaks pass to the next word."""
    found: list[Word] = []
    pending = 0
    for place, word in enumerate(words):
        is_letter = word.raw.isupper() and len(word.raw) == 1 and word.case == "C"
        is_dropped = word.text in dropped and word.raw[:1].isalpha() and not is_letter
        is_predicate = _is_after_predicate_verb(words, place, predicate_verbs) and _is_telling(words[place:])
        if is_dropped and not is_predicate:
            pending = max(pending, word.break_before)
        else:
            found.append(word._replace(break_before=max(pending, word.break_before)) if pending else word)
            pending = 0
    return found if any(word.text != "?" for word in found) else list(words)


def _is_after_predicate_verb(words: Sequence[Word], place: int, predicate_verbs: frozenset[str]) -> bool:
    before = words[place - 1] if place else words[place]
    if before.text == "not" and place > 1 and not before.break_before:
        before = words[place - 2]
    return before.text in predicate_verbs


def _is_telling(words: Sequence[Word]) -> bool:
    """Whether the article, the first of the words, distinguishes "is a patient" from "is patient"."""
    return words[0].text != "the" or len(words) < 3 or bool(words[2].break_before)
