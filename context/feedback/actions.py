"""Vote on memories, and withdraw a vote. A withdrawn vote stays in the history."""

from collections.abc import Mapping
from copy import copy
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from context.feedback.votes import (
    RecordedVotes,
    audit_votes,
    recalculate_usefulness,
    receipt_memories,
    record_explicit_votes,
    vote_values,
)
from context.models import Feedback
from context.services.feedback.votes import EXPLICIT_WEIGHTS
from memories.models import Memory
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, NotFound
from memories.tenancy.required_rows import find_row


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
    audit_votes(tenant_id, "give_feedback", given.votes, given.replaced, by=by, now=now)
    return given


@transaction.atomic
def withdraw_feedback(*, tenant_id: UUID, feedback_id: UUID, reach: str = "", by: Actor, now: datetime) -> Feedback:
    """Withdraw a vote and update its memory's usefulness; a vote that was withdrawn before stays unchanged.

    Raises `NotFound` for a vote that is absent or on a memory outside of `reach`.
    """
    vote = find_row(Feedback.objects.for_tenant(tenant_id).for_reach(reach).with_id(feedback_id), Feedback, "vote")
    set_votes(tenant_id=tenant_id, values={vote.pk: {"weight": None}}, by=by, now=now)
    vote.refresh_from_db()
    return vote


@transaction.atomic
def set_votes(*, tenant_id: UUID, values: Mapping[UUID, Mapping[str, Any]], by: Actor, now: datetime) -> None:
    """Set some of `vote_values` by vote: without a weight it is withdrawn, with one it counts.

    Raises `Conflict` `duplicate` if a vote that should count again was meanwhile replaced by a new one.
    """
    rows = Feedback.objects.for_tenant(tenant_id).with_ids(values)
    list(Memory.objects.for_tenant(tenant_id).with_ids(rows.values_list("memory_id", flat=True)).locked())
    changed: dict[str, list[tuple[Feedback, Feedback]]] = {"withdraw_feedback": [], "restore_feedback": []}
    for vote in rows:
        own, before = values[vote.pk], copy(vote)
        if own["weight"] is None:
            vote.withdrawn_at, vote.withdrawn_by = vote.withdrawn_at or now, vote.withdrawn_by or by.stored_label
        else:
            vars(vote).update(own, withdrawn_at=None, withdrawn_by="")
        if vote_values(vote) != vote_values(before):
            _save(vote)
            changed["withdraw_feedback" if vote.withdrawn_at else "restore_feedback"].append((vote, before))
    recalculate_usefulness(tenant_id, [vote.memory_id for pairs in changed.values() for vote, _ in pairs])
    for verb, pairs in changed.items():
        audit_votes(tenant_id, verb, [vote for vote, _ in pairs], [before for _, before in pairs], by=by, now=now)


def _save(vote: Feedback) -> None:
    try:
        with transaction.atomic():
            vote.save()
    except IntegrityError as error:
        raise Conflict("duplicate", "The same person voted on the memory again on this day.") from error


def _votable(tenant_id: UUID, memory_id: UUID | None, reach: str) -> UUID:
    rows = Memory.objects.for_tenant(tenant_id).within(reach).with_id(memory_id)
    memory = find_row(rows, Memory, field="memory_id")
    if memory.archived_at is not None:
        raise NotFound("archived", "The memory is archived; restore it before you vote on it.", "memory_id")
    return memory.pk
