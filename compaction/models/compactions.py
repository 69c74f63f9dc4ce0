"""Compactions, their prompts and runs: what was masked and summarised, how well facts were kept, and who decided."""

import uuid
from datetime import datetime

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Index, Q

from compaction.models.sessions import MODEL_CHARACTERS_MAX, Message, Session
from compaction.pipeline.queries import (
    SETTLED_AT,
    UNREVIEWED_INSTRUCTION,
    UNREVIEWED_LOSS,
    CompactionMemberQuerySet,
    CompactionPromptQuerySet,
    CompactionQuerySet,
    ProviderBreakerQuerySet,
    RunQuerySet,
)
from memories.models import Partition, PartitionSummary, Tenant
from memories.models.tenancy import check, one_of, unique

PROMPT_CHARACTERS_MAX = 16_000


class Compaction(models.Model):
    """A compaction of a session, from request to roll-back (ADR-0071). Its JSON fields cite messages by id."""

    class Trigger(models.TextChoices):
        SCHEDULED = "scheduled", "scheduled: the session was idle"
        EMERGENCY = "emergency", "emergency: a context was requested"
        MANUAL = "manual"
        REGENERATE = "regenerate", "regenerated in review"

    class State(models.TextChoices):
        PENDING = "pending"
        PROPOSED = "proposed", "proposed: waits for review"
        APPLIED = "applied"
        REJECTED = "rejected"
        ROLLED_BACK = "rolled_back", "rolled back"
        FAILED = "failed"
        SUPERSEDED = "superseded"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="compactions")
    trigger = models.CharField(max_length=10, choices=Trigger)
    state = models.CharField(max_length=11, choices=State, default=State.PENDING)
    generation = models.PositiveSmallIntegerField(
        default=0, help_text="How many times in succession the summary was made from an earlier one."
    )
    policy = models.JSONField(help_text="The policy that applied when it was created.")
    summariser = models.CharField(max_length=32, default="", blank=True)
    is_fallback = models.BooleanField(default=False, help_text="The model failed, so the text was made without it.")
    model = models.CharField(max_length=MODEL_CHARACTERS_MAX, default="", blank=True)
    prompt_version = models.PositiveIntegerField(default=0, help_text="0: made without a prompt.")
    first_sequence = models.PositiveIntegerField(null=True, blank=True)
    last_sequence = models.PositiveIntegerField(null=True, blank=True)
    tokens_before = models.PositiveIntegerField(default=0, help_text="Of the session's context.")
    tokens_after = models.PositiveIntegerField(default=0, help_text="Of the session's context.")
    original_token_count = models.PositiveIntegerField(default=0, help_text="Of the messages that were summarised.")
    summary_token_count = models.PositiveIntegerField(default=0)
    summary_budget_tokens = models.PositiveIntegerField(default=0, help_text="0: made before budgets were stored.")
    compacted_count = models.PositiveIntegerField(default=0, help_text="Messages that the summary replaces.")
    masked_count = models.PositiveIntegerField(default=0)
    summary_text = models.TextField(default="", blank=True, help_text="Empty where masking was enough.")
    statements = models.JSONField(default=list, blank=True, encoder=DjangoJSONEncoder)
    candidates = models.JSONField(
        default=list, blank=True, encoder=DjangoJSONEncoder, help_text="The next-best statements, best first."
    )
    journal = models.JSONField(default=list, blank=True, encoder=DjangoJSONEncoder)
    retention = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)
    has_lost_constraint = models.BooleanField(
        default=False, help_text="A constraint is missing that the previous summary did not lose."
    )
    has_possible_instruction = models.BooleanField(
        db_default=False, default=False, help_text="A new statement or fact may instruct the assistant."
    )
    is_edited = models.BooleanField(default=False)
    edit_version = models.PositiveIntegerField(default=0, help_text="Increases with every change to a proposal.")
    error_code = models.CharField(max_length=64, default="", blank=True)
    error_detail = models.CharField(max_length=300, default="", blank=True)
    warnings = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True, help_text="When it was proposed, applied or failed.")
    compacted_at = models.DateTimeField(null=True, blank=True, help_text="When it was applied.")
    requested_by = models.CharField(max_length=150, default="", blank=True)
    decided_by = models.CharField(max_length=150, default="", blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_reason = models.CharField(max_length=500, default="", blank=True)
    replaces = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="replacements")
    previous = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The session's current compaction before this one was applied.",
    )

    objects = CompactionQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("session_has_one_pending_compaction", "session", "tenant", condition=Q(state="pending")),
            unique("session_has_one_proposed_compaction", "session", "tenant", condition=Q(state="proposed")),
            one_of(
                "state",
                ["pending", "proposed", "applied", "rejected", "rolled_back", "failed", "superseded"],
                "compaction_state_is_known",
            ),
            check(
                ~Q(state__in=["applied", "rolled_back"]) | Q(compacted_at__isnull=False), "compaction_applied_says_when"
            ),
            check(~Q(state="applied") | Q(tokens_after__lte=F("tokens_before")), "compaction_applied_does_not_grow"),
        ]
        indexes = [
            Index(F("tenant"), F("created_at").desc(), F("id"), name="compaction_newest"),
            Index(F("tenant"), SETTLED_AT.desc(), F("id"), name="compaction_last_settled"),
            Index(fields=["tenant", "state"], name="compaction_by_state"),
            Index(fields=["tenant"], condition=UNREVIEWED_LOSS, name="compaction_unreviewed_loss"),
            Index(fields=["tenant"], condition=UNREVIEWED_INSTRUCTION, name="compaction_unreviewed_instr"),
        ]

    def __str__(self) -> str:
        return f"compaction {self.id}"

    @property
    def decision(self) -> str:
        """The decision of a person: `reviewed` if it was applied before, else its state."""
        is_later = self.decided_at is not None and self.compacted_at is not None and self.compacted_at < self.decided_at
        return "reviewed" if is_later and self.state == self.State.APPLIED else self.state

    @property
    def is_approved(self) -> bool:
        """Whether it was applied because a person approved it."""
        return self.decision == self.State.APPLIED and bool(self.decided_by)

    @property
    def settled_at(self) -> datetime:
        """When a person decided on it; without a decision, when it finished or failed."""
        return self.decided_at or self.finished_at or self.created_at


