"""Budget profiles and scoring profiles, as the pages and endpoints that they share need them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile, ScoringProfileVersion
from context.profiles import budget_profiles as budgets
from context.profiles import scoring_profiles as scoring
from context.profiles.actions.assignments import BUDGET_ASSIGNMENTS, SCORING_ASSIGNMENTS, Assignments
from context.profiles.actions.budget_profiles import roll_back_budget_profile
from context.profiles.actions.scoring_profiles import roll_back_scoring_profile

_VERSIONS_COMPARED_MAX = 200


@dataclass(frozen=True)
class ProfileKind:
    """One kind of profiles: its pages, its rows and its actions. Call the functions inside a scope.

    URL names and templates begin with `prefix`; `noun` is for the API. `listed` and `find` return the active
    version, else the newest; `find` and `versions` raise `NotFound`, `version` raises `InvalidInput`.
    `compared_versions` are offered as `name version`.
    """

    section: str
    prefix: str
    noun: str
    assignments: Assignments[Any]
    listed: Callable[[UUID], list[Any]]
    find: Callable[[UUID, str], Any]
    versions: Callable[[UUID, str], list[Any]]
    version: Callable[[UUID, str, int], Any]
    roll_back: Callable[..., Any]
    assignable_names: Callable[[UUID], list[str]]
    compared_versions: Callable[[UUID], list[str]]


def _budget_versions(tenant_id: UUID) -> list[str]:
    rows = BudgetProfile.objects.for_tenant(tenant_id).versions()[:_VERSIONS_COMPARED_MAX]
    return [*(f"{row.name} {row.version}" for row in rows), f"{DEFAULT_BUDGET_PROFILE_NAME} 0"]


def _scoring_versions(tenant_id: UUID) -> list[str]:
    rows = ScoringProfileVersion.objects.for_tenant(tenant_id).versions()[:_VERSIONS_COMPARED_MAX]
    shipped = [row for row in scoring.listed_scoring_profiles(tenant_id) if row.is_shipped]
    return [f"{row.name} {row.version}" for row in [*shipped, *rows]]


BUDGET_KIND = ProfileKind(
    section="budgets",
    prefix="budget",
    noun="budget_profile",
    assignments=BUDGET_ASSIGNMENTS,
    listed=budgets.current_budget_profiles,
    find=budgets.find_budget_profile,
    versions=budgets.budget_profile_versions,
    version=budgets.budget_profile_version,
    roll_back=roll_back_budget_profile,
    assignable_names=lambda tenant_id: [row.name for row in budgets.current_budget_profiles(tenant_id)],
    compared_versions=_budget_versions,
)
SCORING_KIND = ProfileKind(
    section="scoring-profiles",
    prefix="scoring",
    noun="profile",
    assignments=SCORING_ASSIGNMENTS,
    listed=scoring.listed_scoring_profiles,
    find=scoring.listed_scoring_profile,
    versions=scoring.scoring_profile_versions,
    version=scoring.scoring_profile_version,
    roll_back=roll_back_scoring_profile,
    assignable_names=scoring.published_profile_names,
    compared_versions=_scoring_versions,
)
