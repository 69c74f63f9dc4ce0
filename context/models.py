"""Budget profiles and receipts: the numbers a context is built with, and the record of each context."""

import uuid

from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from context.querysets import BudgetProfileQuerySet, ReceiptQuerySet
from memories.models import ApiKey, Tenant

DEFAULT_PROFILE_NAME = "default"
TOKENS_MIN, TOKENS_MAX = 1, 2_000_000
OVERFETCH_RATIO_MIN, OVERFETCH_RATIO_MAX = 1.0, 10.0
TOP_K_MAX = 200


class BudgetProfile(models.Model):
    """One version of the numbers an operator tunes; the current one has no `recorded_to`.

    A tenant without rows uses the defaults below as version 0.
    """

    class Ordering(models.TextChoices):
        TOP_DOWN = "top_down", "top down: best first"
        U_CURVE = "u_curve", "U curve: first half forward, second half woven in from the end"
        HEAD_TAIL = "head_tail", "head and tail: best at both ends"
        STABLE = "stable", "stable: keeps the order of an earlier context"

    class Packer(models.TextChoices):
        GREEDY = "greedy", "greedy: best first, stops after three misses"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="budget_profiles")
    name = models.CharField(max_length=64, default=DEFAULT_PROFILE_NAME)
    version = models.PositiveIntegerField()
    default_tokens = models.PositiveIntegerField(
        default=4000, validators=[MinValueValidator(TOKENS_MIN), MaxValueValidator(TOKENS_MAX)]
    )
    overfetch_ratio = models.FloatField(
        default=1.25, validators=[MinValueValidator(OVERFETCH_RATIO_MIN), MaxValueValidator(OVERFETCH_RATIO_MAX)]
    )
    minimum_score = models.FloatField(default=0.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    packer = models.CharField(max_length=16, choices=Packer, default=Packer.GREEDY)
    ordering = models.CharField(max_length=16, choices=Ordering, default=Ordering.TOP_DOWN)
    include_tenant_memo = models.BooleanField(default=True)
    include_memories_top_k = models.PositiveSmallIntegerField(
        default=5, validators=[MinValueValidator(1), MaxValueValidator(TOP_K_MAX)]
    )
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=150, default="")

    objects = BudgetProfileQuerySet.as_manager()

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name", "version"], name="budget_profile_version_is_unique"),
            models.UniqueConstraint(
                fields=["tenant", "name"],
                condition=Q(recorded_to__isnull=True),
                name="budget_profile_has_one_current_version",
            ),
            models.CheckConstraint(
                condition=Q(name__regex=r"^[a-z][a-z0-9_-]*$"), name="budget_profile_name_is_a_word"
            ),
            models.CheckConstraint(
                condition=Q(default_tokens__gte=TOKENS_MIN, default_tokens__lte=TOKENS_MAX),
                name="budget_profile_tokens_are_bounded",
            ),
            models.CheckConstraint(
                condition=Q(overfetch_ratio__gte=OVERFETCH_RATIO_MIN, overfetch_ratio__lte=OVERFETCH_RATIO_MAX),
                name="budget_profile_overfetch_is_bounded",
            ),
            models.CheckConstraint(
                condition=Q(minimum_score__gte=0, minimum_score__lte=1), name="budget_profile_score_is_a_share"
            ),
            models.CheckConstraint(
                condition=Q(include_memories_top_k__gte=1, include_memories_top_k__lte=TOP_K_MAX),
                name="budget_profile_top_k_is_bounded",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"


class Receipt(models.Model):
    """The stored record of one context: what was asked, chosen, left out and why. Texts are read back by anchor."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="receipts")
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

    objects = ReceiptQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(tokens_used__gte=0), name="receipt_tokens_are_not_negative"),
        ]
        indexes = [
            models.Index(F("tenant"), F("created_at").desc(), F("id"), name="receipt_newest"),
        ]

    def __str__(self) -> str:
        return f"receipt {self.id}"
