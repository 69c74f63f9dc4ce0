"""Which scoring profile applies, any version of one again, and how two compare. Called inside a scope (ADR-0084)."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from context.models import EvaluationRun, ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.budget_profiles import NamedVersion, ProfileFieldComparison, partition_lineage
from context.services.profiles.scoring_profiles import (
    DEFAULT_SCORING_PROFILE_NAME,
    PART_NAMES,
    SHIPPED_PROFILES,
    ScoringProfile,
    ScoringProfileError,
    problems_of_numbers,
)
from context.services.profiles.sections import AssignmentTarget, assigned_profile
from memories.tenancy.exceptions import InvalidInput, NotFound, invalid

#: The decisions that argue what the project ships.
SHIPPED_DECISIONS = {"adr-0040": "ADR-0040", "conversation-recall": "ADR-0078"}
#: The groups of numbers as pages list them.
NUMBERS_IN_ORDER = tuple(SHIPPED_PROFILES[DEFAULT_SCORING_PROFILE_NAME].to_numbers())
#: Between a name and the number of one of its versions, where an operator previews exactly that one.
VERSION_MARK = "@"


def resolve_scoring_profile(
    tenant_id: UUID, name: str, partition_path: str, api_key_id: str | None, *, allow_drafts: bool = False
) -> ScoringProfile:
    """The profile a context is ranked by: the one named, else the key's, the longest partition's, `adr-0040`.

    One query at most where nothing of the tenant's own counts. An agent may name what is published; with
    `allow_drafts` also a name that is not, whose newest version counts, and `name@version` in any state. Raises
    `InvalidInput` for a `name` that is none of these, and for numbers that this program no longer knows.
    """
    wanted = name or _assigned_name(tenant_id, partition_path, api_key_id)
    if wanted in SHIPPED_PROFILES:
        return SHIPPED_PROFILES[wanted]
    row = _named(tenant_id, wanted, allow_drafts=allow_drafts)
    if row is not None:
        return _usable(row)
    if not name:
        return SHIPPED_PROFILES[DEFAULT_SCORING_PROFILE_NAME]
    raise InvalidInput("unknown_choice", "There is no published scoring profile of this name.", "profile")


def _assigned_name(tenant_id: UUID, partition_path: str, api_key_id: str | None) -> str:
    assignments = ScoringProfileAssignment.objects.for_tenant(tenant_id).in_force()
    rows = assignments.for_targets(api_key_id, partition_lineage(partition_path))
    return assigned_profile(
        [AssignmentTarget(row.profile_name, row.partition_path) for row in rows], partition_path
    ) or (DEFAULT_SCORING_PROFILE_NAME)


def _named(tenant_id: UUID, name: str, *, allow_drafts: bool) -> ScoringProfileVersion | None:
    name, _, version = name.partition(VERSION_MARK) if allow_drafts else (name, "", "")
    rows = ScoringProfileVersion.objects.for_tenant(tenant_id).named(name)
    if version:
        rows = rows.numbered(int(version)) if version.isdecimal() and len(version) < 10 else rows.none()
    else:
        rows = rows.shown() if allow_drafts else rows.in_force()
    row: ScoringProfileVersion | None = rows.first()
    return row


def _usable(row: ScoringProfileVersion) -> ScoringProfile:
    try:
        return row.profile
    except ScoringProfileError as error:
        detail = f"{row} was made with numbers that are no longer known: {error.field}. Copy it into a new draft."
        raise InvalidInput("outdated_profile", detail, "profile") from error


def scoring_profile_at(tenant_id: UUID, name: str, version: int) -> ScoringProfile:
    """Exactly the version that a receipt names, whatever became of it. Raises `InvalidInput` where there is none."""
    return _usable(scoring_profile_version(tenant_id, name, version))


def scoring_profile_version(tenant_id: UUID, name: str, version: int) -> ScoringProfileVersion:
    """The row of one version, shipped ones included. Raises `InvalidInput` where there is none."""
    shipped = SHIPPED_PROFILES.get(name)
    if shipped is not None and shipped.version == version:
        return _shipped_row(tenant_id, shipped)
    row: ScoringProfileVersion | None = (
        ScoringProfileVersion.objects.for_tenant(tenant_id).named(name).numbered(version).with_runs().first()
    )
    if row is None:
        raise InvalidInput("unknown_version", "There is no such version of this scoring profile.", "version")
    return row


def listed_scoring_profiles(tenant_id: UUID) -> list[ScoringProfileVersion]:
    """One version of every profile, in force or else the newest: what is shipped, then the tenant's own by name."""
    rows = list(ScoringProfileVersion.objects.for_tenant(tenant_id).shown().with_runs())
    return [*(_shipped_row(tenant_id, profile) for profile in SHIPPED_PROFILES.values()), *rows]


def listed_scoring_profile(tenant_id: UUID, name: str) -> ScoringProfileVersion:
    """The version in force of one profile, else its newest. Raises `NotFound` for a name the tenant does not have."""
    if name in SHIPPED_PROFILES:
        return _shipped_row(tenant_id, SHIPPED_PROFILES[name])
    row: ScoringProfileVersion | None = (
        ScoringProfileVersion.objects.for_tenant(tenant_id).named(name).shown().with_runs().first()
    )
    if row is None:
        raise NotFound("not_found", "There is no scoring profile of this name.", "name")
    return row


