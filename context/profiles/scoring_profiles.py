"""Which scoring profile applies, and its versions. Called inside a scope (ADR-0084)."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from context.models import EvaluationRun, ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.budget_profiles import VERSION_MARK, partition_lineage, version_number
from context.services.profiles.assignments import AssignmentTarget, assigned_profile
from context.services.profiles.scoring_profiles import (
    DEFAULT_SCORING_PROFILE_NAME,
    SHIPPED_PROFILES,
    SHIPPED_VERSIONS,
    ScoringProfile,
    ScoringProfileError,
    problems_of_numbers,
)
from memories.tenancy.exceptions import InvalidInput, NotFound, invalid


def resolve_scoring_profile(
    tenant_id: UUID, name: str, partition_path: str, api_key_id: str | None, *, allow_drafts: bool = False
) -> ScoringProfile:
    """Return the profile for a context: the named one, else the key's, the longest partition's, `adr-0040`.

    One query at most for a built-in profile. `name` is a published profile; with `allow_drafts` also an unpublished
    one, whose newest version is returned, or `name@version` in any state. Raises `InvalidInput` for any other `name`,
    and for numbers that this program no longer knows.
    """
    resolved_name = name
    if not name:
        assignments = ScoringProfileAssignment.objects.for_tenant(tenant_id).active()
        rows = assignments.for_targets(api_key_id, partition_lineage(partition_path))
        targets = [AssignmentTarget(row.profile_name, row.partition_path) for row in rows]
        resolved_name = assigned_profile(targets, partition_path) or DEFAULT_SCORING_PROFILE_NAME
    if resolved_name in SHIPPED_PROFILES:
        return SHIPPED_PROFILES[resolved_name]
    row = _named(tenant_id, resolved_name, allow_drafts=allow_drafts)
    if row is not None:
        return _usable(row)
    if not name:
        return SHIPPED_PROFILES[DEFAULT_SCORING_PROFILE_NAME]
    raise InvalidInput("invalid_choice", "No published scoring profile has this name.", "profile")


def _named(tenant_id: UUID, name: str, *, allow_drafts: bool) -> ScoringProfileVersion | None:
    name, _, version = name.partition(VERSION_MARK) if allow_drafts else (name, "", "")
    rows = ScoringProfileVersion.objects.for_tenant(tenant_id).named(name)
    if version:
        number = version_number(version)
        rows = rows.none() if number is None else rows.numbered(number)
    else:
        rows = rows.listed() if allow_drafts else rows.active()
    row: ScoringProfileVersion | None = rows.first()
    return row


def _usable(row: ScoringProfileVersion) -> ScoringProfile:
    try:
        return row.profile
    except ScoringProfileError as error:
        detail = f"{row} uses a setting that no longer exists: {error.field}. Copy it to a new draft."
        raise InvalidInput("outdated_profile", detail, "profile") from error


def profile_reference(name: str, version: int) -> str:
    """Return the name under which operators preview a version; a built-in profile has only one."""
    return name if name in SHIPPED_PROFILES else f"{name}{VERSION_MARK}{version}"


def scoring_profile_at(tenant_id: UUID, name: str, version: int) -> ScoringProfile:
    """Return the version that a receipt names, in any state. Raises `InvalidInput` if there is none."""
    return _usable(scoring_profile_version(tenant_id, name, version))


def scoring_profile_version(tenant_id: UUID, name: str, version: int) -> ScoringProfileVersion:
    """Return the row of one version, built-in or not. Raises `InvalidInput` if there is none."""
    if shipped := SHIPPED_VERSIONS.get((name, version)):
        return _shipped_row(tenant_id, shipped)
    row: ScoringProfileVersion | None = (
        ScoringProfileVersion.objects.for_tenant(tenant_id).named(name).numbered(version).with_runs().first()
    )
    if row is None:
        raise InvalidInput("unknown_version", "There is no such version of this scoring profile.", "version")
    return row


def listed_scoring_profiles(tenant_id: UUID) -> list[ScoringProfileVersion]:
    """Return the active version of every profile, else its newest: built-in ones, then the tenant's own by name."""
    rows = list(ScoringProfileVersion.objects.for_tenant(tenant_id).listed().with_runs())
    return [*(_shipped_row(tenant_id, profile) for profile in SHIPPED_PROFILES.values()), *rows]


