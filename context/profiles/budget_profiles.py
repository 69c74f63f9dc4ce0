"""Which version of the numbers applies, a draft of the next one, and how two compare. Called inside a scope."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models

from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile, BudgetProfileAssignment
from context.services.profiles.compaction_policy import problems_of_policy
from context.services.profiles.sections import AssignmentTarget, assigned_profile, problems_of_sections
from memories.services.partitions.paths import MAX_DEPTH, parse_partition
from memories.services.store.drafts import FieldProblem
from memories.tenancy.exceptions import InvalidInput, invalid
from memory_platform.web.limits import Limit, number_requirement_text, validator_limits

# What an operator tunes; every other column is bookkeeping.
TUNABLE_FIELDS = (
    "default_tokens",
    "sections",
    "include_tenant_memo",
    "include_summaries_at",
    "summary_style",
    "include_linked_memories",
    "include_memories_top_k",
    "overfetch_ratio",
    "minimum_score",
    "pinned_share",
    "near_duplicate_threshold",
    "packer",
    "elastic_target_items",
    "elastic_min_tokens",
    "elastic_max_tokens",
    "ordering",
    "receipt_days",
    "receipt_count",
    "compaction",
)
CODE_DEFAULT_VERSION = 0
#: The number of a partition's last possible segment, counted from 0.
SUMMARY_LEVEL_MAX = MAX_DEPTH - 1

#: A profile's name and the number of one of its versions.
NamedVersion = tuple[str, int]


@dataclass(frozen=True)
class ProfileFieldComparison:
    """One number of two versions of budget profiles."""

    field: str
    left: Any
    right: Any

    @property
    def differs(self) -> bool:
        return bool(self.left != self.right)


def default_budget_profile(tenant_id: UUID) -> BudgetProfile:
    """The numbers of a tenant that never saved any: the model's defaults as version 0, unsaved."""
    return BudgetProfile(tenant_id=tenant_id, name=DEFAULT_BUDGET_PROFILE_NAME, version=CODE_DEFAULT_VERSION)


def current_budget_profile(
    tenant_id: UUID, name: str = DEFAULT_BUDGET_PROFILE_NAME, *, at: datetime | None = None
) -> BudgetProfile:
    """The version in force, now or at a recorded time. Raises `InvalidInput` for a name the tenant does not have."""
    row: BudgetProfile | None = BudgetProfile.objects.for_tenant(tenant_id).named(name).in_force(at).first()
    if row is not None:
        return row
    if name == DEFAULT_BUDGET_PROFILE_NAME:
        return default_budget_profile(tenant_id)
    raise InvalidInput("unknown_budget_profile", "There is no budget profile of this name.", field="budget_profile")


def budget_profile_for(
    tenant_id: UUID,
    *,
    api_key_id: str | None,
    partition_path: str,
    name: str | None = None,
    at: datetime | None = None,
) -> BudgetProfile:
    """The profile a context is built with: the one named, else the key's, the longest partition's, the default.

    One query. `at` asks for what was in force at a recorded time. Raises `InvalidInput` for an unknown `name`.
    """
    if name:
        return current_budget_profile(tenant_id, name, at=at)
    return budget_profiles_for(tenant_id, [partition_path], api_key_id=api_key_id, at=at)[partition_path]


def budget_profiles_for(
    tenant_id: UUID, partition_paths: Iterable[str], *, api_key_id: str | None = None, at: datetime | None = None
) -> dict[str, BudgetProfile]:
    """The profile assigned in each of the partitions, else the default. One query."""
    paths = set(partition_paths)
    assignments = BudgetProfileAssignment.objects.for_tenant(tenant_id).in_force(at)
    targeted = assignments.for_targets(api_key_id, {each for path in paths for each in partition_lineage(path)})
    rows = {row.name: row for row in BudgetProfile.objects.for_tenant(tenant_id).in_force(at).assigned_by(targeted)}
    # without any row nothing but the default can have been assigned
    every = next(iter(rows.values())).assignments if rows else []
    targets = [AssignmentTarget(each["name"], each["path"]) for each in every]
    default = rows.get(DEFAULT_BUDGET_PROFILE_NAME) or default_budget_profile(tenant_id)
    return {path: rows.get(assigned_profile(targets, path) or DEFAULT_BUDGET_PROFILE_NAME, default) for path in paths}


def partition_lineage(partition_path: str) -> list[str]:
    """The paths of a partition and of all above it."""
    partition = parse_partition(partition_path)
    return [row.path for row in (*partition.ancestors(), partition)]


def current_budget_profiles(tenant_id: UUID) -> list[BudgetProfile]:
    """The versions in force by name; the defaults stand for a `default` that was never saved."""
    rows: list[BudgetProfile] = list(BudgetProfile.objects.for_tenant(tenant_id).current().versions())
    if not any(row.name == DEFAULT_BUDGET_PROFILE_NAME for row in rows):
        rows.append(default_budget_profile(tenant_id))
    return sorted(rows, key=lambda row: (row.name != DEFAULT_BUDGET_PROFILE_NAME, row.name))


