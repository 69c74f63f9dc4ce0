"""Celery tasks of compaction. Each has retry rules and one call."""

from uuid import UUID

from celery import Task, shared_task
from django.utils import timezone

from compaction.alerts import delivery as alerting
from compaction.alerts.orchestrator import delete_old_alerts, evaluate_alerts
from compaction.erasure import orchestrator as erasing
from compaction.erasure import retention
from compaction.models import Erasure, Run
from compaction.pipeline import orchestrator, scheduling
from compaction.rollups import rollups
from memories.tasks import RETRIED, send_after_commit
from memories.tenancy.claims import next_waiting

#: Less than the broker's visibility timeout, or slow tasks would be delivered twice.
ROLL_UP_TIME_LIMIT_SECONDS = 240
#: Below the lease of a run (pipeline/orchestrator.py), so that a lease expires only after its worker died.
COMPACTION_TIME_LIMIT_SECONDS = 240
_SWEEP_TIME_LIMIT_SECONDS = 240
#: Above the slice of an erasure that one task runs, below the broker's visibility timeout.
ERASURE_TIME_LIMIT_SECONDS = 280
#: Above the timeouts of a webhook and of a mail server.
ALERT_DELIVERY_TIME_LIMIT_SECONDS = 45


@shared_task(**RETRIED, max_retries=3, time_limit=ROLL_UP_TIME_LIMIT_SECONDS)
def roll_up_task(tenant_id: str, run_id: str) -> None:
    """Regenerate one partition's summary; a run that another worker has, or that has to wait, is skipped."""
    if rollups.run_roll_up(UUID(tenant_id), UUID(run_id), now=timezone.now()) is not None:
        _enqueue_next(UUID(tenant_id))


@shared_task(bind=True, **RETRIED, max_retries=6, time_limit=COMPACTION_TIME_LIMIT_SECONDS)
def run_compaction_task(self: "Task[[str, str], None]", tenant_id: str, run_id: str) -> None:
    """Run one compaction; one that another worker has, or that has to wait, is skipped.

    Retries later if the model is unavailable.
    """
    outcome = orchestrator.run_compaction(UUID(tenant_id), UUID(run_id), now=timezone.now(), is_in_turn=True)
    if outcome.state:
        _enqueue_next(UUID(tenant_id))
    if outcome.wait is not None:
        raise self.retry(countdown=outcome.wait.total_seconds())


@shared_task(time_limit=_SWEEP_TIME_LIMIT_SECONDS)
def sweep_sessions() -> int:
    """Enqueue compactions of idle, full sessions; returns how many."""
    opened = scheduling.open_idle_sessions(now=timezone.now())
    for tenant_id, run_id in opened:
        enqueue_compaction(tenant_id, run_id)
    return len(opened)


@shared_task(**RETRIED, max_retries=3)
def sweep_runs() -> int:
    """Enqueue abandoned runs again; returns how many."""
    runs = scheduling.abandoned_compaction_runs(now=timezone.now())
    for run in runs:
        enqueue_run(run)
    return len(runs)


@shared_task(time_limit=ROLL_UP_TIME_LIMIT_SECONDS)
def roll_up_changed_task() -> int:
    """Regenerate the summaries of changed partitions; returns how many are new."""
    return rollups.roll_up_changed_partitions(now=timezone.now())


@shared_task(**RETRIED, max_retries=6, time_limit=ERASURE_TIME_LIMIT_SECONDS)
def run_erasure_task(tenant_id: str, erasure_id: str) -> None:
    """Run a slice of an erasure; one that another worker has, or that has to wait, is skipped.

    The tenant's erasure that has waited longest follows, which may be the same.
    """
    owner = UUID(tenant_id)
    state = erasing.run_erasure(owner, UUID(erasure_id), now=timezone.now(), time_limit=erasing.SLICE)
    if state and (erasure := next_waiting(Erasure.objects.for_tenant(owner), owner, now=timezone.now())):
        enqueue_erasure(owner, erasure.pk)


@shared_task(**RETRIED, max_retries=3)
def sweep_erasures() -> int:
    """Enqueue the erasures of killed workers; returns how many."""
    erasures = erasing.abandoned_erasures(now=timezone.now())
    for erasure in erasures:
        enqueue_erasure(erasure.tenant_id, erasure.pk)
    return len(erasures)


@shared_task(**RETRIED, max_retries=3, time_limit=_SWEEP_TIME_LIMIT_SECONDS)
def erase_past_retention_task() -> int:
    """Request the erasures of retention policies, delete old dry runs; returns how many erasures."""
    now = timezone.now()
    retention.delete_past_dry_runs(now=now)
    erasures = retention.erasures_of_policies(now=now)
    for erasure in erasures:
        enqueue_erasure(erasure.tenant_id, erasure.pk)
    return len(erasures)


@shared_task(time_limit=_SWEEP_TIME_LIMIT_SECONDS)
def evaluate_alerts_task() -> int:
    """Evaluate the alert rules of every tenant and enqueue what they deliver; returns how many deliveries."""
    made = evaluate_alerts(now=timezone.now())
    for tenant_id, delivery_id in made:
        enqueue_alert_delivery(tenant_id, delivery_id)
    return len(made)


@shared_task(**RETRIED, max_retries=3, time_limit=ALERT_DELIVERY_TIME_LIMIT_SECONDS)
def deliver_alert_task(tenant_id: str, delivery_id: str) -> None:
    """Make one attempt at a delivery; one that another worker has is skipped. The sweep repeats what fails."""
    alerting.deliver(UUID(tenant_id), UUID(delivery_id), now=timezone.now())


@shared_task(**RETRIED, max_retries=3)
def sweep_alert_deliveries() -> int:
    """Enqueue the deliveries that are due, among them those of killed workers; returns how many."""
    deliveries = alerting.due_deliveries(now=timezone.now())
    for delivery in deliveries:
        enqueue_alert_delivery(delivery.tenant_id, delivery.pk)
    return len(deliveries)


@shared_task(**RETRIED, max_retries=3, time_limit=_SWEEP_TIME_LIMIT_SECONDS)
def delete_old_alerts_task() -> int:
    """Delete old alerts and deliveries; returns how many rows."""
    return delete_old_alerts(now=timezone.now())


def enqueue_alert_delivery(tenant_id: UUID, delivery_id: UUID) -> None:
    """Enqueue a delivery as `enqueue_run` does."""
    send_after_commit(deliver_alert_task.delay, tenant_id, delivery_id)


def enqueue_erasure(tenant_id: UUID, erasure_id: UUID) -> None:
    """Enqueue an erasure as `enqueue_run` does."""
    send_after_commit(run_erasure_task.delay, tenant_id, erasure_id)


def _enqueue_next(tenant_id: UUID) -> None:
    """Enqueue the run that waited because its tenant had as many running as it may."""
    if run := next_waiting(Run.objects.for_tenant(tenant_id), tenant_id, now=timezone.now()):
        enqueue_run(run)


def enqueue_run(run: Run) -> None:
    """Enqueue the run after the commit; if the broker is unreachable, the sweep does it later."""
    if run.kind == Run.Kind.COMPACTION:
        enqueue_compaction(run.tenant_id, run.pk)
    else:
        send_after_commit(roll_up_task.delay, run.tenant_id, run.pk)


def enqueue_compaction(tenant_id: UUID, run_id: UUID) -> None:
    """Enqueue a compaction as `enqueue_run` does."""
    send_after_commit(run_compaction_task.delay, tenant_id, run_id)
