"""Receipts and feedback: the record of a context, and the votes on its memories."""

import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Func, Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from context.feedback.queries import FeedbackQuerySet
from context.receipts.queries import ReceiptQuerySet
from context.workbench.queries import LongQueryQuerySet
from memories.models import ApiKey, Memory, Tenant
from memories.models.tenancy import check, unique


def _copied(key: str, column: str, of: "models.Field[Any, Any]") -> models.GeneratedField:
    """Return a column that copies a number of a JSON column, so that one index contains a chart's data (ADR-0086)."""
    return models.GeneratedField(
        expression=Cast(KeyTextTransform(key, column), of), output_field=of, db_persist=True, null=True
    )


def _counted(column: str) -> models.GeneratedField:
    """Return a column with the length of a JSON list, so that figures need not read the list (ADR-0141)."""
    length = Func(F(column), function="jsonb_array_length", output_field=models.IntegerField())
    return models.GeneratedField(expression=length, output_field=models.IntegerField(), db_persist=True)


class Receipt(models.Model):
    """The stored record of one context: inputs, inclusions, exclusions and reasons. Texts are read by anchor."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="receipts", db_index=False)
    api_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    query = models.TextField(default="", blank=True)
    partition_path = models.TextField(default="", blank=True, db_collation="C")
    request = models.JSONField(encoder=DjangoJSONEncoder, help_text="The inputs after defaults were filled in.")
    profile = models.JSONField(help_text="Name and version of the scoring profile.")
    budget_profile = models.JSONField(help_text="Name and version of the budget profile.")
    budget = models.JSONField()
    tokens_used = models.PositiveIntegerField()
    blocks = models.JSONField(encoder=DjangoJSONEncoder, help_text="Anchors, tokens, places and score parts; no text.")
    omitted = models.JSONField(encoder=DjangoJSONEncoder)
    candidates = models.JSONField(encoder=DjangoJSONEncoder, help_text="Every candidate's score parts; no text.")
    plan = models.JSONField(encoder=DjangoJSONEncoder)
    warnings = models.JSONField(default=list)
    timings = models.JSONField(default=dict)
    text_sha256 = models.CharField(max_length=64)
    nonce_counter = models.PositiveIntegerField(default=0)
    as_of = models.DateTimeField(null=True, blank=True, help_text="The valid time that was read; empty is now.")
    stable_prefix_tokens = models.PositiveIntegerField(null=True, blank=True)
    memory_ids = ArrayField(
        models.UUIDField(), default=list, help_text="The memories included in its text, each listed once."
    )
    max_tokens = _copied("max_tokens", "budget", models.IntegerField())
    latency_ms = _copied("total", "timings", models.FloatField())
    included_count = _counted("blocks")
    excluded_count = _counted("omitted")

    objects = ReceiptQuerySet.as_manager()

    class Meta:
        constraints = [check(Q(tokens_used__gte=0), "receipt_tokens_are_not_negative")]
        indexes = [
            models.Index(F("tenant"), F("created_at").desc(), F("id"), name="receipt_newest"),
            models.Index(
                fields=["tenant", "created_at"],
                include=["latency_ms", "tokens_used", "max_tokens"],
                name="receipt_figures",
            ),
        ]

    def __str__(self) -> str:
        return f"receipt {self.id}"


class LongQuery(models.Model):
    """A query that an operator entered and that is too long for a URL; the id is derived from the text."""

    id = models.UUIDField(primary_key=True, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    text = models.TextField()
    created_at = models.DateTimeField()

    objects = LongQueryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "long queries"
        constraints = [check(~Q(text=""), "long_query_has_words")]

    def __str__(self) -> str:
        return f"long query {self.id}"


class Feedback(models.Model):
    """One vote on a memory. A withdrawn vote stays, so that the history shows it."""

    class Kind(models.TextChoices):
        EXPLICIT = "explicit"
        IMPLICIT = "implicit"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="feedback")
    receipt = models.ForeignKey(
        Receipt, on_delete=models.SET_NULL, null=True, blank=True, related_name="feedback", db_index=False
    )
    kind = models.CharField(max_length=8, choices=Kind)
    weight = models.FloatField(help_text="+1, -1 or -3 as given; +0.25 where an answer used the memory.")
    reason = models.CharField(max_length=500, default="", blank=True)
    at = models.DateTimeField()
    on_day = models.DateField(
        help_text="The UTC day of `at`: at most one explicit vote per actor and one implicit vote."
    )
    actor_kind = models.CharField(max_length=8)
    actor_id = models.CharField(max_length=150, default="", blank=True)
    actor_label = models.CharField(max_length=150, default="", blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.CharField(max_length=150, default="", blank=True)
    score_before = models.FloatField(
        null=True,
        blank=True,
        help_text="The memory's usefulness before its first vote; restored if all votes are withdrawn.",
    )

    objects = FeedbackQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "feedback"
        constraints = [
            check(
                Q(kind="explicit", weight__in=[1.0, -1.0, -3.0]) | Q(kind="implicit", weight=0.25),
                "feedback_weight_is_known",
            ),
            unique(
                "feedback_is_implied_once_a_day",
                "memory",
                "on_day",
                "tenant",
                condition=Q(kind="implicit", withdrawn_at__isnull=True),
            ),
            unique(
                "feedback_is_explicit_once_a_day",
                "tenant",
                "memory",
                "on_day",
                "actor_kind",
                "actor_id",
                condition=Q(kind="explicit", withdrawn_at__isnull=True),
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "memory", "-at"], name="feedback_of_memory"),
            models.Index(fields=["receipt"], name="feedback_of_receipt"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.weight:+g} on {self.memory_id}"
