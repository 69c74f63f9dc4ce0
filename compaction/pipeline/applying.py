"""Apply a compaction to a session's context and undo it. Called inside a transaction (ADR-0071).

A compaction row and its members determine all changes, so applying immediately and approving later are the same.
Callers have locked the session's row.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from compaction.models import Compaction, CompactionMember, Message, Session
from compaction.pipeline import journal
from compaction.pipeline.drafting import HEADING, CompactionDraft
from compaction.pipeline.notices import POSSIBLE_INSTRUCTIONS, possible_warnings
from compaction.pipeline.plans import SessionPlan
from compaction.pipeline.session_rows import count_message_tokens, count_shown_tokens, recount_context
from compaction.services.pipeline.journal_entries import REPLACES, STORED
from compaction.services.pipeline.retention.check import RetainedFact, RetentionResult
from compaction.services.pipeline.states import APPLY_ACTION, APPROVE, PROPOSE, ROLL_BACK, next_state
from compaction.services.pipeline.stored_statements import (
    CANDIDATES_MAX,
    possible_instructions,
    recorded_facts,
    retention_of,
    retention_to_record,
)
from context.receipts.results import ContextWarning
from context.services.profiles.compaction_policy import REVIEW, CompactionPolicy
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict

MEMBER_MASKED, MEMBER_COMPACTED = CompactionMember.Act.MASKED, CompactionMember.Act.COMPACTED
CONSTRAINT_MISSING = ContextWarning(
    "constraint_missing", "Summary and journal lack a constraint that the messages state. A person should review it."
)
#: In the metadata of a summary: the memories of earlier summaries that it withdrew.
WITHDRAWN = "withdrawn_memory_ids"


def fill_compaction(
    compaction: Compaction,
    session: Session,
    plan: SessionPlan,
    draft: CompactionDraft,
    *,
    missing_before: Iterable[RetainedFact],
    now: datetime,
) -> None:
    """Write plan and draft to a pending compaction, with a member for every message that it changes.

    `missing_before` are the facts that the session's current summary misses.
    """
    span, previous = plan.span, session.current
    sequences = [turn.sequence for turn in span if turn.sequence is not None]
    compaction.previous = previous
    compaction.generation = (previous.generation if previous else 0) + (1 if span else 0)
    compaction.first_sequence = min(sequences, default=None)
    compaction.last_sequence = max(sequences, default=None)
    compaction.tokens_before = session.context_tokens
    compaction.tokens_after = max(session.context_tokens - plan.plan.tokens_leaving + draft.summary_tokens, 0)
    compaction.masked_count = len(plan.masked)
    if span:
        compaction.compacted_count = len(span) + (previous.compacted_count if previous else 0)
        original = sum(turn.tokens for turn in span)
        compaction.original_token_count = original + (previous.original_token_count if previous else 0)
        compaction.summary_text = draft.summary.text
        compaction.summary_budget_tokens = max(plan.plan.summary_budget_tokens, draft.summary_tokens)
        compaction.summary_token_count = draft.summary_tokens
        compaction.statements = [statement.as_record() for statement in draft.summary.statements]
        candidates = draft.summary.candidates[:CANDIDATES_MAX]
        compaction.candidates = [candidate.as_record() for candidate in candidates]
        compaction.journal = [entry.as_record() for entry in draft.journal]
        compaction.summariser, compaction.is_fallback = draft.summariser, draft.is_fallback
        if draft.summariser == "extractive":
            compaction.model, compaction.prompt_version = "", 0
    compaction.warnings = [notice.as_answer() for notice in draft.notices]
    if span:
        record_retention(compaction, draft.retention, missing_before)
        record_possible_instructions(compaction)
    compaction.finished_at = now
    _add_members(compaction, plan)


def _add_members(compaction: Compaction, plan: SessionPlan) -> None:
    acts = [(turn, MEMBER_MASKED) for turn in plan.masked] + [(turn, MEMBER_COMPACTED) for turn in plan.span]
    CompactionMember.objects.bulk_create(
        CompactionMember(
            tenant_id=compaction.tenant_id,
            compaction=compaction,
            message_id=UUID(str(turn.id)),
            act=act,
            previous_state=turn.state,
        )
        for turn, act in acts
    )


def record_retention(
    compaction: Compaction, retention: RetentionResult, missing_before: Iterable[RetainedFact]
) -> None:
    """Set the facts that are retained, and whether a constraint is missing that its previous summary did not lose."""
    compaction.retention = retention_to_record(retention)
    compaction.has_lost_constraint = bool(retention.newly_lost_constraints(missing_before))
    _set_warnings(compaction, CONSTRAINT_MISSING.code, [CONSTRAINT_MISSING] if compaction.has_lost_constraint else [])


def record_possible_instructions(compaction: Compaction) -> None:
    """Set whether a new statement or a waiting fact may instruct the assistant, with a warning."""
    count = len(possible_instructions(compaction.statements, compaction.journal))
    compaction.has_possible_instruction = count > 0
    _set_warnings(compaction, POSSIBLE_INSTRUCTIONS, possible_warnings(count))


def warnings_to_review(compaction: Compaction) -> list[ContextWarning]:
    """Return the warnings because of which a person should review an applied compaction."""
    codes = (CONSTRAINT_MISSING.code, POSSIBLE_INSTRUCTIONS)
    return [ContextWarning(one["code"], one["detail"]) for one in compaction.warnings if one["code"] in codes]


def _set_warnings(compaction: Compaction, code: str, warnings: Iterable[ContextWarning]) -> None:
    others = [one for one in compaction.warnings if one["code"] != code]
    compaction.warnings = [*others, *(one.as_answer() for one in warnings)]


def facts_missing_before(compaction: Compaction) -> list[RetainedFact]:
    """Return the facts that the previous summary misses."""
    return recorded_facts(compaction.previous.retention, "missing") if compaction.previous else []


def waits_only_for_instructions(proposal: Compaction) -> bool:
    """Return whether a proposal would have been applied if it contained no possible instruction."""
    policy = CompactionPolicy.of(proposal.policy)
    is_retained = not retention_of(proposal.retention).waits_for_review(policy.retention_floor)
    return proposal.has_possible_instruction and policy.decision != REVIEW and is_retained


def propose_compaction(compaction: Compaction) -> None:
    """Propose the compaction for review; the session does not change."""
    compaction.state = next_state(compaction.state, PROPOSE)
    compaction.save()


def apply_compaction(
    compaction: Compaction, session: Session, *, by: Actor, now: datetime, is_decided: bool
) -> list[UUID]:
    """Mask and compact messages, add summary and journal; returns ids of new memories. Raises `Conflict` `stale`."""
    state = next_state(compaction.state, APPROVE if is_decided else APPLY_ACTION)
    require_unchanged_session(compaction, session)
    members = _members(compaction)
    created: list[UUID] = []
    moments = {str(member.message_id): member.message.created_at for member in members}
    _change_messages(members, session, now)
    if compaction.summary_text:
        created += journal.store_journal_entries(compaction, session, moments, by=by, now=now)
        created += add_summary(compaction, session, by=by, now=now)
        session.current = compaction
    session.save(update_fields=["current", *recount_context(session)])
    compaction.state, compaction.compacted_at = state, _after_the_last(session, now)
    compaction.tokens_after = session.context_tokens
    compaction.tokens_before = max(compaction.tokens_before, session.context_tokens)
    compaction.save()
    return created


def _after_the_last(session: Session, now: datetime) -> datetime:
    """Return when a compaction counts as applied: after all others of the session, whatever the workers' clocks."""
    rows = Compaction.objects.for_tenant(session.tenant_id).of_session(session.pk)
    last: Compaction | None = rows.last_applied_first().without_texts().first()
    earliest = last and last.compacted_at and last.compacted_at + timedelta(microseconds=1)
    return max(now, earliest or now)


