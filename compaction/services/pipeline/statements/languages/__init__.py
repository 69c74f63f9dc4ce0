"""Cue words by language, one data file each, and the language of a text."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from memories.services.hygiene.statements.vocabulary import LANGUAGES as COMPARED_LANGUAGES

#: The languages with cue words.
CUE_LANGUAGES = ("en", "de", "es")
#: Maximum words of a text that determine its language.
_WORDS_READ = 200
_CHARACTERS_READ = 2_000
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
#: Scripts with one main language for the splitter.
_SCRIPTS = (("ko", re.compile(r"[\uac00-\ud7af]")), ("ru", re.compile(r"[\u0400-\u04ff]")))
_SCRIPT_SHARE_MIN = 0.2
#: Fields with names of weeks and months as seen from the day of a message, and what names a group of them.
_RELATIVE = ("relative_weeks", "relative_months")
_GROUP = re.compile(r"\(\?P<\w+>")
#: The maximum length of a word in a cue; longer runs are not words.
WORD_CHARACTERS_MAX = 40
_UNBOUNDED = re.compile(r"(\\[Sw]|\[\^[^\]]+\])([+*])")
_TIME = r"\d{1,2}(?:[:.]\d{2})?(?: ?(?:am|pm|uhr|h))?(?:\b|(?<=m))"


@dataclass(frozen=True, eq=False)
class Language:
    """The cue words of one language; `given` is its data file, empty for a language without one."""

    name: str
    given: Mapping[str, Any]

    def words(self, field: str) -> frozenset[str]:
        """Return the words of a field that is a list of words between spaces."""
        return _word_set(self, field)

    def pattern(self, field: str) -> re.Pattern[str] | None:
        """Return the cues of a field as one pattern for lower-case text, None without cues."""
        return _pattern(self, field)

    @cached_property
    def cues(self) -> Mapping[str, re.Pattern[str]]:
        """The cues by name, each as one pattern for lower-case text."""
        return {name: _compiled(self, cues) for name, cues in self.given.get("cues", {}).items()}

    def has_cue(self, name: str, text: str) -> bool:
        """Return whether the text contains a cue; False without cues of that name."""
        pattern = self.cues.get(name)
        return pattern is not None and pattern.search(text.lower().replace("’", "'")) is not None

    @cached_property
    def days(self) -> re.Pattern[str] | None:
        """The names of days, months and parts of a day, and of weeks and months as seen from now."""
        words = sorted(self.words("days"))
        seen = [_GROUP.sub("(?:", cue) for field in _RELATIVE for cue, _ in self.given.get(field, ())]
        return re.compile(rf"(?<!\w)(?:{'|'.join(words + seen)})(?!\w)") if words else None

    @cached_property
    def opening(self) -> re.Pattern[str] | None:
        """The acknowledgements that may be dropped at the beginning of a sentence, with what separates them from it."""
        cues = self.given.get("acknowledgements")
        marked = rf"(?:{'|'.join(cues)})\s*[,.!:;–—…-]+(?:\s+|$)" if cues else ""
        return re.compile(marked, re.IGNORECASE) if marked else None


@cache
def load_language(name: str) -> Language:
    """Return a language by its code; one without a data file has no cues."""
    if name not in CUE_LANGUAGES:
        return Language(name, {})
    return Language(name, json.loads(Path(__file__).with_name(f"{name}.json").read_text("utf-8")))


def language_of(text: str, default: Language) -> Language:
    """Return the language with the most typical words at the beginning of `text`; `default` if it has none."""
    head = text[:_CHARACTERS_READ]
    if script := _script(head):
        return load_language(script)
    words = (word.lower().replace("’", "'") for word in _WORD.findall(head)[:_WORDS_READ])
    scores = Counter(name for word in words for name in _languages_of_words().get(word, ()))
    best = max(scores, key=lambda name: (scores[name], name == default.name), default=default.name)
    return load_language(best) if scores[best] > scores[default.name] else default


def main_language(texts: Iterable[str]) -> Language:
    """Return the language of most of the texts, by their characters; English without any sign."""
    counts: Counter[str] = Counter()
    unknown = Language("", {})
    for text in texts:
        counts[language_of(text, unknown).name] += len(text)
    counts.pop("", None)
    return load_language(counts.most_common(1)[0][0] if counts else "en")


def _script(text: str) -> str:
    letters = max(sum(character.isalpha() for character in text), 1)
    if len(_KANA.findall(text)) + len(_HAN.findall(text)) > letters * _SCRIPT_SHARE_MIN:
        return "ja" if _KANA.search(text) else "zh"
    for name, pattern in _SCRIPTS:
        if len(pattern.findall(text)) > letters * _SCRIPT_SHARE_MIN:
            return name
    return ""


@cache
def _languages_of_words() -> Mapping[str, Sequence[str]]:
    """The languages by each of their typical words."""
    typical = {name: given.typical for name, given in COMPARED_LANGUAGES.items()}
    typical |= {name: load_language(name).words("typical") for name in CUE_LANGUAGES}
    by_word: defaultdict[str, list[str]] = defaultdict(list)
    for name, words in typical.items():
        for word in words:
            by_word[word].append(name)
    return by_word


@cache
def _word_set(language: Language, field: str) -> frozenset[str]:
    return frozenset(language.given.get(field, "").split())


@cache
def _pattern(language: Language, field: str) -> re.Pattern[str] | None:
    cues = language.given.get(field)
    return _compiled(language, cues) if cues else None


def _compiled(language: Language, cues: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'-])(?:{_bounded(_expanded(language, '|'.join(cues)))})(?:(?<=\s)|(?!\w))")


def _bounded(cues: str) -> str:
    """Return cues with a limited word length, because some patterns would take cubic time on a long word."""
    return _UNBOUNDED.sub(lambda found: f"{found[1]}{{{int(found[2] == '+')},{WORD_CHARACTERS_MAX}}}", cues)


def _expanded(language: Language, cues: str) -> str:
    """Return the cues with DAY, TIME and the names of the language's own `parts` replaced by their patterns."""
    for name, part in language.given.get("parts", {}).items():
        cues = cues.replace(name, f"(?:{part})")
    days = "|".join(language.words("days"))
    return cues.replace("DAY", f"(?:{days}|\\d)").replace("TIME", _TIME)


@cache
def all_words(field: str) -> frozenset[str]:
    """Return the words of a field of all languages, for texts in a language without a file."""
    return frozenset().union(*(load_language(name).words(field) for name in CUE_LANGUAGES))


def stop_words() -> frozenset[str]:
    """Return the words without content of all languages."""
    return all_words("stop_words")
