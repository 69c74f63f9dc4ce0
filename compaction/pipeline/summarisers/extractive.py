"""Summaries by rules alone: the most informative clauses under the budget, in their order (ADR-0069)."""

from collections import Counter
from collections.abc import Iterable, Sequence

from compaction.pipeline.summarisers.protocol import SummariserError, Summary, SummaryTask
from compaction.services.pipeline.statements import (
    Kind,
    Message,
    Part,
    Statement,
    choose_statements,
    make_statements,
    render_statements,
)
from compaction.services.pipeline.statements.weighting import word_weights
from compaction.services.pipeline.statements.words import content_words, tokens_of
from compaction.services.pipeline.stored_statements import Told
from compaction.services.sessions.turns import LIVE, Turn

#: What is worth remembering beyond the session.
LASTING = frozenset({Kind.FACT, Kind.EVENT, Kind.PREFERENCE, Kind.PLAN, Kind.DECISION, Kind.CONSTRAINT})
#: Who says lasting things: what tools answer and systems order is kept by the session.
SPEAKING = frozenset({"user", "assistant"})
#: A person's words outweigh everything that rules choose.
EDITED_FACTOR = 100.0
CONTENT_WORDS_MIN = 2
OPENING_CHARACTERS = 160


class ExtractiveSummariser:
    """Needs no model and no network; the same messages always give the same text."""

    name = "extractive"
    is_local = True

    def summarise(self, task: SummaryTask) -> Summary:
        """See `Summariser`."""
        messages = said(task.messages)
        statements = [*earlier_statements(task.earlier), *make_statements(messages)]
        chosen = _chosen(statements, task) or _chosen(_openings(messages), task)
        if not chosen:
            raise SummariserError("nothing_to_say", "The messages hold no text to summarise.", is_permanent=True)
        old = {id_of(one) for one in task.earlier}
        told = [_told(statement, old) for statement in chosen]
        return Summary(render_statements(chosen), tuple(told))

    def journal(self, task: SummaryTask) -> list[Told]:
        """See `Summariser`."""
        messages = said(turn for turn in task.messages if turn.role in SPEAKING)
        lasting = [
            statement
            for statement in make_statements(messages)
            if statement.kind in LASTING and len(set(content_words(statement.text))) >= CONTENT_WORDS_MIN
        ]
        return [_told(statement, frozenset()) for statement in _chosen(lasting, task)]


def said(turns: Iterable[Turn]) -> list[Message]:
    """The turns that say something, as statements are made from; a placeholder says nothing."""
    return [
        Message(str(turn.id), turn.role, turn.content, turn.name, turn.created_at, turn.sequence or 0)
        for turn in turns
        if turn.content.strip() and turn.state == LIVE
    ]


def earlier_statements(earlier: Sequence[Told]) -> list[Statement]:
    """Stored statements as new ones compete with."""
    tokens = [tokens_of(one.text) for one in earlier]
    counts = Counter(word for one in earlier for word in content_words(one.text))
    return [
        Statement(
            subject=one.subject,
            lead="",
            parts=(Part(one.text, word_weights(words, counts, ())),),
            message_ids=one.message_ids,
            kind=_kind(one.kind),
            said_on=one.said_on,
            factor=EDITED_FACTOR if one.is_edited else 1.0,
        )
        for one, words in zip(earlier, tokens, strict=True)
    ]


def id_of(told: Told) -> tuple[str, tuple[str, ...]]:
    """What makes two statements the same one."""
    return told.text, told.message_ids


def _chosen(statements: Sequence[Statement], task: SummaryTask) -> list[Statement]:
    return choose_statements(statements, token_budget=task.budget_tokens, count_tokens=task.count_tokens)


def _kind(name: str) -> Kind:
    return Kind(name) if name in set(Kind) else Kind.FACT


def _told(statement: Statement, old: Iterable[tuple[str, tuple[str, ...]]]) -> Told:
    told = Told(statement.text, statement.message_ids, str(statement.kind), statement.subject, statement.said_on)
    return Told(**{**vars(told), "is_from_earlier": id_of(told) in old, "is_edited": statement.factor >= EDITED_FACTOR})


def _openings(messages: Sequence[Message]) -> list[Statement]:
    """Where the rules make nothing of the messages: what each of them begins with."""
    statements = []
    for message in messages:
        text = " ".join(message.content.split())[:OPENING_CHARACTERS]
        speaker = message.name or message.role.capitalize()
        words = content_words(text)
        part = Part(text, dict.fromkeys(words, 1.0) or {text: 1.0})
        on = message.created_at.date() if message.created_at else None
        statements.append(Statement(speaker, f"{speaker}:", (part,), (message.id,), Kind.VERBATIM, on))
    return statements
