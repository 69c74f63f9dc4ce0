"""The languages whose rules are known: cues of constraints, negations and attributions, one data file for each."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_DATA = Path(__file__).parent / "rules"
_LANGUAGES = ("en", "de", "es")
#: What a text is in where neither words nor letters tell: the cues of this language are tried.
DEFAULT_LANGUAGE = "en"
#: The code of every language without rules.
OTHER_LANGUAGE = "other"
#: From this share of letters that are not Latin, a text is in a language without rules.
FOREIGN_LETTERS_SHARE = 0.3
#: A longer text is judged by its beginning.
JUDGED_CHARACTERS_MAX = 4_000
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(frozen=True)
class RuleCues:
    """The compiled cues of one language; patterns expect text without case."""

    constraint: re.Pattern[str]
    negation: re.Pattern[str]
    negatives: re.Pattern[str]
    idle_negatives: re.Pattern[str]
    attributions: re.Pattern[str]


@cache
def rule_cues(language: str) -> RuleCues:
    """Return the cues of a language; those of the default one where it has none."""
    values = _read(language if language in _LANGUAGES else DEFAULT_LANGUAGE)
    return RuleCues(
        *(_compiled(values[name]) for name in ("constraint", "negation")),
        *(_compiled([values[name]]) for name in ("negatives", "idle_negatives", "attributions")),
    )


def language_of(text: str) -> str:
    """Return `en`, `de`, `es`, `other`, or "" where the text has no word that tells."""
    sample = text[:JUDGED_CHARACTERS_MAX]
    letters = [letter for letter in sample if letter.isalpha()]
    foreign = sum(letter > "ɏ" for letter in letters)
    if letters and foreign >= FOREIGN_LETTERS_SHARE * len(letters):
        return OTHER_LANGUAGE
    languages = _languages_by_word()
    counts = Counter(code for word in _WORD.findall(sample.casefold()) for code in languages.get(word, ()))
    if not counts:
        return ""
    best = max(counts.values())
    told = [code for code, count in counts.items() if count == best]
    # a tie between a language with rules and its neighbours is no reason to give up
    known = next((code for code in _LANGUAGES if code in told), None)
    return known or OTHER_LANGUAGE


def measured_share(texts: Iterable[str]) -> float:
    """Return the share of the characters in languages with rules, 0..1; 0 for no text. A bare name counts as known."""
    known = total = 0
    for text in texts:
        total += len(text)
        known += len(text) if language_of(text) != OTHER_LANGUAGE else 0
    return known / total if total else 0.0


@cache
def function_words() -> frozenset[str]:
    """Return the words without content of all languages with rules."""
    return frozenset(word for code in _LANGUAGES for word in str(_read(code)["function_words"]).split())


@cache
def _read(language: str) -> Mapping[str, object]:
    values: Mapping[str, object] = json.loads((_DATA / f"{language}.json").read_text(encoding="utf-8"))
    return values


@cache
def _languages_by_word() -> Mapping[str, tuple[str, ...]]:
    words = {code: str(_read(code)["function_words"]) for code in _LANGUAGES} | dict(_read("without_rules"))
    by_word: dict[str, tuple[str, ...]] = {}
    for code, listed in words.items():
        for word in set(str(listed).split()):
            by_word[word] = (*by_word.get(word, ()), code)
    return by_word


def _compiled(patterns: object) -> re.Pattern[str]:
    assert isinstance(patterns, list)
    return re.compile("|".join(rf"(?<!\w)(?:{pattern})(?!\w)" for pattern in patterns))
