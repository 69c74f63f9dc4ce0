"""Summaries by rules alone: source sentences under the budget, in their order (ADR-0102)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from compaction.pipeline.summarisers.protocol import SummariserError, SummaryResult, SummaryTask
from compaction.services.pipeline.statements.extraction import extract_statements, first_sentences
from compaction.services.pipeline.statements.kinds import BINDING, is_lasting, kind_weight
from compaction.services.pipeline.statements.model import (
    ReplacedStatement,
    Statement,
    StatementKind,
    StatementMessage,
    render_statements,
)
from compaction.services.pipeline.statements.selection import choose_statements
from compaction.services.pipeline.stored_statements import CANDIDATES_MAX, CitedStatement
from compaction.services.sessions.turns import LIVE, SessionTurn

#: Roles with lasting facts; tool outputs and system instructions remain in the session.
SPEAKING = frozenset({"user", "assistant"})
#: The minimum worth of a statement in a summary, and the minimum probability of being lasting in a journal.
SUMMARY_WORTH_MIN, JOURNAL_LASTING_MIN = 0.2, 0.12
#: Statements of at least this worth make a summary longer than planned.
LONGER_WORTH_MIN = 0.36


class ExtractiveSummariser:
    """Needs no model and no network; the same messages always give the same text."""

    name = "extractive"
    is_local = True

    def summarise(self, task: SummaryTask) -> SummaryResult:
        """See `Summariser`."""
        messages = speaking_messages(task.messages)
        found = extract_statements(messages, restore_statements(task.earlier))
        worthy = [one for one in found if one.is_edited or one.worth >= SUMMARY_WORTH_MIN]
        chosen = _chosen(worthy, task) or _chosen(list(first_sentences(messages)), task)
        longest = replace(task, budget_tokens=max(task.longest_tokens, task.budget_tokens))
        if longest.budget_tokens > task.budget_tokens:
            selected = set(chosen)
            certain = [one for one in worthy if one in selected or one.worth >= LONGER_WORTH_MIN]
            chosen = _chosen(certain, longest) or chosen
        if not chosen:
            raise SummariserError("nothing_to_say", "The messages contain no text to summarise.", is_permanent=True)
        old = {(one.text, one.message_ids) for one in task.earlier}
        texts = {one.text for one in chosen}
        left = [one for one in found if one.text not in texts]
        # Facts that would be lost still take some of them, so there are as many as the longest summary could contain.
        next_best = sorted(_chosen(left, longest), key=lambda one: -one.worth * kind_weight(one.kind))[:CANDIDATES_MAX]
        cited, candidates = (tuple(cited_statement(one, old) for one in some) for some in (chosen, next_best))
        return SummaryResult(render_statements(chosen), cited, candidates)

    def journal(self, task: SummaryTask) -> list[CitedStatement]:
        """See `Summariser`."""
        messages = speaking_messages(turn for turn in task.messages if turn.role in SPEAKING)
        lasting = [
            replace(one, worth=one.lasting)
            for one in extract_statements(messages)
            if is_lasting(one) and one.lasting >= JOURNAL_LASTING_MIN
        ]
        return [cited_statement(statement, ()) for statement in _chosen(lasting, task)]


def speaking_messages(turns: Iterable[SessionTurn]) -> list[StatementMessage]:
    """Return the turns with text as input for statements; placeholders are skipped."""
    return [
        StatementMessage(str(turn.id), turn.role, turn.content, turn.name, turn.created_at, turn.sequence or 0)
        for turn in turns
        if turn.content.strip() and turn.state == LIVE
    ]


def restore_statements(earlier: Sequence[CitedStatement]) -> list[Statement]:
    """Return stored statements so that they compete with new ones; what binds is not displaced."""
    return [
        Statement(
            text=one.text,
            message_ids=one.message_ids,
            kind=StatementKind.of(one.kind),
            subject=one.subject,
            stated_on=one.stated_on,
            replaces=tuple(ReplacedStatement(text, ()) for text in one.replaces),
            is_edited=one.is_edited,
            worth=1.0 if one.kind in BINDING else one.worth,
            is_possible_instruction=one.is_possible_instruction,
        )
        for one in earlier
    ]


def cited_statement(statement: Statement, old: Collection[tuple[str, tuple[str, ...]]]) -> CitedStatement:
    """Return the statement as compactions store it; `old` are text and messages of the former summary's."""
    return CitedStatement(
        text=statement.text,
        message_ids=statement.message_ids,
        kind=str(statement.kind),
        subject=statement.subject,
        stated_on=statement.stated_on,
        is_from_earlier=(statement.text, statement.message_ids) in old,
        is_edited=statement.is_edited,
        worth=round(statement.worth, 3),
        replaces=tuple(one.text for one in statement.replaces),
        is_possible_instruction=statement.is_possible_instruction,
    )


def _chosen(statements: Sequence[Statement], task: SummaryTask) -> list[Statement]:
    return choose_statements(statements, token_budget=task.budget_tokens, count_tokens=task.count_tokens)
