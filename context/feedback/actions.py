"""Vote on memories, and withdraw a vote. A withdrawn vote stays in the history."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from context.feedback.votes import (
    RecordedVotes,
    audit_votes,
    recalculate_usefulness,
    receipt_memories,
    record_explicit_votes,
)
from context.models import Feedback
from context.services.feedback.votes import EXPLICIT_WEIGHTS
from memories.models import Memory
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import NotFound


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
    """Record a vote, a key of `EXPLICIT_WEIGHTS`, on one memory or on all memories of a context: give one of the two.

    Memories of a context that are now archived, erased or out of reach are skipped. Raises `NotFound` for a memory or
    context that is absent, archived or outside of `reach`.
    """
    given = record_explicit_votes(
        [_votable(tenant_id, memory_id, reach)]
        if receipt_id is None
        else list(receipt_memories(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach)),
        tenant_id=tenant_id,
        weight=EXPLICIT_WEIGHTS[feedback],
        receipt_id=receipt_id,
        reason=reason.strip(),
        reach=reach,
        by=by,
        now=now,
    )
    audit_votes(tenant_id, "give_feedback", given.votes, by=by, now=now)
    return given


@transaction.atomic
def withdraw_feedback(*, tenant_id: UUID, feedback_id: UUID, reach: str = "", by: Actor, now: datetime) -> Feedback:
    """Withdraw a vote and update its memory's usefulness; a vote that was withdrawn before stays unchanged.

    Raises `NotFound` for a vote that is absent or on a memory outside of `reach`.
    """
    votes = Feedback.objects.for_tenant(tenant_id).for_reach(reach).with_id(feedback_id)
    vote: Feedback | None = votes.first()
    if vote is None:
        raise NotFound("not_found", "There is no such vote.")
    list(Memory.objects.for_tenant(tenant_id).with_id(vote.memory_id).locked())
    if votes.standing().update(withdrawn_at=now, withdrawn_by=by.stored_label):
        recalculate_usefulness(tenant_id, [vote.memory_id])
        audit_votes(tenant_id, "withdraw_feedback", [vote], by=by, now=now)
    vote.refresh_from_db()
    return vote


def _votable(tenant_id: UUID, memory_id: UUID | None, reach: str) -> UUID:
    memory: Memory | None = Memory.objects.for_tenant(tenant_id).within(reach).filter(pk=memory_id).first()
    if memory is None:
        raise NotFound("not_found", "There is no such memory.", "memory_id")
    if memory.archived_at is not None:
        raise NotFound("archived", "The memory is archived; restore it before you vote on it.", "memory_id")
    return memory.pk
