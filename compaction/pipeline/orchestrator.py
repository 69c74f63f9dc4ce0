"""The conductor of compaction: claim -> plan -> draft -> propose or apply (ADR-0071).

Planning and drafting write nothing, so that a worker may be killed at any step; everything is written in one
transaction at the end, by whoever still holds the run then. Called with no scope open.
"""

import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import OperationalError

from compaction.models import Compaction, Run, Session
from compaction.pipeline.applying import (
    apply_compaction,
    fill_compaction,
    propose_compaction,
    require_unchanged_session,
)
from compaction.pipeline.drafting import CompactionDraft, ProviderUnavailableError, draft_summary
from compaction.pipeline.drafting_input import DraftingClock, DraftingError, DraftingInput, read_drafting_input
from compaction.pipeline.opening import open_compaction, plan_or_conflict, require_no_proposal
from compaction.pipeline.plans import SessionPlan
from compaction.services.pipeline.states import FAIL, next_state
from context.receipts.results import ContextWarning
from context.services.profiles.compaction_policy import REVIEW, CompactionPolicy
from memories.embeddings.indexer import index_now
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, PlatformError
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)

#: Longer than a task may run (tasks.py), so that only a dead worker's claim lapses.
COMPACTION_LEASE = timedelta(minutes=5)
#: What the model gets of a task's time.
RUN_TIME_LIMIT = timedelta(minutes=3)
#: ... of a request that waits for the end.
WAITING_TIME_LIMIT = timedelta(seconds=25)
EMERGENCY_TIME_LIMIT = timedelta(seconds=8)
#: The longest span that is summarised while somebody waits for it; longer ones are a worker's.
WAITING_SPAN_TOKENS_MAX = 80_000
#: Workers that may die over a run before it is given up.
COMPACTION_ATTEMPTS_MAX = 10
#: How often messages may change under one attempt.
DRAFTS_MAX = 3
#: With this a draft is done: to keep it takes no time to speak of.
LAST_STEP = "checked"
_TIME_LIMIT = "time_limit"
_BY = Actor.system("compaction")

#: Has a worker do the run of that tenant after the commit.
HandOver = Callable[[UUID, UUID], None]


@dataclass(frozen=True)
class CompactionRunResult:
    """What came of a run: the compaction's state, or "" where somebody else has the run.

    `wait` is set where the provider is to be asked again after it.
    """

    state: str = ""
    code: str = ""
    wait: timedelta | None = None
    memory_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True)
class _Claim:
    """A run that is ours until then. `may_wait`: the provider may be asked again later, by another attempt."""

    tenant_id: UUID
    run_id: UUID
    compaction_id: UUID
    until: datetime
    attempt: int
    deadline: datetime
    may_wait: bool
    hand_over: HandOver | None


class _TimeIsUpError(Exception):
    """It takes longer than whoever does it may."""


class _LostClaimError(Exception):
    """Somebody took the run over: nothing of this attempt may be kept."""


class _ChangedError(Exception):
    """The messages are no longer those that were drafted from."""


def note_step(step: str) -> None:
    """Called at each step."""
    logger.debug("compaction: %s", step)


def run_compaction(
    tenant_id: UUID,
    run_id: UUID,
    *,
    now: datetime,
    time_limit: timedelta = RUN_TIME_LIMIT,
    may_wait: bool = True,
    hand_over: HandOver | None = None,
) -> CompactionRunResult:
    """Do a queued or abandoned run; does nothing where somebody else has it.

    Unless it `may_wait`, somebody waits for it: what takes longer than `time_limit` is given back and handed over. A
    worker gives a run up that takes longer than its claim lasts.
    """
    clock = clock_from(now)
    claim = _claimed(tenant_id, run_id, now, time_limit, may_wait, hand_over)
    if claim is None:
        return CompactionRunResult()
    note_step("claimed")
    try:
        outcome = _worked(claim, clock)
    except _LostClaimError:
        return CompactionRunResult()
    except ProviderUnavailableError as away:
        return _put_off(claim, away, clock())
    except DraftingError as error:
        return _failed(claim, error.code, error.detail, clock())
    except PlatformError as error:
        return _failed(claim, error.code, "The result could not be kept.", clock())
    except _TimeIsUpError:
        return _out_of_time(claim, clock())
    except OperationalError:
        raise  # the database is away: the run is taken up again once the claim lapses
    except Exception as error:  # noqa: BLE001 - a run ends in a defined state, and whoever waits gets an answer
        # its message may quote what people said
        place = traceback.extract_tb(error.__traceback__)[-1]
        logger.error("%s in %s:%s", type(error).__name__, place.filename, place.lineno)
        return _failed(claim, "internal_error", "It broke in a way that nobody foresaw.", clock())
    index_now(tenant_id, outcome.memory_ids)
    note_step("done")
    return outcome


