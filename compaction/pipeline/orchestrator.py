"""The orchestrator of compaction: claim -> plan -> draft -> propose or apply (ADR-0071).

Planning and drafting write nothing, so a worker may be killed at any step. One transaction at the end writes
everything, if the worker still has the lease of the run. Called with no scope open.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from compaction.models import Compaction, Run, Session
from compaction.pipeline import applying, plans
from compaction.pipeline.breakers import COOLDOWN, FAILURES_TO_OPEN
from compaction.pipeline.drafting import CompactionDraft, draft_summary
from compaction.pipeline.drafting_input import DraftingClock, DraftingError, DraftingInput, read_drafting_input
from compaction.pipeline.fallback import ProviderUnavailableError
from compaction.pipeline.queries import RunQuerySet
from compaction.services.pipeline.states import FAIL, next_state
from context.receipts.results import ContextWarning
from context.services.profiles.compaction_policy import REVIEW, CompactionPolicy
from memories.embeddings.indexer import index_now
from memories.services.time_limits import TimeIsUpError, work_until
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.claims import claim_in_turn
from memories.tenancy.exceptions import Conflict, PlatformError
from memories.tenancy.queries.rows import LostClaimError
from memories.tenancy.scopes import tenant_scope
from memory_platform.observability.logs import log_place_of
from memory_platform.observability.metrics import COMPACTIONS, counts_outcome
from memory_platform.postgres.errors import UNAVAILABLE

logger = logging.getLogger(__name__)

#: Longer than a task may run (tasks.py), so that only the lease of a dead worker expires.
COMPACTION_LEASE = timedelta(minutes=5)
#: Time limit of the model in a worker.
RUN_TIME_LIMIT = timedelta(minutes=3)
#: Time limit of a worker's whole attempt, less than that of its task, which would kill the process and retry.
WORK_TIME_LIMIT = timedelta(seconds=220)
#: Time limit of a request that waits for the result.
WAITING_TIME_LIMIT = timedelta(seconds=25)
EMERGENCY_TIME_LIMIT = timedelta(seconds=8)
#: The longest span that is summarised while a request waits; a worker does longer ones.
WAITING_SPAN_TOKENS_MAX = 80_000
#: Workers that may die during a run before it fails.
COMPACTION_ATTEMPTS_MAX = 10
#: Maximum drafts of one attempt, if messages change in the meantime.
DRAFTS_MAX = 3
#: The last step of a draft; storing it takes almost no time.
LAST_STEP = "checked"
_TIME_LIMIT = "time_limit"
_BY = Actor.system("compaction")

#: Enqueues a run of a tenant for a worker after the commit.
EnqueueRun = Callable[[UUID, UUID], None]


@dataclass(frozen=True)
class CompactionRunResult:
    """The compaction's state, or "" if another worker has the run; `wait` is the delay before another attempt.

    `to_review` are the warnings because of which a person should review an applied compaction.
    """

    state: str = ""
    code: str = ""
    wait: timedelta | None = None
    memory_ids: tuple[UUID, ...] = ()
    to_review: tuple[ContextWarning, ...] = ()


@dataclass(frozen=True)
class _Claim:
    """A run leased until `until`. `can_wait`: another attempt may call the provider again later.

    The model must respond by the `deadline`, the rules by the `end`.
    """

    run: Run
    until: datetime
    deadline: datetime
    end: datetime
    can_wait: bool
    enqueue: EnqueueRun | None

    def lease(self) -> RunQuerySet:
        """Return the run if the lease is still valid."""
        rows: RunQuerySet = Run.objects.for_tenant(self.run.tenant_id)
        return rows.claimed(self.run.pk, self.until)

    def compaction(self) -> Compaction:
        rows = Compaction.objects.for_tenant(self.run.tenant_id).with_id(self.run.compaction_id)
        compaction: Compaction = rows.with_sessions().get()
        return compaction


class _ChangedError(Exception):
    """The messages have changed since the draft was planned."""


def note_step(step: str) -> None:
    """Log a step; tests replace this to act between steps."""
    logger.debug("compaction: %s", step)


@counts_outcome(COMPACTIONS)
def run_compaction(
    tenant_id: UUID,
    run_id: UUID,
    *,
    now: datetime,
    time_limit: timedelta = RUN_TIME_LIMIT,
    can_wait: bool = True,
    is_in_turn: bool = False,
    enqueue: EnqueueRun | None = None,
) -> CompactionRunResult:
    """Run a queued or abandoned compaction. A run over `time_limit` is enqueued, unless it `can_wait`.

    Workers claim it `is_in_turn`; a request that waits for the result does not wait for its tenant's other runs.
    """
    clock = clock_from(now)
    until = now + COMPACTION_LEASE
    with tenant_scope(tenant_id):
        rows = Run.objects.for_tenant(tenant_id).of_kind(Run.Kind.COMPACTION)
        claimed = (
            claim_in_turn(Run.objects.for_tenant(tenant_id), tenant_id, run_id, now=now, until=until)
            if is_in_turn
            else rows.claim(run_id, now=now, until=until)
        )
        if not claimed:
            return CompactionRunResult()
        end = now + (WORK_TIME_LIMIT if can_wait else time_limit)
        claim = _Claim(rows.get(pk=run_id), until, now + time_limit, end, can_wait, enqueue)
    note_step("claimed")
    try:
        with work_until(lambda: clock() > claim.end):
            outcome = _worked(claim, clock)
    except LostClaimError:
        return CompactionRunResult()
    except ProviderUnavailableError as away:
        return _postponed(claim, away, clock())
    except DraftingError as error:
        return _failed(claim, error.code, error.detail, clock())
    except PlatformError as error:
        return _failed(claim, error.code, "The result could not be stored.", clock())
    except TimeIsUpError:
        return _out_of_time(claim, clock())
    except UNAVAILABLE:
        raise  # no database: the sweep runs it again once the lease expires
    except Exception as error:  # noqa: BLE001 - a run ends in a defined state, and a waiting request gets an answer
        log_place_of(error, logger)
        return _failed(claim, "internal_error", "An unexpected error occurred.", clock())
    index_now(tenant_id, outcome.memory_ids)
    note_step("done")
    return outcome


def compact_in_emergency(
    session: Session, policy: CompactionPolicy, now: datetime, *, enqueue: EnqueueRun | None = None
) -> list[ContextWarning]:
    """Compact within eight seconds while a context is assembled, else leave it to a worker; return the warnings."""
    try:
        with tenant_scope(session.tenant_id):
            run_id = _run_to_take(session, policy, now)
    except Conflict as error:
        return [_not_compacted(error.code, error.detail)]
    limit = EMERGENCY_TIME_LIMIT
    outcome = run_compaction(session.tenant_id, run_id, now=now, time_limit=limit, can_wait=False, enqueue=enqueue)
    if outcome.state == Compaction.State.APPLIED:
        detail = "The session was nearly full and was compacted for this context."
        return [ContextWarning("compacted_in_emergency", detail), *outcome.to_review]
    if outcome.state == Compaction.State.PROPOSED:
        return [_not_compacted("waits_for_review", "A compaction is waiting for review.")]
    return [_not_compacted(outcome.code or "already_running", "The session could not be compacted.")]


def clock_from(now: datetime) -> DraftingClock:
    """Return a clock that starts at `now`."""
    started = time.monotonic()
    return lambda: now + timedelta(seconds=time.monotonic() - started)


def _not_compacted(code: str, detail: str) -> ContextWarning:
    logger.warning("emergency compaction did not help: %s", code)
    return ContextWarning("not_compacted", f"{detail} The context contains the newest messages that fit ({code}).")


def _run_to_take(session: Session, policy: CompactionPolicy, now: datetime) -> UUID:
    waiting: Run | None = Run.objects.for_tenant(session.tenant_id).of_session(session.pk).abandoned(now).first()
    if waiting is not None:
        return waiting.pk
    plans.plan_or_conflict(session, policy, is_forced=False)
    rows = Compaction.objects.for_tenant(session.tenant_id).of_session(session.pk)
    if rows.failed_since(now - COOLDOWN).count() >= FAILURES_TO_OPEN:
        raise Conflict(
            "compaction_paused", "Compactions of this session keep failing and are paused for a few minutes."
        )
    return plans.open_compaction(
        session,
        policy,
        trigger=Compaction.Trigger.EMERGENCY,
        replaces=_proposal_to_replace(session, policy),
        by=Actor.system("emergency"),
        now=now,
    ).pk


def _proposal_to_replace(session: Session, policy: CompactionPolicy) -> Compaction | None:
    """The proposal that waits only because it contains a possible instruction, so that it does not block a session."""
    proposal = None if policy.decision == REVIEW else plans.proposed_compaction(session)
    return proposal if proposal and applying.waits_only_for_instructions(proposal) else None


def _worked(claim: _Claim, clock: DraftingClock) -> CompactionRunResult:
    run = claim.run
    if run.attempts > COMPACTION_ATTEMPTS_MAX:
        raise DraftingError("too_many_attempts", "Too many workers died during this run.")
    for _ in range(DRAFTS_MAX):
        task = read_drafting_input(run, can_wait=claim.can_wait, deadline=claim.deadline)
        if not claim.can_wait and task.plan.plan.span_tokens > WAITING_SPAN_TOKENS_MAX:
            raise TimeIsUpError
        _step(claim, "planned", clock())
        draft = draft_summary(task, clock=clock, on_step=lambda step: _step(claim, step, clock()))
        plan = task.plan.plan
        if plan.is_summary_needed and draft.summary_tokens >= plan.tokens_replaced:
            raise DraftingError("does_not_shrink", "The summary is not shorter than the messages that it replaces.")
        try:
            return _finished(claim, task, draft, clock())
        except _ChangedError:
            continue
    raise DraftingError("busy", "The session changed repeatedly during compaction.")


def _step(claim: _Claim, step: str, now: datetime) -> None:
    """Store the step; raises if the attempt has lost its lease or exceeded its time."""
    with tenant_scope(claim.run.tenant_id):
        has_lease = claim.lease().update(step=step)
    note_step(step)
    if not has_lease:
        raise LostClaimError
    if step != LAST_STEP and now > claim.end:
        raise TimeIsUpError


def _finished(claim: _Claim, task: DraftingInput, draft: CompactionDraft, now: datetime) -> CompactionRunResult:
    tenant_id, session_id = claim.run.tenant_id, claim.run.session_id
    with tenant_scope(tenant_id):
        session: Session = Session.objects.for_tenant(tenant_id).with_id(session_id).locked().get()
        if not claim.lease().finish("done", now, step="finished"):
            raise LostClaimError
        compaction = claim.compaction()
        if compaction.state != Compaction.State.PENDING:
            raise LostClaimError
        if not plans.is_input_unchanged(task.plan, session):
            raise _ChangedError
        missing = task.missing_before
        applying.fill_compaction(compaction, session, task.plan, draft, missing_before=missing, now=now)
        try:
            applying.require_unchanged_session(compaction, session)
        except Conflict as error:
            raise _ChangedError from error
        _supersede_replaced(compaction, now)
        plans.require_no_proposal(tenant_id, session.pk)
        memory_ids: list[UUID] = []
        must_wait = draft.needs_review(task.policy.retention_floor, is_emergency=task.is_emergency)
        if must_wait or task.policy.decision == REVIEW:
            applying.propose_compaction(compaction)
        else:
            memory_ids = applying.apply_compaction(compaction, session, by=_BY, now=now, is_decided=False)
            audit_rows("apply_compaction", [compaction], by=_BY, now=now)
        note_step("applying")
    to_review = applying.warnings_to_review(compaction)
    return CompactionRunResult(compaction.state, memory_ids=tuple(memory_ids), to_review=tuple(to_review))


def _supersede_replaced(compaction: Compaction, now: datetime) -> None:
    if compaction.replaces_id is None:
        return
    rows = Compaction.objects.for_tenant(compaction.tenant_id).with_id(compaction.replaces_id)
    if not rows.in_state(Compaction.State.PROPOSED).superseded(now):
        raise Conflict("proposal_already_decided", "The proposal that this one replaces has already been decided.")


def _postponed(claim: _Claim, away: ProviderUnavailableError, now: datetime) -> CompactionRunResult:
    """Return the run to the queue; it cannot be claimed before the wait is over."""
    with tenant_scope(claim.run.tenant_id):
        claim.lease().postpone(now + away.wait, away.code)
    return CompactionRunResult(Compaction.State.PENDING, away.code, away.wait)


def _out_of_time(claim: _Claim, now: datetime) -> CompactionRunResult:
    """Enqueue a run that takes too long for a request; fail one that takes too long for a worker."""
    if claim.can_wait:
        return _failed(claim, _TIME_LIMIT, "It exceeded the worker's time limit.", now)
    with tenant_scope(claim.run.tenant_id):
        if claim.lease().return_to_queue() and claim.enqueue:
            claim.enqueue(claim.run.tenant_id, claim.run.pk)
    return CompactionRunResult(Compaction.State.PENDING, _TIME_LIMIT)


def _failed(claim: _Claim, code: str, detail: str, now: datetime) -> CompactionRunResult:
    logger.warning("compaction %s failed: %s", claim.run.compaction_id, code)
    with tenant_scope(claim.run.tenant_id):
        if not claim.lease().finish("failed", now, code=code, detail=detail):
            return CompactionRunResult()
        compaction = claim.compaction()
        if compaction.state == Compaction.State.PENDING:
            compaction.state = next_state(compaction.state, FAIL)
            compaction.error_code, compaction.error_detail, compaction.finished_at = code, detail, now
            compaction.save(update_fields=["state", "error_code", "error_detail", "finished_at"])
    return CompactionRunResult(Compaction.State.FAILED, code)
