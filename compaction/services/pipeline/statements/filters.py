"""What makes a sentence no statement: questions, hedges, small talk, replies and references to what is not in it."""

import re

from compaction.services.pipeline.statements.languages import Language
from compaction.services.pipeline.statements.rarity import content_words

#: A statement has at least so many words of content, and at most so many words and characters.
CONTENT_WORDS_MIN = 2
WORDS_MAX, CHARACTERS_MAX = 70, 600
#: Acknowledgements dropped one after the other at the beginning.
OPENINGS_MAX = 4
#: A pronoun behind fewer words of content than these stands for something outside the sentence.
ANTECEDENT_WORDS_MIN = 2
#: A reply of at most so many words needs its question.
SHORT_REPLY_WORDS_MAX = 6

_QUESTION_END = re.compile(r"[?？][\"'”’»)\]」』]*\W*$")
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")
_EMOJI_END = re.compile(r"[\s\U0001F000-\U0001FAFF\u2600-\u27BF\uFE0F]+$")


def strip_opening(text: str, language: Language) -> str:
    """Return the sentence without the acknowledgements it begins with; "" for one that is nothing else."""
    text = _EMOJI_END.sub("", text)
    opening = language.opening
    for _ in range(OPENINGS_MAX):
        found = opening.match(f"{text} ." if text and text[-1].isalnum() else text) if opening else None
        if not found or not found.end():
            break
        text = text[found.end() :].lstrip() if found.end() < len(text) else ""
    return text


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


def is_small_talk(text: str, language: Language) -> bool:
    """Return whether the sentence only keeps a conversation going: it opens as a greeting, thanks or praise do."""
    if not content_words(text):
        return True
    pattern = language.pattern("small_talk")
    return pattern is not None and pattern.match(text.lower().replace("’", "'").lstrip("\"'“„«(¡")) is not None


def is_scrap(text: str) -> bool:
    """Return whether the run has too few words of content to say anything."""
    return len(content_words(text)) < CONTENT_WORDS_MIN


def is_unfit(text: str) -> bool:
    """Return whether the run is too short or too long for a statement."""
    if len(text) > CHARACTERS_MAX or not any(map(str.isalpha, text)):
        return True
    return len(text.split()) > WORDS_MAX


def refers_back(text: str, language: Language) -> bool:
    """Return whether a pronoun of the sentence stands for something that the sentence does not name before."""
    tokens = [token.lower().replace("’", "'") for token in _TOKEN.findall(text)]
    pronouns, demonstratives = language.words("pronouns"), language.words("demonstratives")
    if not pronouns:
        return False
    verbs, stops = language.words("after_demonstrative"), language.words("stop_words")
    named = 0
    for token, following in zip(tokens, [*tokens[1:], "."], strict=True):
        if named >= ANTECEDENT_WORDS_MIN:
            return False
        if token in pronouns or (token in demonstratives and (following in verbs or not following[:1].isalnum())):
            return True
        if token[:1].isalnum() and token not in stops:
            named += 1
    return False


def is_bare_reply(text: str, language: Language) -> bool:
    """Return whether a reply says yes or no and nothing else."""
    rest = _without_reply(text, language)
    return rest is not None and len(content_words(rest)) == 0


def needs_question(text: str, language: Language) -> bool:
    """Return whether a reply is understood with its question only: a yes or no with a few words, or a few words."""
    words = text.split()
    if len(words) > SHORT_REPLY_WORDS_MAX or not content_words(text):
        return False
    return any(len(word.strip(".,!")) > 1 for word in words)


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
