"""Request a compaction, and retry a failed run."""

from datetime import datetime

from django.db import IntegrityError, transaction

from compaction.models import Compaction, Run, Session
from compaction.pipeline.opening import open_compaction, refuse_unless_allowed, require_no_proposal
from compaction.pipeline.plans import plan_or_conflict
from compaction.pipeline.policies import session_policy
from compaction.pipeline.session_rows import lock_session
from compaction.services.pipeline import states
from compaction.tasks import enqueue_compaction, enqueue_roll_up
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict, NotFound


@transaction.atomic
def request_compaction(*, session: Session, is_enqueued: bool = True, by: Actor, now: datetime) -> Run:
    """Open a compaction of the session; a worker runs it after the commit if `is_enqueued`, else the caller.

    Raises `Conflict`: `already_running`, `waits_for_review`, `nothing_to_compact`, or `session_closed`.
    """
    current = lock_session(session.pk)
    policy = session_policy(current)
    _refuse_open(current)
    plan_or_conflict(current, policy, is_forced=True)
    run = open_compaction(current, policy, trigger=Compaction.Trigger.MANUAL, by=by, now=now)
    if is_enqueued:
        enqueue_compaction(run.tenant_id, run.pk)
    return run


@transaction.atomic
def retry_compaction_run(*, run: Run, by: Actor, now: datetime) -> Run:
    """Queue a failed run again. Raises `Conflict`: `already_decided`, `already_running`, `waits_for_review`."""
    current: Run | None = Run.objects.for_tenant(run.tenant_id).with_id(run.pk).locked().first()
    if current is None:
        raise NotFound("not_found", "There is no such event.")
    if current.state != Run.State.FAILED:
        raise Conflict("already_decided", f"Only failed runs can be retried; this one is {current.state}.")
    try:
        with transaction.atomic():
            _queue_again(current)
    except IntegrityError as error:
        raise Conflict("already_running", "Another run of the same kind is open.") from error
    record_audit(
        tenant_id=current.tenant_id, by=by, verb="retry_run", target_kind="run", target_ids=[current.pk], now=now
    )
    send = enqueue_compaction if current.kind == Run.Kind.COMPACTION else enqueue_roll_up
    send(current.tenant_id, current.pk)
    return current


def _queue_again(run: Run) -> None:
    run.state, run.claimed_until, run.attempts, run.step = Run.State.QUEUED, None, 0, ""
    run.error_code = run.error_detail = ""
    run.finished_at = None
    run.save()
    if run.compaction_id is None:
        return
    compaction = Compaction.objects.for_tenant(run.tenant_id).with_id(run.compaction_id).locked().get()
    refuse_unless_allowed(compaction, states.RETRY)
    require_no_proposal(compaction.tenant_id, compaction.session_id, but=compaction.replaces_id)
    compaction.state = states.next_state(compaction.state, states.RETRY)
    compaction.error_code = compaction.error_detail = ""
    compaction.finished_at = None
    compaction.save()


def _refuse_open(session: Session) -> None:
    """Raise `Conflict` while a run is open or a proposal waits: these reasons come before those of a plan."""
    if Run.objects.for_tenant(session.tenant_id).of_session(session.pk).open().exists():
        raise Conflict("already_running", "This session is being compacted already.")
    require_no_proposal(session.tenant_id, session.pk)
