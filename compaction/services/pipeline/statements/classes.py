"""The kind of a statement by the cue words of its language, and the order of the kinds."""

import re
from collections.abc import Mapping

from compaction.services.pipeline.statements.languages import Language
from compaction.services.pipeline.statements.model import Statement, StatementKind

#: What an agent needs most comes first; kinds of one rank compete by the rarity of their words.
RANKS: Mapping[StatementKind, int] = {
    StatementKind.DECISION: 0,
    StatementKind.CORRECTION: 0,
    StatementKind.CONSTRAINT: 1,
    StatementKind.PREFERENCE: 2,
    StatementKind.INSTRUCTION: 2,
    StatementKind.COMMITMENT: 3,
    StatementKind.QUESTION: 4,
    StatementKind.IDENTITY: 5,
    StatementKind.VALUE: 5,
    StatementKind.STATE: 6,
    StatementKind.EVENT: 7,
    StatementKind.FACT: 8,
    StatementKind.QUOTED: 9,
}
#: The names of cues in the order in which they decide, with the kind that they tell.
CUE_ORDER = (
    ("correction", StatementKind.CORRECTION),
    ("decided", StatementKind.DECISION),
    ("addressed", StatementKind.INSTRUCTION),
    ("promised", StatementKind.COMMITMENT),
    ("constraint", StatementKind.CONSTRAINT),
    ("commitment", StatementKind.COMMITMENT),
    ("decision", StatementKind.DECISION),
    ("preference", StatementKind.PREFERENCE),
    ("instruction", StatementKind.INSTRUCTION),
    ("limits", StatementKind.CONSTRAINT),
    ("identity", StatementKind.IDENTITY),
    ("state", StatementKind.STATE),
)
#: Cues that tell a commitment only together with a day or a time; those of a promise need none.
_DATED = "commitment"
#: Kinds that only people set for an assistant, never the assistant itself.
OF_PEOPLE = frozenset(
    {
        StatementKind.DECISION,
        StatementKind.CONSTRAINT,
        StatementKind.PREFERENCE,
        StatementKind.INSTRUCTION,
        StatementKind.IDENTITY,
    }
)
#: Kinds that stay true when a conversation ends.
LASTING = frozenset(
    {
        StatementKind.DECISION,
        StatementKind.CORRECTION,
        StatementKind.CONSTRAINT,
        StatementKind.PREFERENCE,
        StatementKind.INSTRUCTION,
        StatementKind.COMMITMENT,
        StatementKind.IDENTITY,
        StatementKind.VALUE,
        StatementKind.STATE,
        StatementKind.EVENT,
    }
)
_ASSISTANT = "assistant"

_CONTACT = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+\.\w+|(?<![\w.])(?:\+|0)\d{2,}[\d /-]{4,}\d")
_TIME = re.compile(
    r"\b\d{1,2}:\d\d\b|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}\.\d{1,2}\.|\b\d{1,2}/\d{1,2}\b|\b\d{1,2} ?(?:am|pm|uhr|h)\b"
)
_IDENTIFIER = re.compile(r"https?://|\b\d+\.\d+\.\d+\.\d+|\b[A-Z]{2,}-\w*\d\w*|\b\d{5,}\b")
#: Identifiers, addresses of machines and pages, paths, money, and numbers with a unit.
_VALUE = re.compile(
    r"https?://|\b\d+\.\d+\.\d+\.\d+|\b[A-Z]{2,}-?\d{2,}|\b[A-Z]{2,}-\w*\d\w*|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b|`[^`]+`"
    r"|(?<!\w)[~.]?/[\w.-]+/[\w./-]+|[€$£¥] ?\d|\d ?(?:[€$£¥%]|eur\b|usd\b|chf\b|gbp\b|euros?\b|dollars?\b)"
    r"|\d ?(?:[kmgt]?b|[kmg]bit(?:/s)?|k?hz|k?wh?|kg|g|mg|km|m|cm|mm|ml|l|s|ms|min|°c?|seconds?|sekunden|segundos"
    r"|minutes?|minuten|minutos|hours?|stunden|horas|days?|tage?n?|días?|weeks?|wochen|semanas|months?|monaten?|meses"
    r"|years?|jahren?|años)\b|\b\d{5,}\b",
    re.IGNORECASE,
)


def kind_of(text: str, language: Language, *, role: str, is_hedged: bool = False) -> StatementKind:
    """Return the kind of a sentence that is neither a question nor a quotation; a hedge decides and forbids nothing."""
    lowered = text.lower().replace("’", "'")
    unasserted = language.pattern("unasserted")
    if unasserted is not None and unasserted.search(lowered):
        return StatementKind.FACT
    if role != _ASSISTANT and introduces(text, language):
        return StatementKind.IDENTITY
    for name, kind in CUE_ORDER:
        pattern = language.cues.get(name)
        if pattern is None or not pattern.search(lowered):
            continue
        if name == _DATED and not has_date(text, language):
            continue
        if role == _ASSISTANT and (kind in OF_PEOPLE or not _reports(kind, text, language)):
            continue
        if is_hedged and (name == "promised" or kind in (StatementKind.DECISION, StatementKind.CORRECTION)):
            continue
        return kind
    if _CONTACT.search(text) and role != _ASSISTANT:
        return StatementKind.IDENTITY
    return StatementKind.VALUE if _states_value(text, lowered, language, role) else StatementKind.FACT


def _states_value(text: str, lowered: str, language: Language, role: str) -> bool:
    """Whether it gives something its value: an identifier or address of something, from people also an amount."""
    stated = language.pattern("values")
    if not _VALUE.search(text) or (stated is not None and not stated.search(lowered)):
        return False
    return role != _ASSISTANT or _IDENTIFIER.search(text) is not None


def introduces(text: str, language: Language) -> bool:
    """Return whether the sentence says who somebody is."""
    pattern = language.introductions
    return pattern is not None and pattern.search(text) is not None


def _reports(kind: StatementKind, text: str, language: Language) -> bool:
    """Whether an assistant's sentence is definite enough for its kind: a correction names the new value."""
    return kind != StatementKind.CORRECTION or has_value(text) or has_date(text, language)


def has_date(text: str, language: Language) -> bool:
    """Return whether the sentence names a day or a time."""
    lowered = text.lower()
    days = language.days
    return _TIME.search(lowered) is not None or (days is not None and days.search(lowered) is not None)


def has_value(text: str) -> bool:
    """Return whether the sentence contains an identifier, an address, money or a number with a unit."""
    return _VALUE.search(text) is not None or _CONTACT.search(text) is not None


def is_lasting(statement: Statement) -> bool:
    """Return whether a statement is for the journal: what is in force and clear, not what is asked or quoted."""
    return statement.kind in LASTING and not statement.is_pointing