def scoring_profile_versions(tenant_id: UUID, name: str) -> list[ScoringProfileVersion]:
    """All versions of a profile, newest first. Raises `NotFound` for a name the tenant does not have."""
    if name in SHIPPED_PROFILES:
        return [_shipped_row(tenant_id, SHIPPED_PROFILES[name])]
    rows = list(ScoringProfileVersion.objects.for_tenant(tenant_id).named(name).versions().with_runs())
    if not rows:
        raise NotFound("not_found", "There is no scoring profile of this name.", "name")
    return rows


def lock_published_profile(tenant_id: UUID, name: str) -> None:
    """See that agents may name the profile, and that it stays so until the transaction ends.

    Raises `InvalidInput` for a name the tenant does not have, and for one of which nothing is published.
    """
    if name in SHIPPED_PROFILES:
        return
    rows = ScoringProfileVersion.objects.for_tenant(tenant_id).named(name)
    if rows.in_force().locked().first() is None:
        code, detail = "unknown_choice", "There is no scoring profile of this name."
        if rows.exists():
            code, detail = "not_published", "No version of this scoring profile is published; publish one first."
        raise InvalidInput(code, detail, "profile")


def published_profile_names(tenant_id: UUID) -> list[str]:
    """What agents may name and operators assign."""
    rows = ScoringProfileVersion.objects.for_tenant(tenant_id).in_force().versions()
    return [*SHIPPED_PROFILES, *(row.name for row in rows)]


def _shipped_row(tenant_id: UUID, profile: ScoringProfile) -> ScoringProfileVersion:
    """What the project ships as a row that was never saved: published, without a time."""
    return ScoringProfileVersion(
        tenant_id=tenant_id,
        name=profile.name,
        version=profile.version,
        state=ScoringProfileVersion.State.PUBLISHED,
        numbers=profile.to_numbers(),
        adr_reference=SHIPPED_DECISIONS.get(profile.name, ""),
    )


def apply_number_changes(base: ScoringProfileVersion, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of `base` with `changes`, all of them written out.

    Raises `InvalidInput` that names every number that is unknown, out of bounds or does not sum up.
    """
    numbers = {**base.numbers, **changes}
    problems = problems_of_numbers(numbers)
    if problems:
        raise invalid(problems)
    return ScoringProfile.from_numbers(base.name, base.version, numbers).to_numbers()


def proving_evaluation(row: ScoringProfileVersion) -> EvaluationRun | None:
    """The finished evaluation of exactly these numbers: the one stored with the version, else the newest there is."""
    if row.evaluation_run is not None:
        return row.evaluation_run
    run: EvaluationRun | None = (
        EvaluationRun.objects.for_tenant(row.tenant_id).proving(row.numbers).newest_first().first()
    )
    return run


def mark_drafts_evaluated(run: EvaluationRun) -> int:
    """Call drafts with exactly the numbers of a finished run evaluated from now on; how many there were."""
    waiting = ScoringProfileVersion.objects.for_tenant(run.tenant_id).waiting().of_numbers(run.profile_numbers)
    return waiting.update(state=ScoringProfileVersion.State.EVALUATED, evaluation_run=run)


def compare_scoring_profiles(tenant_id: UUID, left: NamedVersion, right: NamedVersion) -> list[ProfileFieldComparison]:
    """Every number of two versions, of one profile or of two; those of a group by `group.name`.

    Raises `InvalidInput` for a version that is not there.
    """
    return _compared(*(scoring_profile_version(tenant_id, *each) for each in (left, right)))


def number_differences(
    before: ScoringProfileVersion | None, after: ScoringProfileVersion
) -> list[ProfileFieldComparison]:
    """The numbers that differ; none where there is nothing before."""
    return [number for number in _compared(before, after) if number.differs] if before else []


def _compared(left: ScoringProfileVersion, right: ScoringProfileVersion) -> list[ProfileFieldComparison]:
    lefts, rights = flat_numbers(left.numbers), flat_numbers(right.numbers)
    fields = sorted({*lefts, *rights}, key=_place)
    return [ProfileFieldComparison(field, lefts.get(field), rights.get(field)) for field in fields]


def _place(field: str) -> tuple[int, int, str]:
    """Where a number stands on a page: by its group, then the parts of a score in their order."""
    group, _, part = field.partition(".")
    return (
        NUMBERS_IN_ORDER.index(group) if group in NUMBERS_IN_ORDER else len(NUMBERS_IN_ORDER),
        PART_NAMES.index(part) if part in PART_NAMES else len(PART_NAMES),
        part,
    )


def flat_numbers(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a profile without groups: `weights.relevance`, `half_life_days_by_kind.fact`, `pool_size`."""
    flat: dict[str, Any] = {}
    for name, value in numbers.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{part}": number for part, number in value.items()}
        else:
            flat[name] = value
    return flat
