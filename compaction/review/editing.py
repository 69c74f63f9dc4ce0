"""Parse, measure and store another text for a summary. Called inside a transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from compaction.models import Compaction, CompactionMember, Message, Session
from compaction.pipeline.applying import (
    MEMBER_COMPACTED,
    facts_missing_before,
    record_possible_instructions,
    record_retention,
)
from compaction.pipeline.drafting import HEADING
from compaction.pipeline.journal import journal_texts
from compaction.pipeline.session_rows import count_text_tokens, messages_to_turns
from compaction.review.summary_budget import SummaryBudget
from compaction.services.pipeline.journal_entries import STRUCK, is_waiting
from compaction.services.pipeline.missing_facts import sentences_with_facts
from compaction.services.pipeline.retention.check import RetainedFact, RetentionResult, check_retention
from compaction.services.pipeline.stored_statements import CANDIDATES_MAX, CitedStatement, is_measured, recorded_facts
from compaction.services.review.edited_statements import SUMMARY_BYTES_MAX, parse_statements, split_appended_text
from compaction.services.sessions.drafts import text_problem
from memories.tenancy.exceptions import Conflict, InvalidInput
from memory_platform.web.numerals import counted

DOES_NOT_SHRINK = "The summary would not be shorter than the messages that it replaces."


def parse_revised_summary(compaction: Compaction, text: str) -> tuple[str, list[CitedStatement]]:
    """Return the text to store and its statements. Raises `InvalidInput`."""
    wording = validate_summary_text(text, compaction)
    members = CompactionMember.objects.for_tenant(compaction.tenant_id).of_compaction(compaction.pk).with_messages()
    contents = {str(one.message.pk): one.message.content for one in members if one.act == MEMBER_COMPACTED}
    return wording, parse_statements(wording, _statements(compaction), contents)


def validate_summary_text(text: str, compaction: Compaction) -> str:
    """Return the text to store for an entered text. Raises `InvalidInput`."""
    wording = text.strip().removeprefix(HEADING.strip()).strip()
    wording = split_appended_text(wording, _statements(compaction))
    if problem := text_problem(wording, bytes_max=SUMMARY_BYTES_MAX):
        raise InvalidInput(*problem, "text")
    if not wording:
        raise InvalidInput("blank", "A summary must not be blank.", "text")
    return wording


def append_missing_clauses(
    compaction: Compaction, session: Session, chosen: Sequence[str] | None
) -> tuple[str, list[CitedStatement]]:
    """Return the summary with sentences for missing facts, all unless some are `chosen`. Raises `PlatformError`."""
    missing = recorded_facts(compaction.retention, "missing")
    if set(chosen or ()) - {fact.text for fact in missing}:
        raise InvalidInput("unknown_fact", "Only facts that are missing can be appended.", "facts")
    requested = [fact for fact in missing if chosen is None or fact.text in chosen]
    ids = {UUID(str(one)) for fact in requested for one in fact.message_ids}
    messages = Message.objects.for_tenant(compaction.tenant_id).of_session(session.pk).with_ids(ids)
    turns = messages_to_turns(messages.without_vectors(), model=session.model)
    sentences = sentences_with_facts(requested, {str(turn.id): turn for turn in turns})
    if not sentences:
        raise Conflict("nothing_missing", "There are no missing facts to append.")
    text = "\n".join([compaction.summary_text, *(sentence.text for sentence in sentences)])
    added = (CitedStatement(sentence.text, (sentence.message_id,)) for sentence in sentences)
    return text, [*_statements(compaction), *added]


def remove_last_statements(compaction: Compaction, count: int) -> tuple[str, list[CitedStatement]]:
    """Return the summary without its last `count` statements, one line each. Raises `InvalidInput`."""
    statements = _statements(compaction)
    ending = "".join(f"\n{one.text}" for one in statements[-count:])
    if not 0 < count < len(statements) or not compaction.summary_text.endswith(ending):
        raise InvalidInput("appended_text_changed", "The summary no longer ends with the appended text.", "statements")
    return compaction.summary_text.removesuffix(ending), statements[:-count]


def swap_statement(
    compaction: Compaction, *, remove: int | None = None, add: int | None = None
) -> tuple[str, list[CitedStatement], list[CitedStatement]]:
    """Return the summary without a statement or with a candidate, by their numbers from 1 on; and the candidates left.

    The removed statement becomes the first candidate. Raises `InvalidInput`.
    """
    budget = SummaryBudget(compaction)
    removed = _numbered(budget.statements, remove, "remove")
    added = _numbered(budget.candidates, add, "add")
    text, statements = budget.swapped(removed=removed, added=added)
    if not statements:
        raise InvalidInput("blank", "A summary must not be blank.", "remove")
    if added and (over := budget.tokens_over_budget(text)):
        lacking = counted(over, "token is", "tokens are")
        detail = f"{lacking} over the summary's budget of {compaction.summary_budget_tokens:,}."
        raise InvalidInput("over_budget", f"{detail} Remove a sentence first.", "add")
    left = [*filter(None, [removed]), *(one for one in budget.candidates if one is not added)]
    return text, statements, left[:CANDIDATES_MAX]


def _numbered(statements: Sequence[CitedStatement], number: int | None, field: str) -> CitedStatement | None:
    if number is None:
        return None
    if not 0 < number <= len(statements):
        raise InvalidInput("unknown_statement", f"There is no entry with the number {number}.", field)
    return statements[number - 1]


@dataclass(frozen=True)
class RevisionMeasures:
    """A text's tokens, alone and in the context, the facts that it retains, and those that it newly loses."""

    tokens: int
    tokens_after: int
    is_smaller: bool
    retention: RetentionResult
    missing_facts: Sequence[RetainedFact]

    @property
    def facts(self) -> int:
        return len(self.retention.kept) + len(self.retention.missing)


