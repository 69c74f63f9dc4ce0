"""Replies that need what was asked: question and answer as a pair, and the list item that was chosen (ADR-0102)."""

import re
from dataclasses import dataclass

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.classes import kind_of
from compaction.services.pipeline.statements.dates import resolve_dates
from compaction.services.pipeline.statements.languages import Language
from compaction.services.pipeline.statements.model import Statement, StatementKind, StatementMessage
from compaction.services.pipeline.statements.reading import ReadMessage
from compaction.services.pipeline.statements.references import open_pointers
from compaction.services.pipeline.statements.sentences import SentenceRole, SourceSentence
from compaction.services.pipeline.statements.worth import has_amount, is_named, is_reaction
from compaction.services.sessions.drafts import ASSISTANT_ROLE, INSTRUCTING_ROLES

#: A question of fewer words of content takes the sentence before it along.
QUESTION_WORDS_MIN = 2
#: A longer reply stands for itself.
REPLY_WORDS_MAX = 40
#: Words of content of a reply that is understood without its question unless it points back.
CLEAR_REPLY_WORDS_MIN = 4
#: Kinds that an answer may have.
_ANSWERED = frozenset(
    {StatementKind.DECISION, StatementKind.CONSTRAINT, StatementKind.IDENTITY, StatementKind.VALUE}
    | {StatementKind.PREFERENCE, StatementKind.CORRECTION, StatementKind.COMMITMENT}
)
#: What names an item of a list: "option B", "2.", "B please".
_MARK = re.compile(r"(?:\w+ )?\(?([a-h]|\d{1,2})(?:[).,:!]|$| \w+[.!]?$)")


def label_of(message: StatementMessage) -> str:
    """Return the label before a statement's run, "" without a speaker."""
    return f"{message.speaker}: " if message.speaker else ""


@dataclass(frozen=True)
class Answer:
    """A question or list item with the sentence that answers it, both word for word."""

    statement: Statement
    sentence: SourceSentence


def read_answer(asked: ReadMessage, read: ReadMessage) -> Answer | None:
    """Return the reply of a message with what it replies to; None for one that is understood alone or says nothing."""
    if not asked.spoken or read.message.role in INSTRUCTING_ROLES:
        return None
    sentence = next((one for one in read.spoken if _is_reply(one.text, read)), None)
    if sentence is None:
        return None
    reply = sentence.text
    if filters.is_question(reply) or filters.is_injection(reply, read.language):
        return None
    statement = _choice(asked, read, reply) or _pair(asked, read, reply)
    return Answer(statement, sentence) if statement else None


def _is_reply(text: str, read: ReadMessage) -> bool:
    """Whether a sentence is more than thanks and names."""
    rest = read.opened(text)
    is_mark = len(text.split()) <= filters.SHORT_REPLY_WORDS_MAX and _MARK.match(text.lower())
    if is_mark or filters.is_bare_reply(text, read.language):
        return True
    return bool(rest) and filters.has_content(rest, 1, read.language) and not filters.is_small_talk(rest, read.language)


def _choice(asked: ReadMessage, read: ReadMessage, reply: str) -> Statement | None:
    """The item of a numbered list that a short reply names."""
    items = [one for one in asked.sentences if one.role == SentenceRole.LIST_ITEM and one.number]
    if not items or len(reply.split()) > filters.SHORT_REPLY_WORDS_MAX:
        return None
    number = _named_number(read.opened(reply) or reply, read.language, [one.number for one in items])
    item = next((one for one in items if one.number == number), None)
    if item is None or filters.is_unfit(item.text):
        return None
    text = f'{label_of(asked.message)}"{item.text}" – {label_of(read.message)}{filters.strip_emoji(reply)}'
    return _statement(text, StatementKind.DECISION, asked, read)


def _named_number(reply: str, language: Language, numbers: list[str]) -> str:
    lower = reply.lower()
    if mark := _MARK.match(lower):
        return mark[1]
    ordinals: dict[str, int] = language.given.get("ordinals", {})
    found = re.findall("|".join(rf"\b{word}\b" for word in ordinals), lower) if ordinals else []
    place = ordinals[found[0]] if len(found) == 1 else 0
    place = place - 1 if place > 0 else place
    return numbers[place] if found and -len(numbers) <= place < len(numbers) else ""


