"""Background work of this room: how often to try, and one call each."""

import logging
from collections.abc import Callable
from functools import partial
from uuid import UUID

from celery import shared_task
from django.db import OperationalError, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from context.evaluation import runs as evaluating
from context.evaluation.calibration import drop_killed_calibrations
from context.models import EvaluationRun
from context.receipts import retention

logger = logging.getLogger(__name__)

#: Above the slice that one task works (evaluating.py), below the broker's visibility timeout.
EVALUATION_TIME_LIMIT_SECONDS = 280
_SWEEP_TIME_LIMIT_SECONDS = 120


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, retry_jitter=True, max_retries=3)
def prune_receipts_task() -> int:
    """Delete the receipts that are past what their tenant keeps."""
    return retention.prune_receipts_of_tenants(now=timezone.now())


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, retry_jitter=True, max_retries=3)
def find_unhelpful_task() -> None:
    """Look for memories that are shown often and of no use."""
    retention.find_unhelpful_memories(now=timezone.now())


@shared_task(
    autoretry_for=(OperationalError,),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=6,
    time_limit=EVALUATION_TIME_LIMIT_SECONDS,
)
def run_evaluation_task(tenant_id: str, run_id: str) -> None:
    """Do a slice of an evaluation and hand the rest to the next task; a run that somebody else has is passed over."""
    outcome = evaluating.run_evaluation(UUID(tenant_id), UUID(run_id), now=timezone.now(), time_limit=evaluating.SLICE)
    if outcome.state == EvaluationRun.State.QUEUED:
        enqueue_evaluation(UUID(tenant_id), UUID(run_id))


@shared_task(time_limit=_SWEEP_TIME_LIMIT_SECONDS)
def sweep_evaluations() -> int:
    """Take up what a killed worker left behind, and drop what nobody needs any more; how many runs were taken up."""
    now = timezone.now()
    runs = evaluating.abandoned_evaluation_runs(now=now)
    for run in runs:
        enqueue_evaluation(run.tenant_id, run.pk)
    evaluating.drop_unused_stages()
    drop_killed_calibrations(now=now)
    return len(runs)


def enqueue_evaluation(tenant_id: UUID, run_id: UUID) -> None:
    """After the commit, hand the run to a worker; a broker that is away leaves it to the sweep."""
    transaction.on_commit(partial(_send, partial(run_evaluation_task.delay, str(tenant_id), str(run_id))))


def _send(send: Callable[[], object]) -> None:
    try:
        send()
    except (BrokerError, OSError) as error:
        logger.warning("The broker is away, an evaluation waits for the sweep: %s", type(error).__name__)
