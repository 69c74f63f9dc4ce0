"""Read a text as a statement: its words in canonical form, without what cannot change its meaning."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from memories.services.hygiene.statements.asides import drop_asides
from memories.services.hygiene.statements.stems import DOUBLED, spelled, stem_of
from memories.services.hygiene.statements.values import join_values, read_figure
from memories.services.hygiene.statements.vocabulary import (
    ABBREVIATIONS,
    ENGLISH,
    GERMAN,
    LANGUAGES,
    NEUTRAL,
    SHARED_WORDS,
    UNITS,
    Language,
)
from memories.services.hygiene.statements.words import Word

#: Characters of a text that are read; a longer one states the same only as an equal one.
CHARACTERS_MAX = 2_000

_REPLACED = {"'": "‘’‚‛´ʼ′", '"': "“”„‟«»″", "-": "‐‑‒−", " – ": "–", " — ": "—", "x": "×", "th": "ºª"}
_TRANSLATION = {ord(sign): text for text, signs in _REPLACED.items() for sign in signs}
_TRANSLATION |= {ord(sign): f"^{digit}" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_TRANSLATION |= {ord("≥"): ">=", ord("≤"): "<=", ord("≠"): "!="}
_SPACED_THOUSANDS = re.compile(r"(?<=\d)(?:[\u00a0\u202f\u2009](?=\d{3}(?!\d))| (?=000(?!\d)))")
_RANGE = re.compile(r"(?<![\w.,:/-])([1-9]\d{0,3})\s?(?:–|-)\s?([1-9]\d{0,3})(?![\w.,:/-]*\w)")
_THOUSANDS = re.compile(r"(?<![\w.,])(\$|€|£)?(\d{1,3})k\b")
_NEW_ITEM = re.compile(r"(?:^|\n)\s*[-*•]\s+|\n\s*\d+[.)]\s+|\n\s*\n")
_OPENING, _CLOSING = "\"'([{¿¡", "\"')]}.,;:!?…"
_HARD, _SOFT = ".;:!?…=", ",()[]-–—"
_INITIALS = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W\d_](?:\.[^\W\d_])+")
#: Letters of a word in capitals from which it is no acronym.
_EMPHASIS_LETTERS_MIN = 5
_PLAIN = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*'?")
_FIGURE = re.compile(r"(US\$|[€$£])?([+-]?\d(?:[\d.,:/-]*\d)?)(.*)", re.DOTALL)
_ORDINAL = re.compile(r"\.?(?:st|nd|rd|th|er)")
_UNIT_SUFFIX = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+)?|°[CF]?|[%€$£]")
_CONTRACTED = {"d": "would", "re": "are", "m": "am", "ve": "have", "ll": "will"}
_IS_AFTER = frozenset(["it", "he", "she", "that", "what", "who", "where", "there", "here", "how"])
_IRREGULAR = {"can't": "can not", "won't": "will not", "shan't": "shall not", "cannot": "can not", "let's": "let us"}
_DETERMINERS = re.compile(
    r"der|die|das|den|dem|des|(?:k|m|d|s)?ein(?:e[nmrs]?)?|ihr(?:e[nmrs]?)?|unser(?:e[nmrs]?)?|im|am|zum|zur|vom|beim"
    r"|ins|ans|jede[nmrs]?|diese[nmrs]?|alle[nr]?|viele|fürs"
)
_IDENTIFIER = re.compile(r"[a-zß-ÿ][A-Z]")
_PROTECTED_CAPITALS = frozenset(["us", "it", "who", "aids"])


@dataclass(frozen=True)
class Statement:
    """A text as its words; `is_inverted` where the verb may come first, `is_verb_last` after "dass"."""

    words: Sequence[Word]
    language: Language
    is_inverted: bool = False
    is_verb_last: bool = False
    #: The text, where it is read as English without evidence.
    unsure_text: str = ""

    @property
    def form(self) -> tuple[tuple[str, str, int, tuple[str, ...]], ...]:
        """What a comparison looks at; texts of equal forms state the same."""
        words = read_statement(self.unsure_text, NEUTRAL).words if self.unsure_text else self.words
        return tuple((word.text, word.case, word.break_before, word.parts) for word in words)

    @cached_property
    def key(self) -> str:
        """The sorted letters and digits; texts of different keys do not state the same."""
        articles = self.language.leading_articles
        text = " ".join(word.stem for word in self.words if word.text not in articles)
        return "".join(sorted(DOUBLED.sub(r"\1", text.lower()).replace(" ", "")))


def read_statement(text: str, language: Language | None = None) -> Statement:
    """Return the statement of a text in a language, by default in that of its typical words."""
    words = _words_in(text)
    if not words:
        whole = " ".join(unicodedata.normalize("NFKC", text).split())
        return Statement([Word(whole, whole, whole, is_value=True)], ENGLISH)
    is_unsure = language is None and _is_unsure(words)
    language = language or _language_of(words)
    words = _with_case(_replace_phrases(_expand(words, language), language), language)
    words, is_inverted, is_verb_last = drop_asides(words, language)
    words = _drop(words, language.fillers)
    words = join_values(words, language)
    words = _drop(words, language.dropped_articles, language.predicate_verbs)
    words = _with_stems(words, language)
    return Statement(words, language, is_inverted, is_verb_last, text if is_unsure else "")


def read_words(text: str, language: Language | None = None) -> tuple[list[Word], Language, bool]:
    """Return all words of a text in canonical form, its language, by default that of its words, and if that is unsure.

    Unlike a statement, the words include asides and articles.
    """
    words = _words_in(text)
    is_unsure = language is None and _is_unsure(words)
    language = language or _language_of(words)
    words = _with_case(_replace_phrases(_expand(words, language), language), language)
    return _with_stems(join_values(words, language), language), language, is_unsure


def _words_in(text: str) -> list[Word]:
    """Return the words of a text; none of one that is too long."""
    return list(_split(_clean(text))) if len(text) <= CHARACTERS_MAX else []


def _with_stems(words: Sequence[Word], language: Language) -> list[Word]:
    words = [spelled(word, language) for word in words]
    former = ["", *(word.text for word in words)]
    return [stem_of(word, before, language) for before, word in zip(former, words, strict=False)]


def _clean(text: str) -> str:
    text = _SPACED_THOUSANDS.sub("", text).translate(_TRANSLATION)
    if not text.isascii():
        text = "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")
    text = _NEW_ITEM.sub(" ; ", text.replace("**", "").replace("`", "").strip())
    return _RANGE.sub(r"\1 to \2", _THOUSANDS.sub(r"\1\g<2>000", text))


def _split(text: str) -> Iterator[Word]:
    """Yield the words between spaces without the punctuation around them, which becomes breaks."""
    pending = 0
    for chunk in text.split():
        if chunk in ("-", "–", "—", "="):
            pending = max(pending, 2 if chunk == "=" else 1)
            continue
        core = (chunk.strip("*") or chunk).lstrip(_OPENING)
        if core.startswith("_") and core.rstrip(_CLOSING).endswith("_"):
            core = core.strip("_")
        opened = 1 if set(chunk[: len(chunk) - len(core)]) & set("([{") else 0
        stripped = core.rstrip(_CLOSING)
        tail = core[len(stripped) :]
        if stripped and _INITIALS.fullmatch(stripped + "."):
            stripped, tail = stripped.replace(".", ""), tail.removeprefix(".")
        elif stripped.casefold() in ABBREVIATIONS or (len(stripped) == 1 and stripped.isalpha()):
            tail = tail.replace(".", "", 1)
        if stripped:
            yield from _words_of(stripped, max(pending, opened))
            pending = 0
        after = _break_of(tail)
        if after == 2 and stripped.isdecimal() and tail == ".":
            after = 1
        pending = max(pending, after)
        if "?" in tail:
            yield Word("?", "?", "?", is_value=True)


def _break_of(punctuation: str) -> int:
    if any(sign in _HARD for sign in punctuation):
        return 2
    return 1 if any(sign in _SOFT for sign in punctuation) else 0


def _words_of(core: str, break_before: int) -> list[Word]:
    if _PLAIN.fullmatch(core):
        return [_plain_word(core, break_before)]
    found = _FIGURE.fullmatch(core)
    whole = Word(core, core, core, break_before=break_before, is_value=True)
    if found is None:
        return [whole]
    currency, figure, suffix = found.groups()
    words = [Word(figure, figure, figure, break_before=break_before, is_value=True)]
    if suffix.casefold() in ("am", "pm", "a.m", "p.m"):
        words.append(_plain_word(suffix.casefold().replace(".", ""), 0))
    elif _ORDINAL.fullmatch(suffix):
        words[0] = words[0].as_value(f"{figure}.")
    elif _UNIT_SUFFIX.fullmatch(suffix) and suffix.split("/")[0] in UNITS:
        words.append(Word(suffix, suffix, suffix))
    elif suffix:
        return [whole]
    return [*words, Word(currency, currency, currency)] if currency else words


def _plain_word(core: str, break_before: int) -> Word:
    core = core.rstrip("'")
    parts = tuple(part.lower() for part in core.split("-"))
    if len(parts) > 1 and all(len(part) <= 3 and part.isupper() for part in core.split("-")):
        return Word(core, core, core, break_before=break_before, is_value=True)
    is_identifier = _IDENTIFIER.search(core) or (core.isupper() and core.lower() in _PROTECTED_CAPITALS)
    text = core if is_identifier else core.lower()
    return Word(core, text, text, break_before=break_before, parts=parts if len(parts) > 1 else ())


def _language_of(words: Sequence[Word]) -> Language:
    texts = [word.text for word in words if not word.is_value]
    letters = set("".join(texts))
    counts = {
        name: sum(text in each.typical for text in texts) + len(letters & each.letters)
        for name, each in LANGUAGES.items()
    }
    best = max(counts, key=lambda name: counts[name])
    return LANGUAGES[best if counts[best] > counts["en"] else "en"]


def _is_unsure(words: Sequence[Word]) -> bool:
    """Whether nothing tells the language, so that it is taken for English."""
    texts = {word.text for word in words if not word.is_value}
    return _language_of(words) is ENGLISH and not texts & (ENGLISH.typical - SHARED_WORDS)


def _expand(words: Sequence[Word], language: Language) -> list[Word]:
    """Return the words with contractions expanded and figures in canonical form."""
    found: list[Word] = []
    for word in words:
        if word.is_value:
            text = read_figure(word.text, language)
            found.append(word._replace(text=text, stem=text))
            continue
        texts = _contraction(word, language)
        found.append(
            word if texts == [word.text] else word._replace(text=texts[0], stem=texts[0], raw=word.raw.split("'")[0])
        )
        found += [Word(text, text, text) for text in texts[1:]]
    return found


def _contraction(word: Word, language: Language) -> list[str]:
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


def _replace_phrases(words: list[Word], language: Language) -> list[Word]:
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


def _phrase_at(words: Sequence[Word], place: int, language: Language) -> tuple[str, ...]:
    """Return the longest phrase that begins at a place; empty if none does."""
    for size in language.phrase_sizes.get(words[place].text, ()):
        texts = tuple(word.text for word in words[place : place + size])
        is_joined = not any(word.break_before for word in words[place + 1 : place + size])
        is_negated = texts[0] in ("have", "has") and place > 0 and words[place - 1].text == "not"
        if texts in language.phrases and is_joined and not is_negated:
            return texts
    return ()


def _replaced(start: Word, texts: Sequence[str]) -> list[Word]:
    first = Word(texts[0], texts[0], texts[0], break_before=start.break_before, is_value=texts[0][:1].isdigit())
    if texts[0] == start.text:
        first = start
    return [first, *(Word(text, text, text, is_value=text[:1].isdigit()) for text in texts[1:])]


def _with_case(words: Sequence[Word], language: Language) -> list[Word]:
    """Return the words with their cases, unless the whole text is in small or in capital letters."""
    plain = [word.raw for word in words if not word.is_value and word.raw.isalpha()]
    if not any(raw[:1].isupper() for raw in plain) or all(raw.isupper() for raw in plain):
        return list(words)
    return [
        word._replace(case=_case(words, place, language)) if word.raw[:1].isalpha() and not word.is_value else word
        for place, word in enumerate(words)
    ]


def _case(words: Sequence[Word], place: int, language: Language) -> str:
    word = words[place]
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
        if is_dropped and not (place and words[place - 1].text in predicate_verbs and _is_telling(words[place:])):
            pending = max(pending, word.break_before)
        else:
            found.append(word._replace(break_before=max(pending, word.break_before)) if pending else word)
            pending = 0
    return found if any(word.text != "?" for word in found) else list(words)


def _is_telling(words: Sequence[Word]) -> bool:
    """Whether the article, the first of the words, tells "is a patient" from "is patient"."""
    return words[0].text != "the" or len(words) < 3 or bool(words[2].break_before)
