"""What makes a sentence no statement: questions, hedges, small talk and replies."""

import re

from compaction.services.pipeline.statements.languages import Language
from compaction.services.pipeline.statements.rarity import content_words

#: A statement has at most so many words and characters.
WORDS_MAX, CHARACTERS_MAX = 70, 600
#: Acknowledgements dropped one after the other at the beginning.
OPENINGS_MAX = 4
#: A sentence with so many words of content is understood without the object that it leaves to a pronoun.
CLEAR_WORDS_MIN = 4
#: A reply of at most so many words needs its question.
SHORT_REPLY_WORDS_MAX = 6

_QUESTION_END = re.compile(r"[?？][\"'”’»)\]」』]*\W*$")
_EMOJI_END = re.compile(r"[\s\U0001F000-\U0001FAFF\u2600-\u27BF\uFE0F]+$")


def strip_opening(text: str, language: Language) -> str:
    """Return the sentence without the acknowledgements it begins with; "" for one that is nothing else."""
    text, opening = strip_emoji(text), language.opening
    for _ in range(OPENINGS_MAX):
        found = opening.match(text) if opening else None
        if not found:
            break
        text = text[found.end() :]
    return text


def is_choice(text: str, language: Language) -> bool:
    """Return whether a question names alternatives."""
    return _has(text, "alternatives", language)


def after_colon(text: str) -> str:
    """Return what stands behind the first colon of a sentence, "" without one."""
    _, colon, rest = text.partition(": ")
    return rest.strip() if colon else ""


def strip_emoji(text: str) -> str:
    """Return the text without emoji at its end."""
    return _EMOJI_END.sub("", text)


def is_question(text: str) -> bool:
    """Return whether the sentence ends with a question mark."""
    return _QUESTION_END.search(text) is not None


def is_hedged(text: str, language: Language) -> bool:
    """Return whether the sentence names a possibility or an option rather than a fact."""
    return _has(text, "hedges", language)


def is_injection(text: str, language: Language) -> bool:
    """Return whether the text orders an assistant to ignore its instructions or to store something as true."""
    return _has(text, "injections", language)


def is_left_open(text: str, language: Language) -> bool:
    """Return whether the sentence says that something is not known or decided yet."""
    return _has(text, "unknown", language)


def is_deferred(text: str, language: Language) -> bool:
    """Return whether a reply gives no answer yet."""
    return is_left_open(text, language) or _has(text, "deferred", language)


def is_playful(text: str, language: Language) -> bool:
    """Return whether the speaker laughs."""
    return _has(text, "laughter", language)


def is_praise(text: str, language: Language) -> bool:
    """Return whether the sentence praises something or tells a feeling."""
    return _has(text, "praise", language)


def is_proposal(text: str, language: Language) -> bool:
    """Return whether a question asks for consent."""
    return _has(text.rstrip("?？ "), "proposals", language)


def is_small_talk(text: str, language: Language) -> bool:
    """Return whether the sentence only keeps a conversation going: it opens as a greeting, thanks or praise do."""
    if not has_content(text, 1, language):
        return True
    pattern = language.pattern("small_talk")
    return pattern is not None and pattern.match(text.lower().replace("’", "'").lstrip("\"'“„«(¡")) is not None


def has_content(text: str, words_min: int, language: Language) -> bool:
    """Return whether the run has at least so many words of content."""
    return len(content_words(text, language.words("stop_words") or None)) >= words_min


def is_unfit(text: str) -> bool:
    """Return whether the run is too long for a statement, has no word, or only announces what follows it."""
    if len(text) > CHARACTERS_MAX or len(text.split()) > WORDS_MAX:
        return True
    return text.endswith(":") or not any(map(str.isalpha, text))


def is_bare_reply(text: str, language: Language) -> bool:
    """Return whether a reply says yes or no and nothing else."""
    rest = _without_reply(text, language)
    return rest is not None and not has_content(rest, 1, language)


def needs_question(text: str, language: Language) -> bool:
    """Return whether a reply is understood with its question only: a yes or no with a few words, or a few words."""
    words = text.split()
    if len(words) > SHORT_REPLY_WORDS_MAX or not any(len(word.strip(".,!")) > 1 for word in words):
        return False
    if _without_reply(text, language) is not None:
        return True
    words_before = language.pattern("acknowledgements")
    return has_content(text, 1, language) and (words_before is None or words_before.match(_plain(text)) is None)


def is_yes(text: str, language: Language) -> bool:
    """Return whether a reply begins with a yes."""
    pattern = language.pattern("yes")
    return pattern is not None and pattern.match(_plain(text)) is not None


def _without_reply(text: str, language: Language) -> str | None:
    """The reply without the words for yes or no and what is said along with them, None without such words."""
    rest = _plain(text)
    found = False
    for _ in range(OPENINGS_MAX):
        match = next((one for name in ("yes", "no") if (one := _match(name, rest, language))), None)
        if match is None:
            match = _match("reply_fillers", rest, language) if found else None
            if match is None:
                break
        found = True
        rest = rest[match.end() :].lstrip(" ,.!;:-–—")
    return rest if found else None


def _match(field: str, text: str, language: Language) -> re.Match[str] | None:
    pattern = language.pattern(field)
    found = pattern.match(text) if pattern else None
    return found if found and found.end() else None


def _plain(text: str) -> str:
    return _EMOJI_END.sub("", text).lower().replace("’", "'").strip()


def _has(text: str, field: str, language: Language) -> bool:
    pattern = language.pattern(field)
    return pattern is not None and pattern.search(text.lower().replace("’", "'")) is not None
