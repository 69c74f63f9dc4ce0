"""Request a compaction, and retry a failed run."""

from datetime import datetime

from django.db import IntegrityError, transaction

from compaction.models import Compaction, Run, Session
from compaction.pipeline.opening import open_compaction, require_no_proposal, state_after
from compaction.pipeline.plans import plan_or_conflict
from compaction.pipeline.policies import session_policy
from compaction.pipeline.session_rows import found, lock_session
from compaction.services.pipeline.states import RETRY
from compaction.tasks import enqueue_run
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import Conflict


@transaction.atomic
def request_compaction(*, session: Session, is_enqueued: bool = True, by: Actor, now: datetime) -> Run:
    """Open a compaction of the session; a worker runs it after the commit if `is_enqueued`, else the caller.

    Raises `Conflict`: `already_running`, `waits_for_review`, `nothing_to_compact`, or `session_closed`.
    """
    current = lock_session(session.pk)
    # These two reasons come before those of a plan.
    if Run.objects.for_tenant(current.tenant_id).of_session(current.pk).open().exists():
        raise Conflict("already_running", "This session is being compacted already.")
    require_no_proposal(current.tenant_id, current.pk)
    policy = session_policy(current)
    plan_or_conflict(current, policy, is_forced=True)
    run = open_compaction(current, policy, trigger=Compaction.Trigger.MANUAL, by=by, now=now)
    if is_enqueued:
        enqueue_run(run)
    return run


@transaction.atomic
def retry_compaction_run(*, run: Run, by: Actor, now: datetime) -> Run:
    """Queue a failed run again. Raises `Conflict`: `already_decided`, `already_running`, `waits_for_review`."""
    current = found(Run.objects.for_tenant(run.tenant_id).with_id(run.pk).locked(), Run, "event")
    if current.state != Run.State.FAILED:
        raise Conflict("already_decided", f"Only failed runs can be retried; this one is {current.state}.")
    try:
        with transaction.atomic():
            _queue_again(current)
    except IntegrityError as error:
        raise Conflict("already_running", "Another run of the same kind is open.") from error
    audit_rows("retry_run", [current], by=by, now=now)
    enqueue_run(current)
    return current


def _queue_again(run: Run) -> None:
    run.state, run.attempts = Run.State.QUEUED, 0
    run.claimed_until = run.finished_at = None
    run.step = run.error_code = run.error_detail = ""
    run.save()
    if run.compaction_id is None:
        return
    compaction = Compaction.objects.for_tenant(run.tenant_id).with_id(run.compaction_id).locked().get()
    state = state_after(compaction, RETRY)
    require_no_proposal(compaction.tenant_id, compaction.session_id, but=compaction.replaces_id)
    compaction.state, compaction.finished_at = state, None
    compaction.error_code = compaction.error_detail = ""
    compaction.save()