def compact_in_emergency(
    session: Session, policy: CompactionPolicy, now: datetime, *, hand_over: HandOver | None = None
) -> list[ContextWarning]:
    """Compact at once, within eight seconds, while a context is being asked for; a notice says what did not work.

    What a worker is at already, or what takes longer, is left to a worker: the caller trims then. So it is after any
    failure.
    """
    try:
        with tenant_scope(session.tenant_id):
            run_id = _run_to_take(session, policy, now)
    except Conflict as error:
        return [_not_compacted(error.code, error.detail)]
    outcome = run_compaction(
        session.tenant_id,
        run_id,
        now=now,
        time_limit=EMERGENCY_TIME_LIMIT,
        may_wait=False,
        hand_over=hand_over,
    )
    if outcome.state == Compaction.State.APPLIED:
        return [
            ContextWarning("compacted_in_emergency", "The session was nearly full and was compacted for this context.")
        ]
    if outcome.state == Compaction.State.PROPOSED:
        return [_not_compacted("waits_for_review", "A compaction was made and waits for review.")]
    return [_not_compacted(outcome.code or "already_running", "The session could not be compacted.")]


def clock_from(now: datetime) -> DraftingClock:
    """A clock that says `now` now and goes on from there."""
    started = time.monotonic()
    return lambda: now + timedelta(seconds=time.monotonic() - started)


def _not_compacted(code: str, detail: str) -> ContextWarning:
    logger.warning("emergency compaction did not help: %s", code)
    return ContextWarning("not_compacted", f"{detail} The context was cut to what fits ({code}).")


def _run_to_take(session: Session, policy: CompactionPolicy, now: datetime) -> UUID:
    """The session's run that waits for a worker, else a new one. Raises `Conflict`."""
    waiting: Run | None = Run.objects.for_tenant(session.tenant_id).of_session(session.pk).abandoned(now).first()
    if waiting is not None:
        return waiting.pk
    plan_or_conflict(session, policy, is_forced=False)
    trigger = Compaction.Trigger.EMERGENCY
    return open_compaction(session, policy, trigger=trigger, by=Actor.system("emergency"), now=now).pk


def _claimed(
    tenant_id: UUID, run_id: UUID, now: datetime, time_limit: timedelta, may_wait: bool, hand_over: HandOver | None
) -> _Claim | None:
    until = now + COMPACTION_LEASE
    with tenant_scope(tenant_id):
        rows = Run.objects.for_tenant(tenant_id).of_kind(Run.Kind.COMPACTION)
        if not rows.claim(run_id, now=now, until=until):
            return None
        run: Run = rows.get(pk=run_id)
        if run.compaction_id is None:
            return None
        deadline = now + time_limit
        return _Claim(tenant_id, run_id, run.compaction_id, until, run.attempts, deadline, may_wait, hand_over)


def _worked(claim: _Claim, clock: DraftingClock) -> CompactionRunResult:
    """Plan, draft and finish, anew where messages changed meanwhile."""
    if claim.attempt > COMPACTION_ATTEMPTS_MAX:
        raise DraftingError("too_many_attempts", "Workers died over this again and again.")
    for _ in range(DRAFTS_MAX):
        task = read_drafting_input(
            claim.tenant_id,
            claim.compaction_id,
            attempt=claim.attempt,
            may_wait=claim.may_wait,
            deadline=claim.deadline,
        )
        if not claim.may_wait and task.plan.plan.span_tokens > WAITING_SPAN_TOKENS_MAX:
            raise _TimeIsUpError
        _step(claim, "planned", clock())
        draft = draft_summary(task, clock=clock, reached=lambda step: _step(claim, step, clock()))
        _check_shrinks(task.plan, draft)
        try:
            return _finished(claim, task, draft, clock())
        except _ChangedError:
            continue
    raise DraftingError("busy", "The session kept changing while it was compacted.")


def _compaction(claim: _Claim) -> Compaction:
    rows = Compaction.objects.for_tenant(claim.tenant_id).with_id(claim.compaction_id)
    compaction: Compaction = rows.with_sessions().get()
    return compaction


def _step(claim: _Claim, step: str, now: datetime) -> None:
    """Show how far it is; an attempt that has lost its run or its time ends here."""
    with tenant_scope(claim.tenant_id):
        is_held = Run.objects.for_tenant(claim.tenant_id).held(claim.run_id, claim.until).update(step=step)
    note_step(step)
    if not is_held:
        raise _LostClaimError
    if step != LAST_STEP and now > (claim.until if claim.may_wait else claim.deadline):
        raise _TimeIsUpError


