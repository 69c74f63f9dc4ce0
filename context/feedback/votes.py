"""Votes as rows, and what they make of the memories: steps inside a scope, one transaction with what calls them.

Whoever votes holds the memories' rows first, so that two voters come one after the other and both are counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from context.models import Feedback
from context.receipts.results import MEMORY
from context.receipts.storing import find_receipt, receipt_anchors
from context.services.feedback.votes import IMPLICIT_WEIGHT, usefulness_from_votes
from memories.models import AuditEntry, Memory
from memories.store.recall import update_usefulness_scores
from memories.tenancy.audit import Actor


@dataclass(frozen=True)
class RecordedVotes:
    """What came of a judgement: the votes that stand, usefulness by memory, and the memories that took none.

    `skipped` are those that are archived, erased or out of reach by now; `repeated` votes had been given before.
    """

    votes: Sequence[Feedback] = ()
    repeated: Sequence[Feedback] = ()
    skipped: Sequence[UUID] = ()
    scores: Mapping[UUID, float] = field(default_factory=dict)


def receipt_memories(*, tenant_id: UUID, receipt_id: UUID, reach: str) -> dict[UUID, int]:
    """The memories a context held, in its order, with the versions shown. Raises `NotFound` outside of `reach`."""
    anchors = receipt_anchors(find_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach))
    return {UUID(anchor.id): anchor.version for anchor in anchors if anchor.type == MEMORY}


def lock_votable_memories(tenant_id: UUID, memory_ids: Iterable[UUID], reach: str) -> dict[UUID, Memory]:
    """The memories that can be voted on, locked until the transaction ends."""
    rows = Memory.objects.for_tenant(tenant_id).unarchived().within(reach).with_ids(memory_ids)
    return {row.pk: row for row in rows.locked()}


def record_explicit_votes(
    memory_ids: Sequence[UUID],
    *,
    tenant_id: UUID,
    weight: float,
    receipt_id: UUID | None,
    reason: str,
    reach: str,
    by: Actor,
    now: datetime,
) -> RecordedVotes:
    """A person's or an agent's judgement on each of the memories.

    The same judgement by the same actor on the same day stands once: on one context, and by an operator on one memory.
    An agent's key votes on a memory for many conversations, so each of those counts.
    """
    memories = lock_votable_memories(tenant_id, memory_ids, reach)
    drafts = [
        _draft(memory, Feedback.Kind.EXPLICIT, weight, receipt_id, by=by, now=now, reason=reason)
        for memory in memories.values()
    ]
    before = _repetitions(drafts) if receipt_id or by.kind == AuditEntry.ActorKind.OPERATOR else {}
    return _cast(drafts, before, _missing(memory_ids, memories))


def record_implicit_votes(
    memory_ids: Sequence[UUID], *, tenant_id: UUID, receipt_id: UUID, reach: str, by: Actor, now: datetime
) -> RecordedVotes:
    """What a model's answer to a context says of memories that it used: once a memory and day.

    A vote that was taken back today is not given again, and who judged the memory in this context outranks the answer.
    """
    memories = lock_votable_memories(tenant_id, memory_ids, reach)
    drafts = [
        _draft(memory, Feedback.Kind.IMPLICIT, IMPLICIT_WEIGHT, receipt_id, by=by, now=now)
        for memory in memories.values()
    ]
    votes = Feedback.objects.for_tenant(tenant_id).on_memories(memories)
    judged = votes.standing().explicit().on_receipt(receipt_id)
    before = {vote.memory_id: vote for vote in (*judged, *votes.implied_on(_day(now)))}
    return _cast(drafts, before, _missing(memory_ids, memories))


def recalculate_usefulness(tenant_id: UUID, memory_ids: Iterable[UUID]) -> dict[UUID, float]:
    """Reckon the usefulness of memories (locked by the caller) from their standing votes; at most three queries.

    A memory whose votes were all taken back returns to what it had before the first.
    """
    ids = set(memory_ids)
    votes = Feedback.objects.for_tenant(tenant_id).on_memories(ids)
    scores = {
        pk: usefulness_from_votes(positive, negative) for pk, (positive, negative) in votes.sums_by_memory().items()
    }
    if bare := ids - scores.keys():
        scores |= votes.on_memories(bare).scores_before()
    update_usefulness_scores(scores=scores)
    return scores


def _missing(wanted: Iterable[UUID], memories: Mapping[UUID, Memory]) -> list[UUID]:
    return [memory_id for memory_id in wanted if memory_id not in memories]


def _cast(drafts: Sequence[Feedback], before: Mapping[UUID, Feedback], skipped: Sequence[UUID]) -> RecordedVotes:
    """Store the drafts of memories that have no vote `before`, and reckon anew."""
    new = [draft for draft in drafts if draft.memory_id not in before]
    _note_scores_without_votes(new)
    Feedback.objects.bulk_create(new)
    scores = recalculate_usefulness(new[0].tenant_id, [vote.memory_id for vote in new]) if new else {}
    return RecordedVotes(votes=new, repeated=list(before.values()), skipped=skipped, scores=scores)


def _note_scores_without_votes(drafts: Sequence[Feedback]) -> None:
    """Only where no vote stands is the score at hand the one to return to.

    Of votes at the same moment the one that came first may be counted last, so their times do not tell which it was.
    """
    if not drafts:
        return
    votes = Feedback.objects.for_tenant(drafts[0].tenant_id).on_memories(draft.memory_id for draft in drafts)
    judged = votes.sums_by_memory()
    for draft in drafts:
        if draft.memory_id in judged:
            draft.score_before = None


def _repetitions(drafts: Sequence[Feedback]) -> dict[UUID, Feedback]:
    if not drafts:
        return {}
    votes = Feedback.objects.for_tenant(drafts[0].tenant_id).on_memories(draft.memory_id for draft in drafts)
    return {vote.memory_id: vote for vote in votes.repeating(drafts[0])}


def _draft(
    memory: Memory, kind: str, weight: float, receipt_id: UUID | None, *, by: Actor, now: datetime, reason: str = ""
) -> Feedback:
    return Feedback(
        tenant_id=memory.tenant_id,
        memory_id=memory.pk,
        receipt_id=receipt_id,
        kind=kind,
        weight=weight,
        reason=reason,
        at=now,
        on_day=_day(now),
        score_before=memory.usefulness_score,
        **_signature(by),
    )


def _signature(by: Actor) -> dict[str, Any]:
    return {
        "actor_kind": by.kind,
        "actor_id": by.id,
        "actor_label": by.stored_label,
    }


def _day(now: datetime) -> Any:
    return now.astimezone(UTC).date()