def budget_profile_versions(tenant_id: UUID, name: str) -> list[BudgetProfile]:
    """All versions of a profile, newest first; `default` ends with version 0, the defaults of the code.

    Raises `InvalidInput` for a name the tenant does not have.
    """
    rows: list[BudgetProfile] = list(BudgetProfile.objects.for_tenant(tenant_id).named(name).versions())
    if name == DEFAULT_BUDGET_PROFILE_NAME:
        return [*rows, default_budget_profile(tenant_id)]
    return rows or [current_budget_profile(tenant_id, name)]


def budget_profile_version(tenant_id: UUID, name: str, version: int) -> BudgetProfile:
    """One version of a profile, version 0 of `default` included. Raises `InvalidInput` where there is none."""
    row: BudgetProfile | None = BudgetProfile.objects.for_tenant(tenant_id).named(name).numbered(version).first()
    if row is not None:
        return row
    if (name, version) == (DEFAULT_BUDGET_PROFILE_NAME, CODE_DEFAULT_VERSION):
        return default_budget_profile(tenant_id)
    raise InvalidInput("unknown_version", "There is no such version of this budget profile.", field="version")


def compare_budget_profiles(tenant_id: UUID, left: NamedVersion, right: NamedVersion) -> list[ProfileFieldComparison]:
    """Every tunable number of two versions, of one profile or of two.

    Raises `InvalidInput` for a version that is not there.
    """
    lefts, rights = (budget_profile_settings(budget_profile_version(tenant_id, *each)) for each in (left, right))
    return [ProfileFieldComparison(name, lefts[name], rights[name]) for name in TUNABLE_FIELDS]


def budget_profile_settings(profile: BudgetProfile) -> dict[str, Any]:
    """The tunable numbers by field name."""
    return {name: getattr(profile, name) for name in TUNABLE_FIELDS}


def changed_profile_fields(before: BudgetProfile, after: BudgetProfile) -> list[str]:
    """Names of the tunable fields that differ."""
    was, becomes = budget_profile_settings(before), budget_profile_settings(after)
    return [name for name in TUNABLE_FIELDS if was[name] != becomes[name]]


def draft_budget_profile(base: BudgetProfile, changes: Mapping[str, Any]) -> BudgetProfile:
    """An unsaved copy of `base` with `changes` applied and every bound checked.

    Raises `InvalidInput` that names every unknown field and every value out of bounds.
    """
    problems = [
        FieldProblem(name, "unknown_field", "A budget profile has no such field.")
        for name in changes
        if name not in TUNABLE_FIELDS
    ]
    values = {name: changes.get(name, value) for name, value in budget_profile_settings(base).items()}
    draft = BudgetProfile(tenant_id=base.tenant_id, name=base.name, version=base.version, **values)
    problems += _out_of_bounds(draft)
    if problems:
        raise invalid(problems)
    draft.include_summaries_at = sorted(set(draft.include_summaries_at))
    return draft


def _out_of_bounds(draft: BudgetProfile) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    columns = {field.name for field in BudgetProfile._meta.fields}
    try:
        # an array's own check fails on what is no list of numbers; `_beyond_columns` looks at it
        draft.clean_fields(exclude=columns - set(TUNABLE_FIELDS) | {"include_summaries_at"})
    except ValidationError as error:
        problems += [
            FieldProblem(name, "out_of_range", _told(name, faults)) for name, faults in error.error_dict.items()
        ]
    blamed = {problem.field for problem in problems}
    return problems + [problem for problem in _beyond_columns(draft) if problem.field not in blamed]


def profile_column_limits(name: str) -> tuple[Limit, Limit]:
    """The least and the most that a number of a profile may be."""
    column = BudgetProfile._meta.get_field(name)
    return validator_limits(column.validators) if isinstance(column, models.Field) else (None, None)


def _told(name: str, faults: Sequence[ValidationError]) -> str:
    """What is wrong with a value, with the limits where it is beyond them."""
    if {fault.code for fault in faults} <= {"min_value", "max_value"}:
        is_whole = isinstance(BudgetProfile._meta.get_field(name), models.IntegerField)
        return number_requirement_text(*profile_column_limits(name), is_whole=is_whole)
    return " ".join(text for fault in faults for text in fault.messages)


def _beyond_columns(draft: BudgetProfile) -> Iterator[FieldProblem]:
    """What no column checks by itself."""
    for name, value in budget_profile_settings(draft).items():
        # no comparison with a bound ever refuses NaN
        if isinstance(value, float) and math.isnan(value):
            yield FieldProblem(name, "not_finite", "A finite number is needed.")
    for problem in problems_of_sections(draft.sections):
        yield FieldProblem("sections", problem.code, problem.detail)
    for flaw in problems_of_policy(draft.compaction):
        yield FieldProblem(f"compaction.{flaw.field}".rstrip("."), flaw.code, flaw.detail)
    if not _are_levels(draft.include_summaries_at):
        detail = f"Levels are whole numbers from 0, the first segment, to {SUMMARY_LEVEL_MAX}."
        yield FieldProblem("include_summaries_at", "out_of_range", detail)
    lowest, highest = draft.elastic_min_tokens, draft.elastic_max_tokens
    if isinstance(lowest, int) and isinstance(highest, int) and lowest > highest:
        yield FieldProblem("elastic_min_tokens", "above_maximum", "The least may not exceed the most of an item.")


def _are_levels(value: object) -> bool:
    return isinstance(value, list) and all(type(level) is int and 0 <= level <= SUMMARY_LEVEL_MAX for level in value)
