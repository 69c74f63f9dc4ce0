"""Scoring profiles of a tenant: versions of the numbers that memories are ranked by, and whom they are for."""

from typing import Any

from django.db import models
from django.db.models import Q

from context.models.assignments import ProfileAssignment, assignment_constraints
from context.models.evaluation import EvaluationRun
from context.profiles.queries import ScoringProfileVersionQuerySet
from context.services.profiles.scoring_profiles import SHIPPED_PROFILES, ScoringProfile
from memories.models import Tenant


class ScoringProfileVersion(models.Model):
    """One version of a scoring profile (ADR-0084). Its numbers never change: an edit is a new draft.

    Of the published versions of a name one is in force, the one without `recorded_to`; it ends when another one takes
    its place, and returns when somebody rolls back. What the project ships is code and has no rows.
    """

    class State(models.TextChoices):
        DRAFT = "draft"
        EVALUATED = "evaluated"
        PUBLISHED = "published"
        RETIRED = "retired"

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="scoring_profiles")
    name = models.CharField(max_length=64)
    version = models.PositiveIntegerField()
    state = models.CharField(max_length=9, choices=State, default=State.DRAFT)
    numbers = models.JSONField(help_text="What `ScoringProfile.to_numbers` writes.")
    based_on = models.CharField(max_length=80, default="", blank=True, help_text="`name version` it was copied from.")
    adr_reference = models.CharField(max_length=16, default="", blank=True, help_text="The decision that argues it.")
    evaluation_run = models.ForeignKey(
        EvaluationRun, on_delete=models.RESTRICT, null=True, blank=True, related_name="proven_profiles"
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
            models.UniqueConstraint(fields=["tenant", "name", "version"], name="scoring_profile_version_is_unique"),
            models.UniqueConstraint(
                fields=["tenant", "name"],
                condition=Q(state="published", recorded_to__isnull=True),
                name="scoring_profile_has_one_in_force",
            ),
            models.CheckConstraint(
                condition=Q(name__regex=r"^[a-z][a-z0-9_-]*$"), name="scoring_profile_name_is_a_word"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["draft", "evaluated", "published", "retired"]),
                name="scoring_profile_state_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="published") | (Q(evaluation_run__isnull=False) & ~Q(adr_reference="")),
                name="scoring_profile_is_published_with_proof",
            ),
            models.CheckConstraint(
                condition=~Q(state="evaluated") | Q(evaluation_run__isnull=False),
                name="scoring_profile_is_evaluated_by_a_run",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"

    @property
    def is_active(self) -> bool:
        """Whether agents who name the profile get this version."""
        return self.state == self.State.PUBLISHED and self.recorded_to is None

    @property
    def is_shipped(self) -> bool:
        """Whether it is code: locked, published with the program."""
        return self.name in SHIPPED_PROFILES

    @property
    def is_calibrated(self) -> bool:
        """Whether its scores are probabilities."""
        return self.numbers.get("coefficients") is not None

    @property
    def tuned_numbers(self) -> dict[str, Any]:
        """The numbers without groups: `weights.relevance`, `half_life_days_by_kind.fact`, `pool_size`."""
        flat: dict[str, Any] = {}
        for name, value in self.numbers.items():
            parts = {f"{name}.{part}": number for part, number in value.items()} if isinstance(value, dict) else None
            flat |= {name: value} if parts is None else parts
        return flat

    @property
    def profile(self) -> ScoringProfile:
        """The numbers as the scorer takes them."""
        return ScoringProfile.from_numbers(self.name, self.version, self.numbers)


class ScoringProfileAssignment(ProfileAssignment):
    """Whom a scoring profile is for: one agent key, or a partition and all below it ("" is the whole tenant)."""

    class Meta:
        constraints = assignment_constraints("scoring_assignment")
