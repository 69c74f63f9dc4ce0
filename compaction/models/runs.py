"""Background work with its progress, failures and retries, and the breakers that keep it off a failing provider."""

import uuid

from django.db import models
from django.db.models import CheckConstraint, F, Index, Q, UniqueConstraint

from compaction.models.compactions import Compaction
from compaction.models.sessions import Session
from compaction.pipeline.queries import ProviderBreakerQuerySet, RunQuerySet
from memories.models import Partition, PartitionSummary, Tenant


class Run(models.Model):
    """One piece of background work, an event to agents. Its worker has a lease; after it expires another takes over."""

    class Kind(models.TextChoices):
        COMPACTION = "compaction"
        ROLL_UP = "roll_up", "roll-up"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind)
    state = models.CharField(max_length=7, choices=State, default=State.QUEUED)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, null=True, blank=True, related_name="runs")
    compaction = models.ForeignKey(Compaction, on_delete=models.CASCADE, null=True, blank=True, related_name="runs")
    partition = models.ForeignKey(Partition, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    style = models.CharField(max_length=8, choices=PartitionSummary.Style, default="", blank=True)
    step = models.CharField(max_length=32, default="", blank=True, help_text="What it is doing, or did last.")
    attempts = models.PositiveSmallIntegerField(default=0)
    claimed_until = models.DateTimeField(null=True, blank=True)
    error_code = models.CharField(max_length=64, default="", blank=True)
    error_detail = models.CharField(max_length=300, default="", blank=True)
    requested_by = models.CharField(max_length=150, default="", blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            UniqueConstraint(
                fields=["session", "tenant"],
                condition=Q(state__in=["queued", "running"], session__isnull=False),
                name="session_has_one_open_run",
            ),
            UniqueConstraint(
                fields=["partition", "style", "tenant"],
                condition=Q(state__in=["queued", "running"], partition__isnull=False),
                name="partition_has_one_open_run",
            ),
            CheckConstraint(
                condition=Q(kind="compaction", session__isnull=False, compaction__isnull=False, partition__isnull=True)
                | Q(kind="roll_up", session__isnull=True, compaction__isnull=True, partition__isnull=False),
                name="run_has_its_target",
            ),
            CheckConstraint(condition=Q(state__in=["queued", "running", "done", "failed"]), name="run_state_is_known"),
        ]
        indexes = [
            Index(F("tenant"), F("created_at").desc(), F("id"), name="run_newest"),
            Index(fields=["claimed_until"], condition=Q(state__in=["queued", "running"]), name="run_open"),
            Index(fields=["tenant", "finished_at"], condition=Q(state="failed"), name="run_failed"),
        ]

    def __str__(self) -> str:
        return f"run {self.id}"


class ProviderBreaker(models.Model):
    """How often in a row a tenant's provider failed, and until when it is left alone."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    provider = models.CharField(max_length=64)
    failures = models.PositiveSmallIntegerField(default=0)
    open_until = models.DateTimeField(null=True, blank=True)

    objects = ProviderBreakerQuerySet.as_manager()

    class Meta:
        constraints = [UniqueConstraint(fields=["tenant", "provider"], name="breaker_is_one_row")]

    def __str__(self) -> str:
        return f"breaker of {self.provider}"
