"""Votes as rows, and the usefulness that follows from them. Called inside a scope, in the transaction of the caller.

The memories are locked before a vote is stored, so concurrent votes are all counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from context.feedback.queries import FeedbackQuerySet
from context.models import Feedback
from context.receipts.results import MEMORY
from context.receipts.storing import find_receipt, receipt_anchors
from context.services.feedback.votes import IMPLICIT_WEIGHT, usefulness_from_votes
from memories.models import Memory
from memories.store.recall import update_usefulness_scores
from memories.tenancy.audit import Actor, ChangedValue, record_audit

#: The value of a vote; a later vote of the same actor and day replaces it.
_VOTE_FIELDS = ("weight", "reason", "receipt_id")


@dataclass(frozen=True)
class RecordedVotes:
    """The new votes, those that were given before (`repeated`), and the usefulness by memory.

    `votes` contains those that replace an earlier vote of the same day; `replaced` are these earlier votes as they
    were. `skipped` memories are now archived, erased or out of reach.
    """

    votes: Sequence[Feedback] = ()
    replaced: Sequence[Feedback] = ()
    repeated: Sequence[Feedback] = ()
    skipped: Sequence[UUID] = ()
    scores: Mapping[UUID, float] = field(default_factory=dict)

    @property
    def has_new(self) -> bool:
        """Whether a vote was added, not only replaced or repeated."""
        return len(self.votes) > len(self.replaced)


def receipt_memories(*, tenant_id: UUID, receipt_id: UUID, reach: str) -> dict[UUID, int]:
    """Return the memories of a context in its order, with the versions shown. Raises `NotFound` outside of `reach`."""
    anchors = receipt_anchors(find_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach=reach))
    return {UUID(anchor.id): anchor.version for anchor in anchors if anchor.type == MEMORY}


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
    """Store the vote of a person or an agent on each of the memories.

    An actor has one vote on a memory and day (UTC). A different one replaces it in its row; the same one changes
    nothing.
    """
    fields = {"kind": Feedback.Kind.EXPLICIT, "weight": weight, "receipt_id": receipt_id, "reason": reason}
    drafts = _drafts(memory_ids, tenant_id, reach, by, now, fields)
    before = list(_votes_on(drafts).of_its_actor_and_day(drafts[0])) if drafts else []
    replaced = [vote for vote in before if any(getattr(vote, name) != fields[name] for name in _VOTE_FIELDS)]
    return _store(memory_ids, drafts, before, replaced)


def record_implicit_votes(
    memory_ids: Sequence[UUID], *, tenant_id: UUID, receipt_id: UUID, reach: str, by: Actor, now: datetime
) -> RecordedVotes:
    """Store that an answer to a context used these memories: once for each memory and day.

    A vote that was withdrawn today is not given again. An explicit vote on the memory in this context replaces it.
    """
    fields = {"kind": Feedback.Kind.IMPLICIT, "weight": IMPLICIT_WEIGHT, "receipt_id": receipt_id}
    drafts = _drafts(memory_ids, tenant_id, reach, by, now, fields)
    votes = _votes_on(drafts)
    before = (*votes.standing().explicit().on_receipt(receipt_id), *votes.implied_on(_day(now)))
    return _store(memory_ids, drafts, before)


def recalculate_usefulness(tenant_id: UUID, memory_ids: Iterable[UUID]) -> dict[UUID, float]:
    """Store and return the usefulness of memories, locked by the caller, from their votes; at most three queries.

    A memory whose votes were all withdrawn gets the value it had before the first.
    """
    ids = set(memory_ids)
    votes = Feedback.objects.for_tenant(tenant_id).on_memories(ids)
    scores = {pk: usefulness_from_votes(*sums) for pk, sums in votes.sums_by_memory().items()}
    if bare := ids - scores.keys():
        scores |= votes.on_memories(bare).scores_before()
    update_usefulness_scores(scores=scores)
    return scores


def vote_values(vote: Feedback) -> dict[str, Any]:
    """Return the values of a vote; a withdrawn one has no weight."""
    values = {name: getattr(vote, name) for name in _VOTE_FIELDS}
    return values | ({"weight": None} if vote.withdrawn_at else {})


def audit_votes(
    tenant_id: UUID, verb: str, votes: Iterable[Feedback], before: Iterable[Feedback] = (), *, by: Actor, now: datetime
) -> None:
    """Write one audit row for the memories of the votes, with those that changed as they were; none without votes."""
    former = {vote.pk: vote_values(vote) for vote in before}
    ids: list[UUID] = []
    changes: list[ChangedValue] = []
    for vote in votes:
        after = vote_values(vote)
        was = former.get(vote.pk, after | {"weight": None})
        ids.append(vote.memory_id)
        changes += [ChangedValue(vote.pk, name, was[name], after[name]) for name in after if was[name] != after[name]]
    if ids:
        fields = ["usefulness_score"]
        record_audit(verb, "memory", ids, tenant_id=tenant_id, fields=fields, changes=changes, by=by, now=now)


def _drafts(
    memory_ids: Iterable[UUID], tenant_id: UUID, reach: str, by: Actor, now: datetime, fields: Mapping[str, Any]
) -> list[Feedback]:
    """Return unsaved votes on the memories that accept votes; their rows stay locked until the transaction ends."""
    memories = Memory.objects.for_tenant(tenant_id).unarchived().within(reach).with_ids(memory_ids).locked()
    actor = {"actor_kind": by.kind, "actor_id": by.id, "actor_label": by.stored_label}
    same = {"tenant_id": tenant_id, "at": now, "on_day": _day(now), **actor, **fields}
    return [Feedback(memory_id=memory.pk, score_before=memory.usefulness_score, **same) for memory in memories]


def _votes_on(drafts: Sequence[Feedback]) -> FeedbackQuerySet:
    votes = Feedback.objects.for_tenant(drafts[0].tenant_id) if drafts else Feedback.objects.none()
    return votes.on_memories(draft.memory_id for draft in drafts)


def _store(
    memory_ids: Sequence[UUID],
    drafts: Sequence[Feedback],
    before: Iterable[Feedback],
    replaced: Sequence[Feedback] = (),
) -> RecordedVotes:
    """Store the drafts on memories that have no vote in `before` or one to be replaced, and update their usefulness."""
    earlier = {vote.memory_id: vote for vote in before}
    new = [draft for draft in drafts if draft.memory_id not in earlier]
    changed = _replace(replaced, drafts[0]) if replaced else []
    scores: dict[UUID, float] = {}
    if new:
        # Only a memory without votes has the score to return to. The first of several votes at the same moment may be
        # stored last, so their times do not tell which one that is.
        with_votes = _votes_on(new).sums_by_memory()
        for draft in new:
            draft.score_before = None if draft.memory_id in with_votes else draft.score_before
        Feedback.objects.bulk_create(new)
    if votes := [*new, *changed]:
        scores = recalculate_usefulness(votes[0].tenant_id, [vote.memory_id for vote in votes])
    return RecordedVotes(
        votes,
        replaced,
        repeated=[vote for vote in earlier.values() if vote not in replaced],
        skipped=[pk for pk in memory_ids if pk not in {draft.memory_id for draft in drafts}],
        scores=scores,
    )


def _replace(votes: Sequence[Feedback], draft: Feedback) -> list[Feedback]:
    """Write the values of the draft into the rows of earlier votes; return the updated rows."""
    values = {name: getattr(draft, name) for name in (*_VOTE_FIELDS, "at", "actor_label")}
    Feedback.objects.for_tenant(draft.tenant_id).with_ids(vote.pk for vote in votes).update(**values)
    changed = [copy(vote) for vote in votes]
    for vote in changed:
        vars(vote).update(values)
    return changed


def _day(now: datetime) -> date:
    return now.astimezone(UTC).date()