def _check_shrinks(plan: SessionPlan, draft: CompactionDraft) -> None:
    """A summary takes less than what it stands for: the span and the summary before."""
    if not plan.span:
        return
    replaced = plan.plan.tokens_after_masking - plan.plan.tokens_after_at_most + plan.plan.summary_budget_tokens
    if draft.summary_tokens >= replaced:
        raise DraftingError("does_not_shrink", "The summary takes no less than the messages it stands for.")


def _finished(claim: _Claim, task: DraftingInput, draft: CompactionDraft, now: datetime) -> CompactionRunResult:
    """Write all of it, if the run is still ours and the messages are as they were."""
    with tenant_scope(claim.tenant_id):
        session: Session = Session.objects.for_tenant(claim.tenant_id).with_id(_session_id(claim)).locked().get()
        held = Run.objects.for_tenant(claim.tenant_id).held(claim.run_id, claim.until)
        if not held.finished("finished", now):
            raise _LostClaimError
        compaction = _compaction(claim)
        if compaction.state != Compaction.State.PENDING:
            raise _LostClaimError
        if session.current != task.plan.current:
            raise _ChangedError
        fill_compaction(compaction, session, task.plan, draft, now=now)
        try:
            require_unchanged_session(compaction, session)
        except Conflict as error:
            raise _ChangedError from error
        _supersede_replaced(compaction, now)
        require_no_proposal(compaction.tenant_id, compaction.session_id)
        memory_ids: list[UUID] = []
        if _needs_review(task, draft):
            propose_compaction(compaction)
        else:
            memory_ids = apply_compaction(compaction, session, by=_BY, now=now, is_decided=False)
        note_step("applying")
    return CompactionRunResult(compaction.state, memory_ids=tuple(memory_ids))


def _session_id(claim: _Claim) -> UUID:
    return Compaction.objects.for_tenant(claim.tenant_id).with_id(claim.compaction_id).session_ids()[0]


def _needs_review(task: DraftingInput, draft: CompactionDraft) -> bool:
    if not task.plan.span:
        return task.policy.decision == REVIEW
    return task.policy.decision == REVIEW or draft.retention.share < task.policy.retention_floor


def _supersede_replaced(compaction: Compaction, now: datetime) -> None:
    """The proposal that this one was asked for instead of goes, unless somebody decided about it meanwhile."""
    replaced = compaction.replaces
    if replaced is None:
        return
    rows = Compaction.objects.for_tenant(compaction.tenant_id).with_id(replaced.pk)
    if not rows.in_state(Compaction.State.PROPOSED).superseded(now):
        raise Conflict("overtaken", "The proposal that this was to replace has been decided about.")


def _put_off(claim: _Claim, away: ProviderUnavailableError, now: datetime) -> CompactionRunResult:
    """Give the run back, to be taken again after the wait and not before."""
    with tenant_scope(claim.tenant_id):
        held = Run.objects.for_tenant(claim.tenant_id).held(claim.run_id, claim.until)
        held.put_off(now + away.wait, away.code)
    return CompactionRunResult(Compaction.State.PENDING, away.code, away.wait)


def _out_of_time(claim: _Claim, now: datetime) -> CompactionRunResult:
    """Have a worker do what takes too long to wait for; what takes too long for a worker has failed."""
    if claim.may_wait:
        return _failed(claim, _TIME_LIMIT, "It took longer than a worker may take.", now)
    with tenant_scope(claim.tenant_id):
        held = Run.objects.for_tenant(claim.tenant_id).held(claim.run_id, claim.until)
        if held.given_back() and claim.hand_over:
            claim.hand_over(claim.tenant_id, claim.run_id)
    return CompactionRunResult(Compaction.State.PENDING, _TIME_LIMIT)


def _failed(claim: _Claim, code: str, detail: str, now: datetime) -> CompactionRunResult:
    """Note why; the session is as it was."""
    logger.warning("compaction %s failed: %s", claim.compaction_id, code)
    with tenant_scope(claim.tenant_id):
        held = Run.objects.for_tenant(claim.tenant_id).held(claim.run_id, claim.until)
        if not held.failed(code, detail, now):
            return CompactionRunResult()
        compaction = _compaction(claim)
        if compaction.state == Compaction.State.PENDING:
            compaction.state = next_state(compaction.state, FAIL)
            compaction.error_code, compaction.error_detail = code, detail
            compaction.finished_at = now
            compaction.save(update_fields=["state", "error_code", "error_detail", "finished_at"])
    return CompactionRunResult(Compaction.State.FAILED, code)
