"""Budget profiles and scoring profiles: versions of the numbers that operators tune, and their assignments."""

from functools import reduce
from operator import and_
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.constraints import BaseConstraint

from context.profiles.queries import (
    DEFAULT_NAME,
    BudgetProfileQuerySet,
    ProfileAssignmentQuerySet,
    ScoringProfileVersionQuerySet,
)
from context.services.profiles.compaction_policy import CompactionPolicy
from context.services.profiles.fields import BUDGET_FIELDS, ELASTIC_ITEMS_MAX, ELASTIC_TOKENS_MAX, SUMMARY_LEVELS_MAX
from context.services.profiles.publishing import EvidenceComparison
from context.services.profiles.scoring_profiles import (
    RECOMMENDED_SCORING_PROFILE_NAME,
    SHIPPED_DECISIONS,
    SHIPPED_PROFILES,
    ScoringProfile,
)
from memories.models import ApiKey, PartitionSummary, Tenant
from memories.models.tenancy import check, one_of, unique

DEFAULT_BUDGET_PROFILE_NAME = DEFAULT_NAME


class ProfileAssignment(models.Model):
    """A profile, by name, for one agent key, or for a partition and all below it ("" is the whole tenant)."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    profile_name = models.CharField(max_length=64)
    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    partition_path = models.TextField(null=True, blank=True, db_collation="C")
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=150, default="")

    objects = ProfileAssignmentQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.profile_name} for {'a key' if self.api_key_id else self.partition_path or 'the tenant'}"


def assignment_constraints(prefix: str) -> list[BaseConstraint]:
    """Return the constraints of one target each, and one active assignment of a target; named after `prefix`."""
    return [
        check(
            Q(api_key__isnull=True, partition_path__isnull=False)
            | Q(api_key__isnull=False, partition_path__isnull=True),
            f"{prefix}_has_one_target",
        ),
        unique(
            f"{prefix}_of_key_is_unique",
            "tenant",
            "api_key",
            condition=Q(recorded_to__isnull=True, api_key__isnull=False),
        ),
        unique(
            f"{prefix}_of_partition_is_unique",
            "tenant",
            "partition_path",
            condition=Q(recorded_to__isnull=True, partition_path__isnull=False),
        ),
    ]


def default_summary_levels() -> list[int]:
    """Return the levels of the partition tree whose summaries a context includes by default."""
    return list(BUDGET_FIELDS["include_summaries_at"].default)


def _described(name: str) -> dict[str, Any]:
    """Return the options of the column of a number: its default, its bounds, its help."""
    field = BUDGET_FIELDS[name]
    options: dict[str, Any] = {"default": field.default, "help_text": field.input_help}
    if field.bounds:
        options["validators"] = [MinValueValidator(field.least), MaxValueValidator(field.most)]
    return options


def _within_bounds(constraint: str, *names: str) -> models.CheckConstraint:
    """Return a constraint that keeps numbers within the bounds of their descriptions."""
    fields = {name: BUDGET_FIELDS[name] for name in names}
    ranges = (Q(**{f"{name}__gte": field.least, f"{name}__lte": field.most}) for name, field in fields.items())
    return check(reduce(and_, ranges), constraint)


class BudgetProfile(models.Model):
    """One version of the numbers an operator tunes; a tenant without rows uses the defaults below as version 0."""

    class Ordering(models.TextChoices):
        TOP_DOWN = "top_down", "top down: best first"
        U_CURVE = "u_curve", "U curve: first half alternating with the reversed second half"
        HEAD_TAIL = "head_tail", "head and tail: best at both ends"
        STABLE = "stable", "stable: keeps the order of an earlier context"

    class Packer(models.TextChoices):
        GREEDY = "greedy", "greedy: best first, stops after three misses"
        ELASTIC = "elastic", "elastic: shortens items so that more of them fit"
        OPTIMAL = "optimal", "optimal: the highest sum of scores"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="budget_profiles", db_index=False)
    name = models.CharField(max_length=64, default=DEFAULT_BUDGET_PROFILE_NAME)
    version = models.PositiveIntegerField()
    default_tokens = models.PositiveIntegerField(**_described("default_tokens"))
    overfetch_ratio = models.FloatField(**_described("overfetch_ratio"))
    minimum_score = models.FloatField(**_described("minimum_score"))
    pinned_share = models.FloatField(**_described("pinned_share"))
    packer = models.CharField(max_length=16, choices=Packer, **_described("packer"))
    ordering = models.CharField(max_length=16, choices=Ordering, **_described("ordering"))
    include_tenant_memo = models.BooleanField(**_described("include_tenant_memo"))
    include_memories_top_k = models.PositiveSmallIntegerField(**_described("include_memories_top_k"))
    include_memory_days = models.BooleanField(**_described("include_memory_days"))
    sections = models.JSONField(
        default=dict, blank=True, help_text='Budget by section: {"tokens": n} or {"share": 0..1}; absent: what remains.'
    )
    include_summaries_at = ArrayField(models.PositiveSmallIntegerField(), default=default_summary_levels, blank=True)
    summary_style = models.CharField(max_length=8, choices=PartitionSummary.Style, **_described("summary_style"))
    include_linked_memories = models.BooleanField(**_described("include_linked_memories"))
    near_duplicate_threshold = models.FloatField(**_described("near_duplicate_threshold"))
    elastic_target_items = models.PositiveSmallIntegerField(**_described("elastic_target_items"))
    elastic_fills_budget = models.BooleanField(**_described("elastic_fills_budget"))
    elastic_min_tokens = models.PositiveSmallIntegerField(**_described("elastic_min_tokens"))
    elastic_max_tokens = models.PositiveSmallIntegerField(**_described("elastic_max_tokens"))
    receipt_days = models.PositiveSmallIntegerField(**_described("receipt_days"))
    receipt_count = models.PositiveIntegerField(**_described("receipt_count"))
    compaction = models.JSONField(default=dict, blank=True, help_text="Differences from the default compaction policy.")
    recorded_from = models.DateTimeField()
    recorded_to = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=150, default="")
    rolled_back_to = models.PositiveIntegerField(
        null=True, blank=True, help_text="The version whose settings it reactivated; 0: the defaults."
    )

    objects = BudgetProfileQuerySet.as_manager()

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            unique("budget_profile_version_is_unique", "tenant", "name", "version"),
            unique("budget_profile_has_one_current_version", "tenant", "name", condition=Q(recorded_to__isnull=True)),
            check(Q(name__regex=r"^[a-z][a-z0-9_-]*$"), "budget_profile_name_is_a_word"),
            _within_bounds("budget_profile_tokens_are_bounded", "default_tokens"),
            _within_bounds("budget_profile_overfetch_is_bounded", "overfetch_ratio"),
            _within_bounds("budget_profile_score_is_a_share", "minimum_score"),
            _within_bounds("budget_profile_top_k_is_bounded", "include_memories_top_k"),
            check(Q(include_summaries_at__len__lte=SUMMARY_LEVELS_MAX), "budget_profile_levels_are_bounded"),
            _within_bounds("budget_profile_threshold_is_a_share", "near_duplicate_threshold"),
            _within_bounds("budget_profile_pinned_share_is_a_share", "pinned_share"),
            check(
                Q(elastic_target_items__gte=1, elastic_target_items__lte=ELASTIC_ITEMS_MAX)
                & Q(elastic_min_tokens__gte=1, elastic_min_tokens__lte=F("elastic_max_tokens"))
                & Q(elastic_max_tokens__lte=ELASTIC_TOKENS_MAX),
                "budget_profile_elastic_is_bounded",
            ),
            _within_bounds("budget_profile_retention_is_bounded", "receipt_days", "receipt_count"),
        ]

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"

    @property
    def is_active(self) -> bool:
        """Whether contexts are built with this version of the profile."""
        return self.recorded_to is None

    @property
    def tuned_numbers(self) -> dict[str, Any]:
        """The numbers that an operator tunes, by field name."""
        return {name: getattr(self, name) for name in BUDGET_FIELDS}

    @property
    def compaction_policy(self) -> CompactionPolicy:
        return CompactionPolicy.of(self.compaction)


class ScoringProfileVersion(models.Model):
    """One version of a scoring profile (ADR-0084). Its numbers never change: an edit is a new draft.

    The published version of a name without `recorded_to` is active until another one replaces it; a roll-back makes it
    active again. Built-in profiles are code and have no rows.
    """

    class State(models.TextChoices):
        DRAFT = "draft"
        EVALUATED = "evaluated"
        PUBLISHED = "published"
        RETIRED = "retired"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="scoring_profiles", db_index=False)
    name = models.CharField(max_length=64)
    version = models.PositiveIntegerField()
    state = models.CharField(max_length=9, choices=State, default=State.DRAFT)
    numbers = models.JSONField(help_text="What `ScoringProfile.to_numbers` writes.")
    based_on = models.CharField(max_length=80, default="", blank=True, help_text="`name version` it was copied from.")
    argument = models.JSONField(
        default=dict, blank=True, help_text="Why it was published: `context`, `decision`, `consequences`, `reason`."
    )
    comparison = models.JSONField(
        default=dict, blank=True, help_text="What `EvidenceComparison.to_dict` wrote when it was published."
    )
    evaluation_run = models.ForeignKey(
        "context.EvaluationRun", on_delete=models.RESTRICT, null=True, blank=True, related_name="proven_profiles"
    )
    baseline_run = models.ForeignKey(
        "context.EvaluationRun", on_delete=models.RESTRICT, null=True, blank=True, related_name="+"
    )
    report = models.JSONField(default=dict, blank=True, help_text="What `fit_profile` measured on held-out questions.")
    recorded_from = models.DateTimeField(help_text="When it was saved.")
    recorded_to = models.DateTimeField(null=True, blank=True, help_text="When it was superseded or retired.")
    created_by = models.CharField(max_length=150, default="", blank=True)
    published_at = models.DateTimeField(null=True, blank=True)
    published_by = models.CharField(max_length=150, default="", blank=True)

    objects = ScoringProfileVersionQuerySet.as_manager()

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            unique("scoring_profile_version_is_unique", "tenant", "name", "version"),
            unique(
                "scoring_profile_has_one_in_force",
                "tenant",
                "name",
                condition=Q(state="published", recorded_to__isnull=True),
            ),
            check(Q(name__regex=r"^[a-z][a-z0-9_-]*$"), "scoring_profile_name_is_a_word"),
            one_of("state", ["draft", "evaluated", "published", "retired"], "scoring_profile_state_is_known"),
            check(
                ~Q(state="published")
                | Q(evaluation_run__isnull=False, argument__has_keys=["context", "decision", "consequences"]),
                "scoring_profile_is_published_with_proof",
            ),
            check(~Q(state="evaluated") | Q(evaluation_run__isnull=False), "scoring_profile_is_evaluated_by_a_run"),
        ]

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"

    @property
    def is_active(self) -> bool:
        """Whether requests that name the profile use this version."""
        return self.state == self.State.PUBLISHED and self.recorded_to is None

    @property
    def is_shipped(self) -> bool:
        """Whether it is built in and locked."""
        return self.name in SHIPPED_PROFILES

    @property
    def is_recommended(self) -> bool:
        """Whether pages and documents offer it first."""
        return self.name == RECOMMENDED_SCORING_PROFILE_NAME

    @property
    def adr_reference(self) -> str:
        """The file in adr/ that argues a built-in profile; "" for a profile of the tenant."""
        return SHIPPED_DECISIONS.get(self.name, "")

    @property
    def is_calibrated(self) -> bool:
        """Whether its scores are probabilities."""
        return self.numbers.get("coefficients") is not None

    @property
    def tuned_numbers(self) -> dict[str, Any]:
        """The numbers without groups: `weights.relevance`, `half_life_days_by_kind.fact`, `pool_size`."""
        flat: dict[str, Any] = {}
        for name, value in self.numbers.items():
            is_group = isinstance(value, dict)
            flat |= {f"{name}.{part}": each for part, each in value.items()} if is_group else {name: value}
        return flat

    @property
    def published_argument(self) -> dict[str, str] | None:
        """The argument with which it was published; None before that."""
        return self.argument or None

    @property
    def evidence_comparison(self) -> EvidenceComparison | None:
        """The comparison with which it was published; None before that."""
        return EvidenceComparison.from_dict(self.comparison) if self.comparison else None

    @property
    def profile(self) -> ScoringProfile:
        return ScoringProfile.from_numbers(self.name, self.version, self.numbers)


class BudgetProfileAssignment(ProfileAssignment):
    """The assignment of a budget profile."""

    class Meta:
        constraints = assignment_constraints("assignment")


class ScoringProfileAssignment(ProfileAssignment):
    """The assignment of a scoring profile."""

    class Meta:
        constraints = assignment_constraints("scoring_assignment")
