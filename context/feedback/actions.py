"""Judging memories, and taking a judgement back. A vote that was taken back stays in the history."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from context.feedback.votes import RecordedVotes, recalculate_usefulness, receipt_memories, record_explicit_votes
from context.models import Feedback
from context.services.feedback.votes import EXPLICIT_WEIGHTS
from memories.models import Memory
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import InvalidInput, NotFound

REASON_CHARACTERS = 500


@transaction.atomic
def record_feedback(
    *,
    tenant_id: UUID,
    memory_id: UUID | None = None,
    receipt_id: UUID | None = None,
    feedback: str,
    reason: str = "",
    reach: str = "",
    by: Actor,
    now: datetime,
) -> RecordedVotes:
    """POSITIVE, NEGATIVE or VERY_NEGATIVE on one memory, or on all memories of a context; exactly one of the two.

    Raises `InvalidInput` naming the field, `NotFound` for what is absent, archived or outside of `reach`. Of a
    context's memories those that are archived, erased or out of reach by now are skipped.
    """
    _check(memory_id, receipt_id, feedback, reason)
    if receipt_id is not None:
        wanted = list(receipt_memories(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach))
    else:
        wanted = [_votable(tenant_id, memory_id, reach)]
    given = record_explicit_votes(
        wanted,
        tenant_id=tenant_id,
        weight=EXPLICIT_WEIGHTS[feedback],
        receipt_id=receipt_id,
        reason=reason.strip(),
        reach=reach,
        by=by,
        now=now,
    )
    if given.votes:
        _audit(tenant_id, "give_feedback", [vote.memory_id for vote in given.votes], by, now)
    return given


@transaction.atomic
def withdraw_feedback(*, tenant_id: UUID, feedback_id: UUID, reach: str = "", by: Actor, now: datetime) -> Feedback:
    """Take a vote back and reckon its memory's usefulness without it; a vote taken back before stays as it is.

    Raises `NotFound` for a vote that is absent or on a memory outside of `reach`.
    """
    votes = Feedback.objects.for_tenant(tenant_id).for_reach(reach).with_id(feedback_id)
    vote: Feedback | None = votes.first()
    if vote is None:
        raise NotFound("not_found", "There is no such vote.")
    list(Memory.objects.for_tenant(tenant_id).with_id(vote.memory_id).locked())
    taken = votes.standing().update(withdrawn_at=now, withdrawn_by=by.stored_label)
    if taken:
        recalculate_usefulness(tenant_id, [vote.memory_id])
        _audit(tenant_id, "withdraw_feedback", [vote.memory_id], by, now)
    vote.refresh_from_db()
    return vote


def _check(memory_id: UUID | None, receipt_id: UUID | None, feedback: str, reason: str) -> None:
    if (memory_id is None) == (receipt_id is None):
        raise InvalidInput("one_target", "Either a memory or a context is needed, and not both.", "memory_id")
    if feedback not in EXPLICIT_WEIGHTS:
        raise InvalidInput("unknown_choice", f"Known are: {', '.join(EXPLICIT_WEIGHTS)}.", "feedback")
    if len(reason) > REASON_CHARACTERS:
        raise InvalidInput("too_long", f"A reason has at most {REASON_CHARACTERS} characters.", "reason")
    if any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in reason):
        raise InvalidInput("bad_characters", "The text holds NUL or half of a surrogate pair.", "reason")


def _votable(tenant_id: UUID, memory_id: UUID | None, reach: str) -> UUID:
    memory: Memory | None = Memory.objects.for_tenant(tenant_id).within(reach).filter(pk=memory_id).first()
    if memory is None:
        raise NotFound("not_found", "There is no such memory.", "memory_id")
    if memory.archived_at is not None:
        raise NotFound("archived", "The memory is archived; restore it before judging it.", "memory_id")
    return memory.pk


def _audit(tenant_id: UUID, verb: str, memory_ids: list[UUID], by: Actor, now: datetime) -> None:
    record_audit(
        tenant_id=tenant_id,
        by=by,
        now=now,
        verb=verb,
        target_kind="memory",
        target_ids=memory_ids,
        fields=["usefulness_score"],
    )
