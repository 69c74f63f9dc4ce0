"""What of a conversation is worth keeping: no praise, feelings, general truths and reactions (ADR-0102)."""

import re

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.classes import has_date, has_value
from compaction.services.pipeline.statements.model import StatementKind
from compaction.services.pipeline.statements.rarity import is_rare
from compaction.services.pipeline.statements.reading import ReadMessage, is_called
from compaction.services.sessions.drafts import ASSISTANT_ROLE

#: Words of content of an event that somebody may ask for later.
EVENT_WORDS_MIN = 3
#: Kinds that encouragement and compliments are taken for by their cue words.
_LIGHT = frozenset(
    {StatementKind.DECISION, StatementKind.CONSTRAINT, StatementKind.INSTRUCTION, StatementKind.CORRECTION}
    | {StatementKind.PREFERENCE, StatementKind.COMMITMENT, StatementKind.STATE, StatementKind.IDENTITY}
)
#: A year of the last century tells of a life rather than of what is agreed.
_PAST_YEAR = re.compile(r"\b19\d\d\b")
_WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"(?<=[\w,;] )[A-ZÀ-Þ][\w-]+")


def factual_kind(text: str, read: ReadMessage) -> StatementKind:
    """Return the kind of a sentence that neither decides nor asks anything.

    What a person tells an assistant with a number, day or time is a value; what people tell of their lives an event.
    """
    if read.message.role == ASSISTANT_ROLE:
        return StatementKind.FACT
    is_definite = has_amount(text, read)
    is_told = _has(text, "events", read) and filters.has_content(text, EVENT_WORDS_MIN, read.language)
    is_over = _has(text, "past", read)
    if is_definite and not read.is_among_people and not is_over and not is_reaction(text, read):
        return StatementKind.VALUE
    if read.is_among_people and not is_told and not filters.is_hedged(text, read.language):
        is_told = is_definite or is_named(text, read)
    if is_told and read.message.name.strip() and (read.is_among_people or is_definite or is_named(text, read)):
        return StatementKind.EVENT
    return StatementKind.FACT


def has_amount(text: str, read: ReadMessage) -> bool:
    """Return whether the sentence contains a number, in digits or as a word, a day or a time."""
    numbers = {word for word, number in read.language.given.get("numbers", {}).items() if number > 1}
    words = _WORD.findall(text.lower())
    has_digits = any(map(str.isdigit, _PAST_YEAR.sub("", text)))
    return has_digits or has_date(text, read.language) or not numbers.isdisjoint(words)


def is_reaction(text: str, read: ReadMessage) -> bool:
    """Return whether the sentence only reacts to what somebody said: praise, encouragement, sympathy, a feeling."""
    return _has(text, "reactions", read) or filters.is_playful(text, read.language)


def is_worth_keeping(claim: str, kind: StatementKind, read: ReadMessage) -> bool:
    """Return whether somebody would want to know the sentence later."""
    is_definite = has_value(claim) or has_amount(claim, read)
    if kind in _LIGHT:
        return is_definite or not read.is_among_people or not is_reaction(claim, read)
    if kind == StatementKind.EVENT:
        is_light = is_reaction(claim, read) or _has(claim, "vague", read)
        is_praise = filters.is_praise(claim, read.language)
        is_concrete = is_definite or is_named(claim, read)
        return is_concrete or not (is_light or (is_praise and not filters.has_content(claim, 6, read.language)))
    if kind != StatementKind.FACT:
        return True
    if is_reaction(claim, read) or (filters.is_praise(claim, read.language) and not is_definite):
        return False
    return is_definite or is_named(claim, read) or (not read.is_among_people and _is_own(claim, read))


def is_named(text: str, read: ReadMessage) -> bool:
    """Return whether the sentence names somebody or something, but for the speakers."""
    if read.language.given.get("has_noun_capitals"):
        return any(is_rare(name.lower()) and not is_called(name, read.people) for name in _NAME.findall(text))
    return any(not is_called(name, read.people) for name in _NAME.findall(text) if name != "I" and len(name) > 1)


def _is_own(text: str, read: ReadMessage) -> bool:
    """Whether a sentence of a person is about something definite rather than the world in general."""
    return read.message.role != ASSISTANT_ROLE or any(map(str.isdigit, text))


def _has(text: str, field: str, read: ReadMessage) -> bool:
    pattern = read.language.pattern(field)
    return pattern is not None and pattern.search(text.lower().replace("’", "'")) is not None
