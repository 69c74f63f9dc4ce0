"""Celery tasks of the context app. Each has retry rules and one call."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from context.evaluation import runs as evaluating
from context.evaluation.calibration import drop_killed_calibrations
from context.receipts import retention
from memories.tasks import RETRIED, send_after_commit

#: Above the slice of an evaluation that one task runs, below the broker's visibility timeout.
EVALUATION_TIME_LIMIT_SECONDS = 280
_SWEEP_TIME_LIMIT_SECONDS = 120


@shared_task(**RETRIED, max_retries=3)
def prune_receipts_task() -> int:
    """Delete the receipts that are past their tenant's retention."""
    return retention.prune_receipts_of_tenants(now=timezone.now())


@shared_task(**RETRIED, max_retries=3)
def find_unhelpful_task() -> None:
    """Find memories that are retrieved often and judged not useful."""
    retention.find_unhelpful_memories(now=timezone.now())


@shared_task(**RETRIED, max_retries=6, time_limit=EVALUATION_TIME_LIMIT_SECONDS)
def run_evaluation_task(tenant_id: str, run_id: str) -> None:
    """Run a slice of an evaluation; skip a run that another worker has, or that has to wait.

    The tenant's run that has waited longest follows, which may be the same.
    """
    owner = UUID(tenant_id)
    outcome = evaluating.run_evaluation(owner, UUID(run_id), now=timezone.now(), time_limit=evaluating.SLICE)
    if outcome.state and (run := evaluating.next_evaluation_run(owner, now=timezone.now())):
        enqueue_evaluation(owner, run.pk)


@shared_task(time_limit=_SWEEP_TIME_LIMIT_SECONDS)
def sweep_evaluations() -> int:
    """Enqueue the runs of killed workers, drop leftover tenants, and return the number of runs."""
    now = timezone.now()
    runs = evaluating.abandoned_evaluation_runs(now=now)
    for run in runs:
        enqueue_evaluation(run.tenant_id, run.pk)
    evaluating.drop_unused_stages()
    drop_killed_calibrations(now=now)
    return len(runs)


def enqueue_evaluation(tenant_id: UUID, run_id: UUID) -> None:
    """Send the run to a worker after the commit; without a broker the sweep does it."""
    send_after_commit(run_evaluation_task.delay, tenant_id, run_id)