def require_unchanged_session(compaction: Compaction, session: Session) -> None:
    """Raise `Conflict` `stale` unless session and messages are as they were when the compaction was made."""
    is_same = all(
        member.message.state == member.previous_state and not (member.act == MEMBER_COMPACTED and member.message.pinned)
        for member in _members(compaction)
    )
    if not is_same or session.current_id != compaction.previous_id:
        raise Conflict("stale", "The session has changed since this was made; regenerate it.")


def add_summary(compaction: Compaction, session: Session, *, by: Actor, now: datetime) -> list[UUID]:
    """Store the summary as a message of the context and as memories, whose ids it returns; withdraw earlier ones."""
    messages = Message.objects.for_tenant(session.tenant_id).of_session(session.pk)
    superseded = messages.applied_summary_memory_ids()
    withdrawn = journal.withdraw_memories(tenant_id=session.tenant_id, memory_ids=superseded, by=by, now=now)
    memory_ids = journal.store_summary_memory(compaction, session, by=by, now=now)
    # A compaction that was rolled back and approved again already has its message.
    message = messages.of_compaction(compaction.pk).without_vectors().first() or Message(
        tenant_id=session.tenant_id, session=session, compaction=compaction, role=Message.Role.SYSTEM
    )
    message.content = HEADING + compaction.summary_text
    message.metadata = _metadata(compaction, memory_ids, withdrawn, now)
    message.created_at = message.recorded_at = now
    message.tokens = message.shown_tokens = count_message_tokens(message, session.model)
    message.save()
    return memory_ids


