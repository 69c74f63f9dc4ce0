"""The queue of reviews: what waits in which order, where one stands in it, what was decided lately. Inside a scope."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from compaction.models import Compaction, Session
from compaction.pipeline.queries.compactions import CompactionQuerySet

PROPOSED_MAX = 50
LATELY_MAX = 20
#: Behind so many nobody asks for the place.
_PLACES_MAX = 1_000

OLDEST, FULLEST = "", "fullest"
ORDERS: Mapping[str, str] = {OLDEST: "Oldest first", FULLEST: "Fullest session first"}


@dataclass(frozen=True)
class ReviewQueue:
    """What waits for a decision, in the order asked for, and what was decided or applied lately.

    Of `lately` the latest decision comes first; `rollable` are those of it that can be rolled back: the latest of their
    sessions.
    """

    proposed: Sequence[Compaction]
    waiting: int
    lately: Sequence[Compaction]
    rollable: Collection[UUID]


@dataclass(frozen=True)
class QueuePlace:
    """Where a compaction stands among those that wait; `number` is None for one that does not wait.

    `following` is where to go on once this one is decided: the next one, after the last the first.
    """

    waiting: int
    number: int | None = None
    previous: UUID | None = None
    next: UUID | None = None
    following: UUID | None = None


def read_review_queue(tenant_id: UUID, *, order: str = OLDEST) -> ReviewQueue:
    """Five queries."""
    state = Compaction.State
    rows = Compaction.objects.for_tenant(tenant_id).with_sessions().without_details()
    decided = rows.in_state(state.APPLIED, state.REJECTED, state.ROLLED_BACK, state.SUPERSEDED, state.FAILED)
    proposed = list(_waiting(tenant_id, order).with_sessions().without_details()[:PROPOSED_MAX])
    lately = list(decided.last_settled_first()[:LATELY_MAX])
    rollable = rows.of_sessions({row.session_id for row in lately}).latest_applied_ids() if lately else set()
    add_session_titles([*proposed, *lately])
    return ReviewQueue(proposed, _waiting(tenant_id, order).count(), lately, rollable)


def add_session_titles(rows: Sequence[Compaction]) -> None:
    """Give each the session with the title that people know it by. One query."""
    if not rows:
        return
    sessions = Session.objects.for_tenant(rows[0].tenant_id).with_ids({row.session_id for row in rows}).with_titles()
    titled = {session.pk: session for session in sessions}
    for row in rows:
        row.session = titled.get(row.session_id, row.session)


def read_queue_place(tenant_id: UUID, compaction_id: UUID, *, order: str = OLDEST) -> QueuePlace:
    """One query."""
    ids = _waiting(tenant_id, order).ids(_PLACES_MAX)
    if compaction_id not in ids:
        first = ids[0] if ids else None
        return QueuePlace(len(ids), next=first, following=first)
    place = ids.index(compaction_id)
    others = [*ids[place + 1 :], *ids[:place]]
    return QueuePlace(
        waiting=len(ids),
        number=place + 1,
        previous=ids[place - 1] if place else None,
        next=ids[place + 1] if place + 1 < len(ids) else None,
        following=others[0] if others else None,
    )


def _waiting(tenant_id: UUID, order: str) -> CompactionQuerySet:
    rows: CompactionQuerySet = Compaction.objects.for_tenant(tenant_id).waiting()
    return rows.fullest_first() if order == FULLEST else rows.oldest_first()
