"""Budget profiles: the numbers a context is built with, and whom they are for."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from context.models.assignments import ProfileAssignment, assignment_constraints
from context.profiles.queries.profiles import DEFAULT_NAME, BudgetProfileQuerySet
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.models import PartitionSummary, Tenant

DEFAULT_BUDGET_PROFILE_NAME = DEFAULT_NAME
TOKENS_MIN, TOKENS_MAX = 1, 2_000_000
OVERFETCH_RATIO_MIN, OVERFETCH_RATIO_MAX = 1.0, 10.0
TOP_K_MAX = 200
SUMMARY_LEVELS_MAX = 9
ELASTIC_ITEMS_MAX, ELASTIC_TOKENS_MAX = 200, 8_192
RECEIPT_DAYS_MAX, RECEIPT_COUNT_MAX = 3_650, 10_000_000


def default_summary_levels() -> list[int]:
    """The levels of the partition tree whose summaries stand in a context: the first segment and the second."""
    return [0, 1]


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
        ELASTIC = "elastic", "elastic: shortens items so that more of them fit"
        OPTIMAL = "optimal", "optimal: the highest sum of scores"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="budget_profiles")
    name = models.CharField(max_length=64, default=DEFAULT_BUDGET_PROFILE_NAME)
    version = models.PositiveIntegerField()
    default_tokens = models.PositiveIntegerField(
        default=4000, validators=[MinValueValidator(TOKENS_MIN), MaxValueValidator(TOKENS_MAX)]
    )
    overfetch_ratio = models.FloatField(
        default=1.25, validators=[MinValueValidator(OVERFETCH_RATIO_MIN), MaxValueValidator(OVERFETCH_RATIO_MAX)]
    )
    minimum_score = models.FloatField(default=0.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    pinned_share = models.FloatField(
        default=0.5,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
        help_text="Of the memories' room: so much of it pinned ones take before those that a query found.",
    )
    packer = models.CharField(max_length=16, choices=Packer, default=Packer.GREEDY)
    ordering = models.CharField(max_length=16, choices=Ordering, default=Ordering.TOP_DOWN)
    include_tenant_memo = models.BooleanField(default=True)
    include_memories_top_k = models.PositiveSmallIntegerField(
        default=5, validators=[MinValueValidator(1), MaxValueValidator(TOP_K_MAX)]
    )
    sections = models.JSONField(
        default=dict,
        blank=True,
        help_text='Room by section: {"tokens": n} or {"share": 0..1}; absent: what is left.',
    )
    include_summaries_at = ArrayField(models.PositiveSmallIntegerField(), default=default_summary_levels, blank=True)
    summary_style = models.CharField(
        max_length=8, choices=PartitionSummary.Style, default=PartitionSummary.Style.COMPACT
    )
    include_linked_memories = models.BooleanField(default=True)
    near_duplicate_threshold = models.FloatField(
        default=0.97, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)]
    )
    elastic_target_items = models.PositiveSmallIntegerField(
        default=6, validators=[MinValueValidator(1), MaxValueValidator(ELASTIC_ITEMS_MAX)]
    )
    elastic_min_tokens = models.PositiveSmallIntegerField(
        default=20, validators=[MinValueValidator(1), MaxValueValidator(ELASTIC_TOKENS_MAX)]
    )
    elastic_max_tokens = models.PositiveSmallIntegerField(
        default=90, validators=[MinValueValidator(1), MaxValueValidator(ELASTIC_TOKENS_MAX)]
    )
    receipt_days = models.PositiveSmallIntegerField(
        default=90, validators=[MinValueValidator(1), MaxValueValidator(RECEIPT_DAYS_MAX)]
    )
    receipt_count = models.PositiveIntegerField(
        default=100_000, validators=[MinValueValidator(1), MaxValueValidator(RECEIPT_COUNT_MAX)]
    )
    compaction = models.JSONField(
        default=dict, blank=True, help_text="How sessions shrink: what differs from the default compaction policy."
    )
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=150, default="")
    rolled_back_to = models.PositiveIntegerField(
        null=True, blank=True, help_text="The version whose numbers it put into force again; 0: the defaults."
    )

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
            models.CheckConstraint(
                condition=Q(include_summaries_at__len__lte=SUMMARY_LEVELS_MAX), name="budget_profile_levels_are_bounded"
            ),
            models.CheckConstraint(
                condition=Q(near_duplicate_threshold__gte=0, near_duplicate_threshold__lte=1),
                name="budget_profile_threshold_is_a_share",
            ),
            models.CheckConstraint(
                condition=Q(pinned_share__gte=0, pinned_share__lte=1), name="budget_profile_pinned_share_is_a_share"
            ),
            models.CheckConstraint(
                condition=Q(elastic_target_items__gte=1, elastic_target_items__lte=ELASTIC_ITEMS_MAX)
                & Q(elastic_min_tokens__gte=1, elastic_min_tokens__lte=F("elastic_max_tokens"))
                & Q(elastic_max_tokens__lte=ELASTIC_TOKENS_MAX),
                name="budget_profile_elastic_is_bounded",
            ),
            models.CheckConstraint(
                condition=Q(receipt_days__gte=1, receipt_days__lte=RECEIPT_DAYS_MAX)
                & Q(receipt_count__gte=1, receipt_count__lte=RECEIPT_COUNT_MAX),
                name="budget_profile_retention_is_bounded",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"

    @property
    def compaction_policy(self) -> CompactionPolicy:
        """The numbers of compaction, defaults included."""
        return CompactionPolicy.of(self.compaction)


class BudgetProfileAssignment(ProfileAssignment):
    """Whom a budget profile is for: one agent key, or a partition and all below it ("" is the whole tenant)."""

    class Meta:
        constraints = assignment_constraints("assignment")