def replace_summary(compaction: Compaction, session: Session, *, by: Actor, now: datetime) -> list[UUID]:
    """Replace the text of an applied summary; returns the ids of the new memories."""
    message = summary_message(compaction)
    journal.withdraw_memories(tenant_id=session.tenant_id, memory_ids=message.metadata["memory_ids"], by=by, now=now)
    memory_ids = journal.store_summary_memory(compaction, session, by=by, now=now)
    message.content = HEADING + compaction.summary_text
    withdrawn = message.metadata.get(WITHDRAWN, ())
    message.metadata = _metadata(compaction, memory_ids, withdrawn, compaction.compacted_at or now)
    message.tokens = message.shown_tokens = count_message_tokens(message, session.model)
    message.save(update_fields=["content", "metadata", "tokens", "shown_tokens"])
    session.save(update_fields=recount_context(session))
    return memory_ids


def store_withheld_texts(compaction: Compaction, session: Session, *, by: Actor, now: datetime) -> list[UUID]:
    """Store the possible instructions of an applied compaction that a person has approved; returns new ids."""
    moments = {str(member.message_id): member.message.created_at for member in _members(compaction)}
    created = journal.store_journal_entries(compaction, session, moments, by=by, now=now)
    compaction.save()
    return [*created, *_store_current_summary_again(compaction, session, by=by, now=now)]


def withdraw_approved_texts(compaction: Compaction, session: Session, *, by: Actor, now: datetime) -> list[UUID]:
    """Undo `store_withheld_texts`; returns the ids of the memories of the summary."""
    journal.withdraw_approved_facts(compaction, by=by, now=now)
    compaction.save()
    return _store_current_summary_again(compaction, session, by=by, now=now)


def _store_current_summary_again(compaction: Compaction, session: Session, *, by: Actor, now: datetime) -> list[UUID]:
    """Store the memories of the session's summary, which may contain statements of `compaction`, again."""
    current = compaction if session.current_id == compaction.pk else session.current
    if current is None or not any(one.get("is_possible_instruction") for one in current.statements):
        return []
    return replace_summary(current, session, by=by, now=now)


