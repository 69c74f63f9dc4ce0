"""Erasures with their receipts, and the retention policies that request them (ADR-0130)."""

import hashlib
import uuid

from django.db import models
from django.db.models import F, Index, Q

from compaction.erasure.queries import ErasureQuerySet, RetentionPolicyQuerySet
from memories.models import Tenant
from memories.models.tenancy import check, one_of, unique

RETENTION_DAYS_MAX = 36_500
_COUNTED = "counted"


class Erasure(models.Model):
    """One erasure or its dry run. Its target is deleted when it ends; the receipt is kept, even without the tenant."""

    class Scope(models.TextChoices):
        MEMORY = "memory", "one memory"
        PARTITION = "partition", "a partition"
        TENANT = "tenant", "the whole tenant"
        AGE = "age", "memories past their retention"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    #: The row outlives its tenant.
    tenant = models.ForeignKey(
        Tenant, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    scope = models.CharField(max_length=9, choices=Scope)
    is_dry_run = models.BooleanField(default=False)
    memory_id = models.UUIDField(null=True, blank=True, help_text="Of the scope memory, until it is done.")
    partition_path = models.TextField(
        default="", blank=True, db_collation="C", help_text="Of the memory or partition, until it is done."
    )
    older_than = models.DateTimeField(null=True, blank=True, help_text="Of the scope age.")
    age_from = models.CharField(max_length=8, default="", blank=True, help_text="Of the scope age: see the policy.")
    state = models.CharField(max_length=7, choices=State, default=State.QUEUED)
    step = models.CharField(max_length=64, default="", blank=True, help_text="The kind of rows that it works on.")
    expected = models.JSONField(default=dict, blank=True, help_text="Rows to erase by kind, counted at the start.")
    counts = models.JSONField(default=dict, blank=True, help_text="Rows erased so far by kind.")
    digests = models.JSONField(default=dict, blank=True, help_text="Chained hash of their ids by kind.")
    attempts = models.PositiveSmallIntegerField(default=0)
    claimed_until = models.DateTimeField(null=True, blank=True)
    error_code = models.CharField(max_length=64, default="", blank=True)
    requested_by = models.CharField(max_length=150, default="", blank=True)
    requested_by_id = models.CharField(max_length=150, default="", blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    receipt = models.JSONField(null=True, blank=True)
    signature = models.CharField(max_length=120, default="", blank=True)
    files_cleaned_at = models.DateTimeField(
        null=True, blank=True, help_text="When the tables were rewritten, so that no data file has the texts."
    )

    objects = ErasureQuerySet.as_manager()

    class Meta:
        constraints = [
            one_of("scope", ["memory", "partition", "tenant", "age"], "erasure_scope_is_known"),
            one_of("state", ["queued", "running", "done", "failed"], "erasure_state_is_known"),
            check(
                Q(is_dry_run=True) | ~Q(state="done") | Q(receipt__isnull=False, partition_path="", memory_id=None),
                "erasure_done_has_a_receipt_and_names_nothing",
            ),
        ]
        indexes = [
            Index(F("tenant"), F("created_at").desc(), F("id"), name="erasure_newest"),
            Index(fields=["claimed_until"], condition=Q(state__in=["queued", "running"]), name="erasure_open"),
        ]

    def __str__(self) -> str:
        return f"erasure {self.id}"

    @property
    def is_open(self) -> bool:
        """Whether it is queued or running."""
        return self.state in (self.State.QUEUED, self.State.RUNNING)

    @property
    def counted_state(self) -> str:
        """The state of the memories and sessions that a dry run counted; "" if it is not known.

        A dry run erases nothing, so its `digests` contain this state instead of hashes of ids.
        """
        return str(self.digests.get(_COUNTED, ""))

    @counted_state.setter
    def counted_state(self, state: str) -> None:
        self.digests = {_COUNTED: state}

    @property
    def total(self) -> int:
        """The rows that were counted at the start."""
        return sum(self.expected.values())

    @property
    def done(self) -> int:
        """The rows erased so far."""
        return sum(self.counts.values())


class RetentionPolicy(models.Model):
    """After how many days the memories and sessions of a partition, and of all below it, are erased."""

    class From(models.TextChoices):
        CREATED = "created", "it was created"
        ARCHIVED = "archived", "it was archived or closed"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    partition_path = models.TextField(blank=True, db_collation="C", help_text="Empty is the whole tenant.")
    days = models.PositiveIntegerField()
    age_from = models.CharField(max_length=8, choices=From)
    created_by = models.CharField(max_length=150, default="", blank=True)
    created_at = models.DateTimeField()

    objects = RetentionPolicyQuerySet.as_manager()

    class Meta:
        ordering = ["partition_path"]
        constraints = [
            unique("retention_policy_is_one_of_its_partition", "tenant", "partition_path", "age_from"),
            check(Q(days__gte=1, days__lte=RETENTION_DAYS_MAX), "retention_policy_days_are_bounded"),
            one_of("age_from", ["created", "archived"], "retention_policy_age_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.days} days in {self.partition_path or '(root)'}"

    @property
    def target(self) -> str:
        """A text that identifies its partition and age, which at most one policy has."""
        return _short_hash(self.partition_path, self.age_from)

    @property
    def state(self) -> str:
        """A text that identifies its target and its values, so that a form can name the policy that it shows."""
        return f"{self.target}.{_short_hash(self.pk, self.days, self.created_by, self.created_at)}"


def _short_hash(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