def _pair(asked: ReadMessage, read: ReadMessage, reply: str) -> Statement | None:
    asking = asked.spoken[-1]
    if not filters.is_question(asking.text) or len(reply.split()) > REPLY_WORDS_MAX:
        return None
    if filters.is_deferred(reply, read.language) or filters.is_playful(reply, read.language):
        return None
    is_bare = filters.is_bare_reply(read.opened(reply) or reply, read.language)
    if not is_bare and not _needs_question(read, reply):
        return None
    question = _complete_question(asked)
    text = f'{label_of(asked.message)}"{question}" – {label_of(read.message)}{filters.strip_emoji(reply)}'
    if not question or filters.is_unfit(text) or filters.is_injection(text, asked.language):
        return None
    if open_pointers([question, _without_yes(read, reply)], read.language, read.people):
        return None
    kind = _kind_of_answer(question, reply, read, is_bare=is_bare, asked=asked)
    if not is_bare and is_reaction(read.opened(reply), read) and not has_amount(reply, read):
        return None
    if is_bare and read.is_among_people and not has_amount(question, asked):
        return None
    return _statement(text, kind, asked, read)


def _needs_question(read: ReadMessage, reply: str) -> bool:
    """Whether a reply is not understood alone: it is short, or it points back and has nothing to point at."""
    if filters.needs_question(reply, read.language):
        return True
    rest = _without_yes(read, reply)
    if rest != reply and not filters.has_content(rest, CLEAR_REPLY_WORDS_MIN, read.language):
        return True
    return any(open_pointers([rest], read.language, read.people))


def _without_yes(read: ReadMessage, reply: str) -> str:
    return read.opened(reply) or reply


def _statement(text: str, kind: StatementKind, asked: ReadMessage, read: ReadMessage) -> Statement:
    ids = (asked.message.id, read.message.id)
    dated = resolve_dates(text, read.message.stated_on, read.language)
    return Statement(dated, ids, kind, asked.message.speaker, read.message.stated_on)


def _kind_of_answer(
    question: str, reply: str, read: ReadMessage, *, is_bare: bool, asked: ReadMessage
) -> StatementKind:
    """The kind of a question with its answer: what was proposed or offered as a choice is decided by it.

    Consent to what an assistant does next, without anything definite in the question, is no more than its task.
    """
    is_told_assistant = asked.message.role == ASSISTANT_ROLE and read.message.role != ASSISTANT_ROLE
    is_concrete = has_amount(question, asked) or is_named(question, asked)
    if is_bare and is_told_assistant and not is_concrete and not filters.is_choice(question, asked.language):
        return StatementKind.COMMITMENT
    is_offer = filters.is_proposal(question, asked.language) or filters.is_choice(question, asked.language)
    if is_offer and (is_bare or not read.is_among_people):
        return StatementKind.DECISION
    if is_bare:
        return StatementKind.DECISION if is_told_assistant else StatementKind.FACT
    kind = kind_of(reply, read.language, role=read.message.role)
    if kind not in _ANSWERED and is_told_assistant and not is_reaction(read.opened(reply), read):
        return StatementKind.VALUE
    if kind not in _ANSWERED and read.is_among_people:
        return StatementKind.EVENT
    return kind if kind in _ANSWERED else StatementKind.FACT


def _complete_question(asked: ReadMessage) -> str:
    """The last question of a message, with the sentence before it where it is short or refers to it; "" if unclear."""
    *others, last = asked.spoken
    text = asked.opened(last.text) or last.text
    if filters.has_content(text, QUESTION_WORDS_MIN, asked.language) and not _points(asked, text):
        return text
    if not others or others[-1].paragraph != last.paragraph:
        return ""
    former = asked.opened(others[-1].text)
    is_clear = filters.has_content(former, QUESTION_WORDS_MIN, asked.language) and not _points(asked, former)
    return f"{former} {last.text}" if is_clear else ""


def _points(read: ReadMessage, text: str) -> bool:
    return bool(open_pointers([text], read.language, read.people))
