"""What reviewers see: the queue, allowed actions, the last change, two proposals compared. Called inside a scope."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from compaction.models import Compaction, Session
from compaction.pipeline.queries.compactions import CompactionQuerySet
from compaction.services.pipeline import states
from compaction.services.pipeline.retention.check import RetainedFact
from compaction.services.pipeline.stored_statements import recorded_facts
from memories.models import AuditEntry
from memories.services.store.text_diff import DiffPiece, diff_words

PROPOSED_MAX = 50
LATELY_MAX = 20
#: Positions beyond this are not shown.
_PLACES_MAX = 1_000

OLDEST, FULLEST = "", "fullest"
ORDERS: Mapping[str, str] = {OLDEST: "Oldest first", FULLEST: "Fullest session first"}


@dataclass(frozen=True)
class ReviewQueue:
    """Proposals in the requested order, and recent decisions, the latest first.

    `pending` counts all proposals; `reversible` are the ids in `recent` that can be rolled back: the latest of their
    sessions.
    """

    proposed: Sequence[Compaction]
    pending: int
    recent: Sequence[Compaction]
    reversible: Collection[UUID]


@dataclass(frozen=True)
class QueuePlace:
    """The position of a compaction among the `pending` ones; `number` is None for one that does not wait.

    `following` is the one to review after this: the next, after the last the first.
    """

    pending: int
    number: int | None = None
    previous: UUID | None = None
    next: UUID | None = None
    following: UUID | None = None


def read_review_queue(tenant_id: UUID, *, order: str = OLDEST) -> ReviewQueue:
    """Return the queue of a tenant. Five queries."""
    state = Compaction.State
    rows = Compaction.objects.for_tenant(tenant_id).with_sessions().without_details()
    decided = rows.in_state(state.APPLIED, state.REJECTED, state.ROLLED_BACK, state.SUPERSEDED, state.FAILED)
    proposed = list(_waiting(tenant_id, order).with_sessions().without_details()[:PROPOSED_MAX])
    recent = list(decided.last_settled_first()[:LATELY_MAX])
    reversible = rows.of_sessions({row.session_id for row in recent}).latest_applied_ids() if recent else set()
    add_session_titles([*proposed, *recent])
    return ReviewQueue(proposed, _waiting(tenant_id, order).count(), recent, reversible)


def add_session_titles(rows: Sequence[Compaction]) -> None:
    """Set the session of each row to one with its title. One query."""
    if not rows:
        return
    sessions = Session.objects.for_tenant(rows[0].tenant_id).with_ids({row.session_id for row in rows}).with_titles()
    titled = {session.pk: session for session in sessions}
    for row in rows:
        row.session = titled.get(row.session_id, row.session)


def read_queue_place(tenant_id: UUID, compaction_id: UUID, *, order: str = OLDEST) -> QueuePlace:
    """Return the position of a compaction in the queue. One query."""
    ids = _waiting(tenant_id, order).ids(_PLACES_MAX)
    if compaction_id not in ids:
        first = ids[0] if ids else None
        return QueuePlace(len(ids), next=first, following=first)
    place = ids.index(compaction_id)
    others = [*ids[place + 1 :], *ids[:place]]
    return QueuePlace(
        pending=len(ids),
        number=place + 1,
        previous=ids[place - 1] if place else None,
        next=ids[place + 1] if place + 1 < len(ids) else None,
        following=others[0] if others else None,
    )


def _waiting(tenant_id: UUID, order: str) -> CompactionQuerySet:
    rows: CompactionQuerySet = Compaction.objects.for_tenant(tenant_id).waiting()
    return rows.fullest_first() if order == FULLEST else rows.oldest_first()


def allowed_review_actions(compaction: Compaction) -> list[str]:
    """Return the review actions that are allowed now, in order, for a compaction read with its session."""
    actions = list(states.state_actions(compaction.state))
    is_applied = compaction.state == Compaction.State.APPLIED
    is_current = compaction.session.current_id == compaction.pk
    if states.EDIT in actions and (not compaction.summary_text or (is_applied and not is_current)):
        actions.remove(states.EDIT)
    if states.ROLL_BACK in actions and not _is_latest(compaction):
        actions.remove(states.ROLL_BACK)
    if states.EDIT in actions and (compaction.retention or {}).get("missing"):
        actions.insert(actions.index(states.EDIT) + 1, states.APPEND_MISSING)
    return actions


def _is_latest(compaction: Compaction) -> bool:
    rows = Compaction.objects.for_tenant(compaction.tenant_id).of_session(compaction.session_id)
    latest = rows.last_applied_first().first()
    return latest is not None and latest.pk == compaction.pk


#: Audit verbs in words, to follow the actor's name.
_DONE: Mapping[str, str] = {
    "approve_compaction": "approved it",
    "reject_compaction": "rejected it",
    "edit_compaction": "edited its text",
    "append_missing_facts": "appended missing facts",
    "withdraw_appended_facts": "removed appended facts",
    "reopen_compaction": "reopened it",
    "roll_back_compaction": "rolled it back",
}


@dataclass(frozen=True)
class ReviewChange:
    """Who did what, and when; `is_own` if the reader did it in another tab."""

    actor_label: str
    action: str
    at: datetime
    is_own: bool = False


def last_review_change(compaction: Compaction, *, reader_id: str) -> ReviewChange | None:
    """Return the last decision or edit, None without any. One query; two for a superseded compaction."""
    if compaction.state == Compaction.State.SUPERSEDED:
        rows = Compaction.objects.for_tenant(compaction.tenant_id).replacing(compaction.pk)
        made = rows.first()
        if made is not None:
            who = made.requested_by or "Someone"
            return ReviewChange(who, "regenerated it", made.finished_at or made.created_at)
    entries = AuditEntry.objects.for_tenant(compaction.tenant_id).of_kind("compaction").about(compaction.pk)
    entry: AuditEntry | None = entries.of_verbs(_DONE).newest_first().first()
    if entry is None:
        return None
    is_own = entry.actor_kind == AuditEntry.ActorKind.OPERATOR and entry.actor_id == reader_id
    return ReviewChange(entry.actor_label, _DONE[entry.verb], entry.at, is_own)


@dataclass(frozen=True)
class ComparedProposal:
    """One of two proposals, and the facts that only it retains."""

    compaction: Compaction
    kept: int
    facts: int
    unique_facts: Sequence[RetainedFact]


@dataclass(frozen=True)
class ProposalComparison:
    """The earlier and the later proposal, and the diff of their texts."""

    earlier: ComparedProposal
    later: ComparedProposal
    pieces: Sequence[DiffPiece]


def compare_proposals(compaction: Compaction) -> ProposalComparison | None:
    """Compare with the proposal that it replaces, else with the one that replaces it; None without either.

    At most two queries.
    """
    rows = Compaction.objects.for_tenant(compaction.tenant_id)
    earlier: Compaction | None
    later: Compaction | None
    if compaction.replaces_id is not None:
        earlier, later = rows.with_id(compaction.replaces_id).first(), compaction
    else:
        earlier, later = compaction, rows.replacing(compaction.pk).first()
    if earlier is None or later is None or later.state == Compaction.State.PENDING:
        return None
    pieces = diff_words(earlier.summary_text, later.summary_text)
    return ProposalComparison(_side(earlier, later), _side(later, earlier), pieces)


def _side(own: Compaction, other: Compaction) -> ComparedProposal:
    kept, missing = recorded_facts(own.retention, "kept"), recorded_facts(own.retention, "missing")
    others = {(fact.kind, fact.normalised) for fact in recorded_facts(other.retention, "kept")}
    only = [fact for fact in kept if (fact.kind, fact.normalised) not in others]
    return ComparedProposal(own, len(kept), len(kept) + len(missing), only)
