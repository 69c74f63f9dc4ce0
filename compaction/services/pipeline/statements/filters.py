"""Filters for sentences that cannot be statements: questions, options, overlong runs."""

import re

from compaction.services.pipeline.statements.languages import Language

#: Maximum words and characters of a statement.
WORDS_MAX, CHARACTERS_MAX = 70, 600
#: Acknowledgements dropped one after the other at the beginning.
OPENINGS_MAX = 4

_QUESTION_END = re.compile(r"[?？][\"'”’»)\]」』]*\W*$")
_EMOJI_END = re.compile(r"[\s\U0001F000-\U0001FAFF\u2600-\u27BF\uFE0F]+$")


def strip_opening(text: str, language: Language) -> str:
    """Return the sentence without the acknowledgements at its beginning; "" if nothing else remains."""
    text, opening = strip_emoji(text), language.opening
    for _ in range(OPENINGS_MAX):
        found = opening.match(text) if opening else None
        if not found:
            break
        text = text[found.end() :]
    return text


def strip_emoji(text: str) -> str:
    """Return the text without emoji at its end."""
    return _EMOJI_END.sub("", text)


def is_question(text: str) -> bool:
    """Return whether the sentence ends with a question mark."""
    return _QUESTION_END.search(text) is not None


def is_hedged(text: str, language: Language) -> bool:
    """Return whether the sentence names a possibility or an option rather than a fact."""
    return language.has_cue("hedges", text)


def is_left_open(text: str, language: Language) -> bool:
    """Return whether the sentence says that something is not known or decided yet."""
    return language.has_cue("unknown", text)


def is_yes(text: str, language: Language) -> bool:
    """Return whether a reply begins with a yes."""
    pattern = language.cues.get("yes")
    return pattern is not None and pattern.match(text[:CHARACTERS_MAX].lower().replace("’", "'")) is not None


def is_unfit(text: str) -> bool:
    """Return whether the run is too long for a statement, has no word, or only announces what follows it."""
    if len(text) > CHARACTERS_MAX or len(text.split()) > WORDS_MAX:
        return True
    return text.endswith(":") or not any(map(str.isalpha, text))
