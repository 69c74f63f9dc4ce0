"""The two kinds of profiles, as the pages that they share need them."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from context.models import (
    DEFAULT_BUDGET_PROFILE_NAME,
    BudgetProfile,
    BudgetProfileAssignment,
    ScoringProfileAssignment,
    ScoringProfileVersion,
)
from context.models.assignments import ProfileAssignment
from context.profiles.actions.assignments import (
    assign_budget_profile,
    assign_scoring_profile,
    unassign_budget_profile,
    unassign_scoring_profile,
)
from context.profiles.budget_profiles import compare_budget_profiles, current_budget_profiles
from context.profiles.scoring_profiles import (
    compare_scoring_profiles,
    listed_scoring_profiles,
    published_profile_names,
)
from context.profiles.versions import NamedVersion, ProfileFieldComparison

_VERSIONS_COMPARED_MAX = 200


@dataclass(frozen=True)
class ProfileKind:
    """One kind of profiles: where its pages are, its rows, and what can be done with them inside a scope.

    Templates and URL names of shared pages begin with `prefix`. `compared_versions` are offered as `name version`.
    """

    section: str
    prefix: str
    assignments: type[ProfileAssignment]
    assign: Callable[..., ProfileAssignment]
    unassign: Callable[..., ProfileAssignment]
    assignable_names: Callable[[UUID], list[str]]
    compared_versions: Callable[[UUID], list[str]]
    compare: Callable[[UUID, NamedVersion, NamedVersion], list[ProfileFieldComparison]]

    def template(self, page: str) -> str:
        """Return the template of a shared page."""
        return f"context/profiles/{self.prefix}_{page}.html"


def _budget_versions(tenant_id: UUID) -> list[str]:
    rows = BudgetProfile.objects.for_tenant(tenant_id).versions()[:_VERSIONS_COMPARED_MAX]
    return [*(f"{row.name} {row.version}" for row in rows), f"{DEFAULT_BUDGET_PROFILE_NAME} 0"]


def _scoring_versions(tenant_id: UUID) -> list[str]:
    rows = ScoringProfileVersion.objects.for_tenant(tenant_id).versions()[:_VERSIONS_COMPARED_MAX]
    shipped = [row for row in listed_scoring_profiles(tenant_id) if row.is_shipped]
    return [f"{row.name} {row.version}" for row in [*shipped, *rows]]


BUDGET_KIND = ProfileKind(
    section="budgets",
    prefix="budget",
    assignments=BudgetProfileAssignment,
    assign=assign_budget_profile,
    unassign=unassign_budget_profile,
    assignable_names=lambda tenant_id: [row.name for row in current_budget_profiles(tenant_id)],
    compared_versions=_budget_versions,
    compare=compare_budget_profiles,
)
SCORING_KIND = ProfileKind(
    section="scoring-profiles",
    prefix="scoring",
    assignments=ScoringProfileAssignment,
    assign=assign_scoring_profile,
    unassign=unassign_scoring_profile,
    assignable_names=published_profile_names,
    compared_versions=_scoring_versions,
    compare=compare_scoring_profiles,
)
