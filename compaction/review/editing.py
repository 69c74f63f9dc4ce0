"""Another text for a compaction's summary: what it takes and keeps then. Steps of verbs, run inside a transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.models import Compaction, CompactionMember, Message, Session
from compaction.pipeline.applying import MEMBER_COMPACTED
from compaction.pipeline.counting import count_text_tokens
from compaction.pipeline.drafting import HEADING, recorded_facts, retention_to_record
from compaction.pipeline.message_adapter import messages_to_turns
from compaction.services.pipeline.missing_facts import clauses_with_facts
from compaction.services.pipeline.retention import RetainedFact, RetentionResult, check_retention
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.review.editing import SUMMARY_BYTES_MAX, parse_statements, split_appended_text
from compaction.services.sessions.drafts import text_problem
from memories.tenancy.exceptions import Conflict, InvalidInput

DOES_NOT_SHRINK = "The summary would take no less than the messages it stands for."


def parse_revised_summary(compaction: Compaction, text: str) -> tuple[str, list[CitedStatement]]:
    """The text as it is stored, and its statements. Raises `InvalidInput`."""
    wording, before = validate_summary_text(text, compaction), list(map(CitedStatement.of, compaction.statements))
    contents = {str(message.pk): message.content for message in summarised_messages(compaction)}
    return wording, parse_statements(wording, before, contents)


def validate_summary_text(text: str, compaction: Compaction) -> str:
    """What was typed as it is stored. Raises `InvalidInput`."""
    wording = text.strip().removeprefix(HEADING.strip()).strip()
    wording = split_appended_text(wording, list(map(CitedStatement.of, compaction.statements)))
    if problem := text_problem(wording, bytes_max=SUMMARY_BYTES_MAX):
        raise InvalidInput(*problem, "text")
    if not wording:
        raise InvalidInput("blank", "A summary says something.", "text")
    return wording


def append_missing_clauses(
    compaction: Compaction, session: Session, chosen: Sequence[str] | None
) -> tuple[str, list[CitedStatement]]:
    """The summary with the clauses that hold the facts it lost: those named by their texts, else all.

    Raises `InvalidInput` for a text that is none of them, `Conflict` `nothing_missing` where nothing is.
    """
    missing = recorded_facts(compaction.retention, "missing")
    unknown = set(chosen or ()) - {fact.text for fact in missing}
    if unknown:
        raise InvalidInput("unknown_fact", "Only facts that are missing can be appended.", "facts")
    wanted = [fact for fact in missing if chosen is None or fact.text in chosen]
    turns = messages_to_turns(summarised_messages(compaction), model=session.model)
    clauses = clauses_with_facts(wanted, {str(turn.id): turn for turn in turns})
    if not clauses:
        raise Conflict("nothing_missing", "No fact is missing that could be appended.")
    told = [CitedStatement(clause.text, (clause.message_id,)) for clause in clauses]
    text = "\n".join([compaction.summary_text, *(one.text for one in told)])
    return text, [*map(CitedStatement.of, compaction.statements), *told]


def remove_last_statements(compaction: Compaction, count: int) -> tuple[str, list[CitedStatement]]:
    """The summary without its last `count` statements, each a line of its own. Raises `InvalidInput`."""
    told = list(map(CitedStatement.of, compaction.statements))
    kept, last = told[: len(told) - count], told[len(told) - count :]
    ending = "".join(f"\n{one.text}" for one in last)
    if not 0 < count < len(told) or not compaction.summary_text.endswith(ending):
        raise InvalidInput("nothing_appended", "The summary does not end with what was appended.", "statements")
    return compaction.summary_text.removesuffix(ending), kept


@dataclass(frozen=True)
class RevisionMeasures:
    """What a text takes in the session's tokens, alone and with the rest of the context, and what it keeps.

    `lost` are facts that the stored text keeps and this one does not.
    """

    tokens: int
    tokens_after: int
    is_smaller: bool
    retention: RetentionResult
    lost: Sequence[RetainedFact]

    @property
    def facts(self) -> int:
        return len(self.retention.kept) + len(self.retention.missing)


def measure_revision(compaction: Compaction, session: Session, text: str) -> RevisionMeasures:
    """The same numbers that the text has once it is saved; nothing is changed."""
    tokens = count_text_tokens(HEADING + text, session.model)
    after = compaction.tokens_after + tokens - compaction.summary_token_count
    kept_before = recorded_facts(compaction.retention, "kept")
    facts = [*kept_before, *recorded_facts(compaction.retention, "missing")]
    journal = [entry["text"] for entry in compaction.journal]
    retention = check_retention(facts, [text, *journal])
    lost = [fact for fact in retention.missing if fact in kept_before]
    is_smaller = tokens < compaction.original_token_count and after <= compaction.tokens_before
    return RevisionMeasures(tokens, after, is_smaller, retention, lost)


def revise_summary(compaction: Compaction, session: Session, text: str, statements: Sequence[CitedStatement]) -> None:
    """Give the compaction another text, counted and checked anew; the caller saves it.

    Raises `InvalidInput` `does_not_shrink` for one that takes no less than what it stands for.
    """
    found = measure_revision(compaction, session, text)
    if not found.is_smaller:
        raise InvalidInput("does_not_shrink", DOES_NOT_SHRINK, "text")
    compaction.summary_text, compaction.summary_token_count = text, found.tokens
    compaction.tokens_after = found.tokens_after
    compaction.statements = [statement.as_record() for statement in statements]
    compaction.retention = retention_to_record(found.retention)
    compaction.is_edited = True
    compaction.edit_version += 1


def summarised_messages(compaction: Compaction) -> list[Message]:
    """The messages that left for the summary, in order."""
    members = CompactionMember.objects.for_tenant(compaction.tenant_id).of_compaction(compaction.pk)
    return [member.message for member in members.with_messages() if member.act == MEMBER_COMPACTED]
