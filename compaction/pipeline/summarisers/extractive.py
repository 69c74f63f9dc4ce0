"""Summaries by rules alone: the most informative clauses under the budget, in their order (ADR-0069)."""

from collections import Counter
from collections.abc import Iterable, Sequence

from compaction.pipeline.summarisers.protocol import SummariserError, SummaryResult, SummaryTask
from compaction.services.pipeline.statements import (
    Statement,
    StatementKind,
    StatementMessage,
    StatementPart,
    choose_statements,
    extract_statements,
    render_statements,
)
from compaction.services.pipeline.statements.weighting import word_weights
from compaction.services.pipeline.statements.words import content_words, sentence_tokens
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import LIVE, SessionTurn

#: Kinds of statements for the journal.
LASTING = frozenset(
    {
        StatementKind.FACT,
        StatementKind.EVENT,
        StatementKind.PREFERENCE,
        StatementKind.PLAN,
        StatementKind.DECISION,
        StatementKind.CONSTRAINT,
    }
)
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

    def summarise(self, task: SummaryTask) -> SummaryResult:
        """See `Summariser`."""
        messages = speaking_messages(task.messages)
        statements = [*restore_statements(task.earlier), *extract_statements(messages)]
        chosen = _chosen(statements, task) or _chosen(_openings(messages), task)
        if not chosen:
            raise SummariserError("nothing_to_say", "The messages contain no text to summarise.", is_permanent=True)
        old = {statement_key(one) for one in task.earlier}
        told = [_told(statement, old) for statement in chosen]
        return SummaryResult(render_statements(chosen), tuple(told))

    def journal(self, task: SummaryTask) -> list[CitedStatement]:
        """See `Summariser`."""
        messages = speaking_messages(turn for turn in task.messages if turn.role in SPEAKING)
        lasting = [
            statement
            for statement in extract_statements(messages)
            if statement.kind in LASTING and len(set(content_words(statement.text))) >= CONTENT_WORDS_MIN
        ]
        return [_told(statement, frozenset()) for statement in _chosen(lasting, task)]


def speaking_messages(turns: Iterable[SessionTurn]) -> list[StatementMessage]:
    """Return the turns with text as input for statements; placeholders are skipped."""
    return [
        StatementMessage(str(turn.id), turn.role, turn.content, turn.name, turn.created_at, turn.sequence or 0)
        for turn in turns
        if turn.content.strip() and turn.state == LIVE
    ]


def restore_statements(earlier: Sequence[CitedStatement]) -> list[Statement]:
    """Stored statements as new ones compete with."""
    tokens = [sentence_tokens(one.text) for one in earlier]
    counts = Counter(word for one in earlier for word in content_words(one.text))
    return [
        Statement(
            subject=one.subject,
            lead="",
            parts=(StatementPart(one.text, word_weights(words, counts, ())),),
            message_ids=one.message_ids,
            kind=_kind(one.kind),
            stated_on=one.stated_on,
            factor=EDITED_FACTOR if one.is_edited else 1.0,
        )
        for one, words in zip(earlier, tokens, strict=True)
    ]


def statement_key(told: CitedStatement) -> tuple[str, tuple[str, ...]]:
    """What makes two statements the same one."""
    return told.text, told.message_ids


def _chosen(statements: Sequence[Statement], task: SummaryTask) -> list[Statement]:
    return choose_statements(statements, token_budget=task.budget_tokens, count_tokens=task.count_tokens)


def _kind(name: str) -> StatementKind:
    return StatementKind(name) if name in set(StatementKind) else StatementKind.FACT


def _told(statement: Statement, old: Iterable[tuple[str, tuple[str, ...]]]) -> CitedStatement:
    told = CitedStatement(
        statement.text, statement.message_ids, str(statement.kind), statement.subject, statement.stated_on
    )
    return CitedStatement(
        **{**vars(told), "is_from_earlier": statement_key(told) in old, "is_edited": statement.factor >= EDITED_FACTOR}
    )


def _openings(messages: Sequence[StatementMessage]) -> list[Statement]:
    """Where the rules make nothing of the messages: what each of them begins with."""
    statements = []
    for message in messages:
        text = " ".join(message.content.split())[:OPENING_CHARACTERS]
        speaker = message.name or message.role.capitalize()
        words = content_words(text)
        part = StatementPart(text, dict.fromkeys(words, 1.0) or {text: 1.0})
        on = message.created_at.date() if message.created_at else None
        statements.append(Statement(speaker, f"{speaker}:", (part,), (message.id,), StatementKind.VERBATIM, on))
    return statements
