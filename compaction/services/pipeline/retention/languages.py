"""The languages whose constraints, negations and attributions are known: one data file each."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from compaction.services.pipeline.statements.languages import CUE_LANGUAGES, Language, language_of

_RULES = Path(__file__).parent / "rules"
#: The language whose cues are used if the language of a text is unknown.
DEFAULT_LANGUAGE = "en"
_UNKNOWN = Language("", {})


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
    """Return the cues of a language, or those of the default language if it has none."""
    name = language if language in CUE_LANGUAGES else DEFAULT_LANGUAGE
    values = json.loads((_RULES / f"{name}.json").read_text(encoding="utf-8"))
    return RuleCues(
        **{
            field: _compiled(patterns if isinstance(patterns, list) else [patterns])
            for field, patterns in values.items()
        }
    )


def language_name(text: str) -> str:
    """Return the language code of a text, "" if no word identifies it."""
    return language_of(text, _UNKNOWN).name


def measured_share(texts: Iterable[str]) -> float:
    """Return the share of the characters in languages with rules, 0..1; 0 for no text. A bare name counts as known."""
    known = total = 0
    for text in texts:
        total += len(text)
        known += len(text) if language_name(text) in ("", *CUE_LANGUAGES) else 0
    return known / total if total else 0.0


def _compiled(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?<!\w)(?:{pattern})(?!\w)" for pattern in patterns))