def measure_revision(compaction: Compaction, session: Session, text: str) -> RevisionMeasures:
    """Return the numbers that the text would have once saved; nothing is changed."""
    tokens = count_text_tokens(HEADING + text, session.model)
    after = compaction.tokens_after + tokens - compaction.summary_token_count
    kept_before = recorded_facts(compaction.retention, "kept")
    facts = [*kept_before, *recorded_facts(compaction.retention, "missing")]
    earlier = journal_texts(compaction.tenant_id, session.pk, but=compaction.pk)
    is_applied = compaction.state == Compaction.State.APPLIED
    own = [one for one in compaction.journal if one["status"] != STRUCK and not (is_applied and is_waiting(one))]
    texts = [text, *(entry["text"] for entry in own), *earlier]
    retention = check_retention(facts, texts, is_measurable=is_measured(compaction.retention))
    missing_facts = [fact for fact in retention.missing if fact in kept_before]
    is_smaller = tokens < compaction.original_token_count and after <= compaction.tokens_before
    return RevisionMeasures(tokens, after, is_smaller, retention, missing_facts)


def revise_summary(compaction: Compaction, session: Session, text: str, statements: Sequence[CitedStatement]) -> None:
    """Set another text on the compaction, counted and checked again. Raises `InvalidInput` unless it is shorter."""
    measures = measure_revision(compaction, session, text)
    if not measures.is_smaller:
        raise InvalidInput("does_not_shrink", DOES_NOT_SHRINK, "text")
    compaction.summary_text, compaction.summary_token_count = text, measures.tokens
    compaction.tokens_after = measures.tokens_after
    compaction.statements = [statement.as_record() for statement in statements]
    record_retention(compaction, measures.retention, facts_missing_before(compaction))
    record_possible_instructions(compaction)
    compaction.is_edited = True
    compaction.edit_version += 1


def _statements(compaction: Compaction) -> list[CitedStatement]:
    return list(map(CitedStatement.of, compaction.statements))