class CompactionMember(models.Model):
    """What a compaction did (or proposes to do) to one message, and the state that a roll-back restores."""

    class Act(models.TextChoices):
        MASKED = "masked"
        COMPACTED = "compacted"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    compaction = models.ForeignKey(Compaction, on_delete=models.CASCADE, related_name="members", db_index=False)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    act = models.CharField(max_length=9, choices=Act)
    previous_state = models.CharField(max_length=9, choices=Message.State)

    objects = CompactionMemberQuerySet.as_manager()

    class Meta:
        constraints = [unique("compaction_member_is_one_row", "compaction", "message", "tenant")]

    def __str__(self) -> str:
        return f"{self.act} {self.message_id}"


class CompactionPrompt(models.Model):
    """One version of a tenant's own prompt; the active one has no `recorded_to`. Version 1 is built in."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    version = models.PositiveIntegerField()
    text = models.TextField()
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=150, default="", blank=True)
    rolled_back_to = models.PositiveIntegerField(
        null=True, blank=True, help_text="The version whose text it reactivated."
    )

    objects = CompactionPromptQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("prompt_version_is_unique", "tenant", "version"),
            unique("prompt_has_one_current_version", "tenant", condition=Q(recorded_to__isnull=True)),
            check(Q(version__gte=2), "prompt_version_1_is_code"),
            check(Q(text__regex=r"\S"), "prompt_is_not_blank"),
        ]

    def __str__(self) -> str:
        return f"prompt version {self.version}"


class Run(models.Model):
    """One piece of background work, called an event for agents. If its worker's lease expires, another takes over."""

    class Kind(models.TextChoices):
        COMPACTION = "compaction"
        ROLL_UP = "roll_up", "roll-up"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
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
            unique(
                "session_has_one_open_run",
                "session",
                "tenant",
                condition=Q(state__in=["queued", "running"], session__isnull=False),
            ),
            unique(
                "partition_has_one_open_run",
                "partition",
                "style",
                "tenant",
                condition=Q(state__in=["queued", "running"], partition__isnull=False),
            ),
            check(
                Q(kind="compaction", session__isnull=False, compaction__isnull=False, partition__isnull=True)
                | Q(kind="roll_up", session__isnull=True, compaction__isnull=True, partition__isnull=False),
                "run_has_its_target",
            ),
            one_of("state", ["queued", "running", "done", "failed"], "run_state_is_known"),
        ]
        indexes = [
            Index(F("tenant"), F("created_at").desc(), F("id"), name="run_newest"),
            Index(fields=["claimed_until"], condition=Q(state__in=["queued", "running"]), name="run_open"),
            Index(fields=["tenant", "finished_at"], condition=Q(state="failed"), name="run_failed"),
        ]

    def __str__(self) -> str:
        return f"run {self.id}"


class ProviderBreaker(models.Model):
    """How often in a row a tenant's provider failed, and until when it is not called."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    provider = models.CharField(max_length=64)
    failures = models.PositiveSmallIntegerField(default=0)
    open_until = models.DateTimeField(null=True, blank=True)

    objects = ProviderBreakerQuerySet.as_manager()

    class Meta:
        constraints = [unique("breaker_is_one_row", "tenant", "provider")]

    def __str__(self) -> str:
        return f"breaker of {self.provider}"
