"""What reviewers see: the queue, allowed actions, the last change, two proposals compared. Called inside a scope."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from compaction.models import Compaction
from compaction.pipeline.queries import CompactionQuerySet
from compaction.services.pipeline import states
from compaction.services.pipeline.journal_entries import is_under_review
from compaction.services.pipeline.retention.check import RetainedFact
from compaction.services.pipeline.stored_statements import recorded_facts
from memories.models import AuditEntry
from memories.services.store.text_diff import DiffPiece, diff_words

WAITING_MAX = 50
RECENT_MAX = 20
#: Positions beyond this are not shown.
_PLACES_MAX = 1_000

OLDEST, FULLEST = "", "fullest"
ORDERS: Mapping[str, str] = {OLDEST: "Oldest first", FULLEST: "Fullest session first"}


@dataclass(frozen=True)
class ReviewQueue:
    """What waits in the requested order, the number pending, recent decisions, and those that can be rolled back."""

    waiting: Sequence[Compaction]
    pending: int
    recent: Sequence[Compaction]
    reversible: Collection[UUID]


@dataclass(frozen=True)
class QueuePlace:
    """The position of a compaction among the `pending` ones; `following` is the one to review after this."""

    pending: int
    number: int | None = None
    previous: UUID | None = None
    next: UUID | None = None
    following: UUID | None = None


def read_review_queue(tenant_id: UUID, *, order: str = OLDEST) -> ReviewQueue:
    """Return the queue of a tenant. Six queries."""
    state = Compaction.State
    rows = Compaction.objects.for_tenant(tenant_id).with_titled_sessions().without_details()
    decided = rows.in_state(state.APPLIED, state.REJECTED, state.ROLLED_BACK, state.SUPERSEDED, state.FAILED)
    recent = list(decided.last_settled_first()[:RECENT_MAX])
    reversible = rows.latest_applied_ids({row.session_id for row in recent}) if recent else set()
    waiting = _waiting(rows, order)
    return ReviewQueue(list(waiting[:WAITING_MAX]), waiting.count(), recent, reversible)


def read_queue_place(tenant_id: UUID, compaction_id: UUID, *, order: str = OLDEST) -> QueuePlace:
    """Return the position of a compaction in the queue. One query, two if the queue is longer than `_PLACES_MAX`."""
    rows = _waiting(Compaction.objects.for_tenant(tenant_id), order)
    ids = rows.ids(_PLACES_MAX)
    place = ids.index(compaction_id) if compaction_id in ids else -1
    after = ids[place + 1] if place + 1 < len(ids) else None
    return QueuePlace(
        pending=len(ids) if len(ids) < _PLACES_MAX else rows.count(),
        number=place + 1 or None,
        previous=ids[place - 1] if place > 0 else None,
        next=after,
        following=after or (ids[0] if place > 0 else None),
    )


def _waiting(rows: CompactionQuerySet, order: str) -> CompactionQuerySet:
    return rows.to_review().fullest_first() if order == FULLEST else rows.to_review().oldest_first()


def allowed_review_actions(compaction: Compaction) -> list[str]:
    """Return the review actions that are allowed now, in order, for a compaction read with its session."""
    actions = list(states.state_actions(compaction.state))
    is_replaced = compaction.state == Compaction.State.APPLIED and compaction.session.current_id != compaction.pk
    if states.EDIT in actions and (is_replaced or not compaction.summary_text):
        actions.remove(states.EDIT)
    if states.ROLL_BACK in actions and not is_latest_applied(compaction):
        actions.remove(states.ROLL_BACK)
    if states.MARK_REVIEWED in actions and (compaction.decided_at or not compaction.summary_text):
        actions.remove(states.MARK_REVIEWED)
    is_settled = compaction.state == Compaction.State.APPLIED and compaction.decided_at is not None
    if states.STRIKE in actions and (is_settled or not is_under_review(compaction.journal)):
        actions.remove(states.STRIKE)
    if states.EDIT in actions:
        actions.insert(actions.index(states.EDIT) + 1, states.SWAP)
    if states.EDIT in actions and compaction.retention.get("missing"):
        actions.insert(actions.index(states.EDIT) + 1, states.APPEND_MISSING)
    return actions


def is_latest_applied(compaction: Compaction) -> bool:
    """Return whether it is the last compaction that was applied to its session. One query."""
    rows = Compaction.objects.for_tenant(compaction.tenant_id).of_session(compaction.session_id)
    return [compaction.pk] == rows.last_applied_first().ids(1)


#: Audit verbs in words, to follow the actor's name.
_DONE: Mapping[str, str] = {
    "approve_compaction": "approved it",
    "reject_compaction": "rejected it",
    "edit_compaction": "edited its text",
    "append_missing_facts": "appended missing facts",
    "withdraw_appended_facts": "removed appended facts",
    "strike_fact": "struck a fact",
    "keep_fact": "kept a fact",
    "reopen_compaction": "reopened it",
    "roll_back_compaction": "rolled it back",
    "mark_compaction_reviewed": "marked it as reviewed",
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
        later = Compaction.objects.for_tenant(compaction.tenant_id).replacing(compaction.pk).first()
        if later is not None:
            at = later.finished_at or later.created_at
            return ReviewChange(later.requested_by or "Someone", "regenerated it", at)
    entries = AuditEntry.objects.for_tenant(compaction.tenant_id).about_any("compaction", [compaction.pk])
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
    """Compare with the proposal that it replaces, else with the one that replaces it; None without either."""
    rows = Compaction.objects.for_tenant(compaction.tenant_id)
    earlier: Compaction | None = compaction
    later: Compaction | None = compaction
    if compaction.replaces_id is not None:
        earlier = rows.with_id(compaction.replaces_id).first()
    else:
        later = rows.replacing(compaction.pk).first()
    if earlier is None or later is None or later.state == Compaction.State.PENDING:
        return None
    pieces = diff_words(earlier.summary_text, later.summary_text)
    return ProposalComparison(_side(earlier, later), _side(later, earlier), pieces)


def _side(own: Compaction, other: Compaction) -> ComparedProposal:
    kept, missing = recorded_facts(own.retention, "kept"), recorded_facts(own.retention, "missing")
    others = {(fact.kind, fact.normalised) for fact in recorded_facts(other.retention, "kept")}
    only = [fact for fact in kept if (fact.kind, fact.normalised) not in others]
    return ComparedProposal(own, len(kept), len(kept) + len(missing), only)