def undo_compaction(compaction: Compaction, session: Session, *, by: Actor, now: datetime) -> None:
    """Restore the state of every message and the former summary with its memories; withdraw those of this one."""
    state = next_state(compaction.state, ROLL_BACK)
    members = _members(compaction)
    for member in members:
        message = member.message
        message.state = member.previous_state
        if message.state == Message.State.LIVE:
            message.masked_at, message.original_tool = None, ""
        message.shown_tokens = count_shown_tokens(message, session.model)
    _save_messages(members)
    own = exclusive_memories(compaction)
    journal.withdraw_memories(tenant_id=session.tenant_id, memory_ids=own, by=by, now=now)
    journal.restore_replaced_memories(compaction=compaction, withdrawn=own, by=by, now=now)
    if compaction.summary_text:
        withdrawn = summary_message(compaction).metadata.get(WITHDRAWN, ())
        journal.restore_withdrawn_memories(tenant_id=session.tenant_id, memory_ids=withdrawn, by=by, now=now)
    session.current = compaction.previous
    session.save(update_fields=["current", *recount_context(session)])
    compaction.state = state
    compaction.save()


def summary_message(compaction: Compaction) -> Message:
    """Return the message that contains an applied summary."""
    rows = Message.objects.for_tenant(compaction.tenant_id).of_compaction(compaction.pk)
    message: Message = rows.without_vectors().get()
    return message


def record_decision(compaction: Compaction, *, reason: str, by: Actor, now: datetime) -> None:
    """Set who decided, when and why; the caller saves."""
    compaction.decided_by, compaction.decided_at = by.stored_label, now
    compaction.decision_reason = reason


def exclusive_memories(compaction: Compaction) -> list[str]:
    """Return the ids of memories that this compaction made and no other applied one references."""
    made = (STORED, REPLACES)
    stored = [entry["memory_id"] for entry in compaction.journal if entry["status"] in made and entry["memory_id"]]
    rows = Compaction.objects.for_tenant(compaction.tenant_id)
    shared = rows.referenced_memories(stored, but=compaction.pk) if stored else set()
    of_summary = summary_message(compaction).metadata["memory_ids"] if compaction.summary_text else []
    return [*(memory_id for memory_id in stored if memory_id not in shared), *of_summary]


def _members(compaction: Compaction) -> list[CompactionMember]:
    rows = CompactionMember.objects.for_tenant(compaction.tenant_id).of_compaction(compaction.pk)
    return list(rows.with_messages())


def _change_messages(members: Sequence[CompactionMember], session: Session, now: datetime) -> None:
    tools = _tool_names(session, [member.message for member in members])
    for member in members:
        message = member.message
        if member.act == MEMBER_MASKED:
            message.state, message.masked_at = Message.State.MASKED, now
            message.original_tool = tools.get(message.tool_call_id, "") or message.name
        else:
            message.state = Message.State.COMPACTED
        message.shown_tokens = count_shown_tokens(message, session.model)
    _save_messages(members)


def _save_messages(members: Sequence[CompactionMember]) -> None:
    columns = ["state", "masked_at", "original_tool", "shown_tokens"]
    Message.objects.bulk_update([member.message for member in members], columns, batch_size=500)


def _tool_names(session: Session, messages: Iterable[Message]) -> dict[str, str]:
    call_ids = {message.tool_call_id for message in messages if message.role == Message.Role.TOOL}
    rows = Message.objects.for_tenant(session.tenant_id).of_session(session.pk).of_role(Message.Role.ASSISTANT)
    calls = [call for listed in rows.all_calls() for call in listed] if call_ids else []
    return {call["id"]: call["function"]["name"][:128] for call in calls if call["id"] in call_ids}


def _metadata(
    compaction: Compaction, memory_ids: Iterable[UUID], withdrawn: Iterable[str], compacted_at: datetime
) -> dict[str, Any]:
    return {
        "type": "compaction",
        "compaction_id": str(compaction.pk),
        "compacted_count": compaction.compacted_count,
        "compacted_at": compacted_at.isoformat(),
        "original_token_count": compaction.original_token_count,
        "summary_token_count": compaction.summary_token_count,
        "prompt_version": compaction.prompt_version,
        "model": compaction.model,
        "summariser": compaction.summariser,
        "generation": compaction.generation,
        "memory_ids": [str(memory_id) for memory_id in memory_ids],
        WITHDRAWN: list(withdrawn),
    }
