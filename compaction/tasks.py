"""Background work of this room: how often to try, and one call each."""

import logging
from collections.abc import Callable
from functools import partial
from uuid import UUID

from celery import Task, shared_task
from django.db import OperationalError, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from compaction.models import Run
from compaction.pipeline import orchestrator, scheduling
from compaction.rollups import rollups

logger = logging.getLogger(__name__)

#: Below the broker's visibility timeout, or slow work would be delivered twice.
ROLL_UP_TIME_LIMIT_SECONDS = 240
#: Below the lease of a run (compactor.py), so that a claim lapses only once its worker is gone.
COMPACTION_TIME_LIMIT_SECONDS = 240
_SWEEP_TIME_LIMIT_SECONDS = 240


@shared_task(
    autoretry_for=(OperationalError,),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=3,
    time_limit=ROLL_UP_TIME_LIMIT_SECONDS,
)
def roll_up_task(tenant_id: str, run_id: str) -> None:
    """Make one partition's summary anew; a run that somebody else has is passed over."""
    rollups.run_roll_up(UUID(tenant_id), UUID(run_id), now=timezone.now())


@shared_task(
    bind=True,
    autoretry_for=(OperationalError,),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=6,
    time_limit=COMPACTION_TIME_LIMIT_SECONDS,
)
def run_compaction_task(self: Task, tenant_id: str, run_id: str) -> None:
    """Do one compaction; a run that somebody else has is passed over. Where the model is away, again after a while."""
    outcome = orchestrator.run_compaction(UUID(tenant_id), UUID(run_id), now=timezone.now())
    if outcome.wait is not None:
        raise self.retry(countdown=outcome.wait.total_seconds())


@shared_task(time_limit=_SWEEP_TIME_LIMIT_SECONDS)
def sweep_sessions() -> int:
    """Have the sessions compacted that lie idle and are full; how many there were."""
    opened = scheduling.open_idle_sessions(now=timezone.now())
    for tenant_id, run_id in opened:
        enqueue_compaction(tenant_id, run_id)
    return len(opened)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, retry_jitter=True, max_retries=3)
def sweep_runs() -> int:
    """Take up again what a killed worker or a broker that was away left behind; how many runs there were."""
    runs = scheduling.abandoned_compaction_runs(now=timezone.now())
    for run in runs:
        send = enqueue_compaction if run.kind == Run.Kind.COMPACTION else enqueue_roll_up
        send(run.tenant_id, run.pk)
    return len(runs)


@shared_task(time_limit=ROLL_UP_TIME_LIMIT_SECONDS)
def roll_up_changed_task() -> int:
    """Make the summaries anew under which something changed."""
    return rollups.roll_up_changed_partitions(now=timezone.now())


def enqueue_compaction(tenant_id: UUID, run_id: UUID) -> None:
    """After the commit, hand the run to a worker; a broker that is away leaves it to the sweep."""
    transaction.on_commit(partial(_send, partial(run_compaction_task.delay, str(tenant_id), str(run_id))))


def enqueue_roll_up(tenant_id: UUID, run_id: UUID) -> None:
    """After the commit, hand the run to a worker; a broker that is away leaves it to the sweep."""
    transaction.on_commit(partial(_send, partial(roll_up_task.delay, str(tenant_id), str(run_id))))


def _send(send: Callable[[], object]) -> None:
    try:
        send()
    except (BrokerError, OSError) as error:
        logger.warning("The broker is away, a run waits for the sweep: %s", type(error).__name__)
