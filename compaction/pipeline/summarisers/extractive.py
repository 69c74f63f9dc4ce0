"""Summaries by rules alone: the most informative clauses under the budget, in their order (ADR-0069)."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from compaction.pipeline.summarisers.protocol import SummariserError, SummaryResult, SummaryTask
from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.statements.model import (
    Statement,
    StatementKind,
    StatementMessage,
    StatementPart,
    render_statements,
)
from compaction.services.pipeline.statements.selection import choose_statements
from compaction.services.pipeline.statements.weighting import word_weights
from compaction.services.pipeline.statements.words import content_words, sentence_tokens
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import LIVE, SessionTurn

#: Kinds of statements for the journal.
LASTING = frozenset(StatementKind) - {StatementKind.OPINION, StatementKind.VERBATIM}
#: Roles with lasting facts: the session keeps what tools answer and systems order.
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
        old = {(one.text, one.message_ids) for one in task.earlier}
        return SummaryResult(render_statements(chosen), tuple(_told(statement, old) for statement in chosen))

    def journal(self, task: SummaryTask) -> list[CitedStatement]:
        """See `Summariser`."""
        messages = speaking_messages(turn for turn in task.messages if turn.role in SPEAKING)
        lasting = [
            statement
            for statement in extract_statements(messages)
            if statement.kind in LASTING and len(set(content_words(statement.text))) >= CONTENT_WORDS_MIN
        ]
        return [_told(statement, ()) for statement in _chosen(lasting, task)]


def speaking_messages(turns: Iterable[SessionTurn]) -> list[StatementMessage]:
    """Return the turns with text as input for statements; placeholders are skipped."""
    return [
        StatementMessage(str(turn.id), turn.role, turn.content, turn.name, turn.created_at, turn.sequence or 0)
        for turn in turns
        if turn.content.strip() and turn.state == LIVE
    ]


def restore_statements(earlier: Sequence[CitedStatement]) -> list[Statement]:
    """Return stored statements so that they compete with new ones."""
    counts = Counter(word for one in earlier for word in content_words(one.text))
    return [
        Statement(
            subject=one.subject,
            lead="",
            parts=(StatementPart(one.text, word_weights(sentence_tokens(one.text), counts, ())),),
            message_ids=one.message_ids,
            kind=StatementKind(one.kind) if one.kind in set(StatementKind) else StatementKind.FACT,
            stated_on=one.stated_on,
            factor=EDITED_FACTOR if one.is_edited else 1.0,
        )
        for one in earlier
    ]


def _chosen(statements: Sequence[Statement], task: SummaryTask) -> list[Statement]:
    return choose_statements(statements, token_budget=task.budget_tokens, count_tokens=task.count_tokens)


def _told(statement: Statement, old: Collection[tuple[str, tuple[str, ...]]]) -> CitedStatement:
    return CitedStatement(
        text=statement.text,
        message_ids=statement.message_ids,
        kind=str(statement.kind),
        subject=statement.subject,
        stated_on=statement.stated_on,
        is_from_earlier=(statement.text, statement.message_ids) in old,
        is_edited=statement.factor >= EDITED_FACTOR,
    )


def _openings(messages: Sequence[StatementMessage]) -> list[Statement]:
    statements = []
    for message in messages:
        text = " ".join(message.content.split())[:OPENING_CHARACTERS]
        part = StatementPart(text, dict.fromkeys(content_words(text), 1.0) or {text: 1.0})
        speaker = message.name or message.role.capitalize()
        statements.append(
            Statement(speaker, f"{speaker}:", (part,), (message.id,), StatementKind.VERBATIM, message.stated_on)
        )
    return statements