def listed_scoring_profile(tenant_id: UUID, name: str) -> ScoringProfileVersion:
    """Return the active version of one profile, else its newest. Raises `NotFound` for an unknown name."""
    if name in SHIPPED_PROFILES:
        return _shipped_row(tenant_id, SHIPPED_PROFILES[name])
    row: ScoringProfileVersion | None = (
        ScoringProfileVersion.objects.for_tenant(tenant_id).named(name).listed().with_runs().first()
    )
    if row is None:
        raise NotFound("not_found", "No scoring profile has this name.", "name")
    return row


def scoring_profile_versions(tenant_id: UUID, name: str) -> list[ScoringProfileVersion]:
    """Return all versions of a profile, newest first; of a built-in one, only the current version.

    Raises `NotFound` for a name the tenant does not have.
    """
    if name in SHIPPED_PROFILES:
        return [_shipped_row(tenant_id, SHIPPED_PROFILES[name])]
    rows = list(ScoringProfileVersion.objects.for_tenant(tenant_id).named(name).versions().with_runs())
    return rows or [listed_scoring_profile(tenant_id, name)]


def lock_published_profile(tenant_id: UUID, name: str) -> None:
    """Lock the active version until the transaction ends. Raises `InvalidInput` if there is none."""
    if name in SHIPPED_PROFILES:
        return
    rows = ScoringProfileVersion.objects.for_tenant(tenant_id).named(name)
    if rows.active().locked().first() is None:
        code, detail = "invalid_choice", "No scoring profile has this name."
        if rows.exists():
            code, detail = "not_published", "No version of this scoring profile is published; publish one first."
        raise InvalidInput(code, detail, "profile")


def published_profile_names(tenant_id: UUID) -> list[str]:
    """Return the names that requests and assignments may use."""
    rows = ScoringProfileVersion.objects.for_tenant(tenant_id).active().versions()
    return [*SHIPPED_PROFILES, *(row.name for row in rows)]


def _shipped_row(tenant_id: UUID, profile: ScoringProfile) -> ScoringProfileVersion:
    """Return a built-in profile as an unsaved row without a time: published, or retired if it is a former version."""
    is_current = profile is SHIPPED_PROFILES[profile.name]
    return ScoringProfileVersion(
        tenant_id=tenant_id,
        name=profile.name,
        version=profile.version,
        state=ScoringProfileVersion.State.PUBLISHED if is_current else ScoringProfileVersion.State.RETIRED,
        numbers=profile.to_numbers(),
    )


def apply_number_changes(base: ScoringProfileVersion, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of `base` with `changes`. Raises `InvalidInput` naming every invalid number."""
    numbers = {**base.numbers, **changes}
    problems = problems_of_numbers(numbers)
    if problems:
        raise invalid(problems)
    return ScoringProfile.from_numbers(base.name, base.version, numbers).to_numbers()


def scoring_profile_in_use(tenant_id: UUID, active: ScoringProfileVersion | None) -> ScoringProfileVersion:
    """Return the profile that a new version would replace: `active`, else the tenant's profile, else `adr-0040`.

    It is also `adr-0040` if the numbers have a former format and can no longer be evaluated.
    """
    if active is None:
        assigned = ScoringProfileAssignment.objects.for_tenant(tenant_id).active().for_targets(None, [""]).first()
        active = listed_scoring_profile(tenant_id, assigned.profile_name) if assigned else None
    if active is None or problems_of_numbers(active.numbers):
        return _shipped_row(tenant_id, SHIPPED_PROFILES[DEFAULT_SCORING_PROFILE_NAME])
    return active


def mark_drafts_evaluated(run: EvaluationRun) -> int:
    """Mark drafts with exactly the numbers of a finished run as evaluated; return how many there were."""
    drafts = ScoringProfileVersion.objects.for_tenant(run.tenant_id).unpublished().of_numbers(run.profile_numbers)
    return drafts.update(state=ScoringProfileVersion.State.EVALUATED, evaluation_run=run)
