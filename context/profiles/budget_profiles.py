"""Which version of a budget profile applies, and a draft of the next one. Called inside a scope."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError

from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile, BudgetProfileAssignment
from context.services.profiles.assignments import AssignmentTarget, assigned_profile
from context.services.profiles.compaction_policy import problems_of_policy
from context.services.profiles.fields import BUDGET_FIELDS, SUMMARY_LEVEL_MAX
from context.services.profiles.sections import problems_of_sections
from memories.services.partitions.paths import parse_partition
from memories.services.store.drafts import FieldProblem
from memories.tenancy.exceptions import InvalidInput, NotFound, invalid
from memory_platform.web.forms import number_requirement_text

#: Separates name and version if an operator previews one version of a profile.
VERSION_MARK = "@"
_VERSION_DIGITS_MAX = 9


def default_budget_profile(tenant_id: UUID) -> BudgetProfile:
    """Return the model's defaults as version 0, unsaved."""
    return BudgetProfile(tenant_id=tenant_id, name=DEFAULT_BUDGET_PROFILE_NAME, version=0)


def current_budget_profile(
    tenant_id: UUID, name: str = DEFAULT_BUDGET_PROFILE_NAME, *, at: datetime | None = None
) -> BudgetProfile:
    """Return the active version, now or at a recorded time. Raises `InvalidInput` for an unknown name."""
    row: BudgetProfile | None = BudgetProfile.objects.for_tenant(tenant_id).named(name).active(at).first()
    if row is not None:
        return row
    if name == DEFAULT_BUDGET_PROFILE_NAME:
        return default_budget_profile(tenant_id)
    raise InvalidInput("unknown_budget_profile", "No budget profile has this name.", field="budget_profile")


def find_budget_profile(tenant_id: UUID, name: str) -> BudgetProfile:
    """Return the active version. Raises `NotFound` for an unknown name."""
    try:
        return current_budget_profile(tenant_id, name)
    except InvalidInput as error:
        raise NotFound("not_found", error.detail) from error


def budget_profile_for(
    tenant_id: UUID, *, api_key_id: str | None, partition_path: str, name: str | None = None, at: datetime | None = None
) -> BudgetProfile:
    """Return the profile for a context: the named one, else the key's, the longest partition's, the default.

    One query. `at` reads what was active at a recorded time. Raises `InvalidInput` for an unknown `name`.
    """
    if name:
        return current_budget_profile(tenant_id, name, at=at)
    return budget_profiles_for(tenant_id, [partition_path], api_key_id=api_key_id, at=at)[partition_path]


def budget_profiles_for(
    tenant_id: UUID, partition_paths: Iterable[str], *, api_key_id: str | None = None, at: datetime | None = None
) -> dict[str, BudgetProfile]:
    """Return the profile assigned in each of the partitions, else the default. One query."""
    paths = set(partition_paths)
    assignments = BudgetProfileAssignment.objects.for_tenant(tenant_id).active(at)
    targeted = assignments.for_targets(api_key_id, {each for path in paths for each in partition_lineage(path)})
    rows = {row.name: row for row in BudgetProfile.objects.for_tenant(tenant_id).active(at).assigned_by(targeted)}
    # without any row only the default can be assigned
    every = next(iter(rows.values())).assignments if rows else []
    targets = [AssignmentTarget(each["name"], each["path"]) for each in every]
    default = rows.get(DEFAULT_BUDGET_PROFILE_NAME) or default_budget_profile(tenant_id)
    return {path: rows.get(assigned_profile(targets, path) or DEFAULT_BUDGET_PROFILE_NAME, default) for path in paths}


def partition_lineage(partition_path: str) -> list[str]:
    """Return the paths of a partition and of all above it."""
    partition = parse_partition(partition_path)
    return [row.path for row in (*partition.ancestors(), partition)]


def current_budget_profiles(tenant_id: UUID) -> list[BudgetProfile]:
    """Return the active versions, `default` first, then by name."""
    rows = {row.name: row for row in BudgetProfile.objects.for_tenant(tenant_id).current().versions()}
    default = rows.pop(DEFAULT_BUDGET_PROFILE_NAME, None) or default_budget_profile(tenant_id)
    return [default, *rows.values()]


def retired_budget_profiles(tenant_id: UUID) -> list[str]:
    """Return the names of profiles without an active version, in alphabetical order."""
    rows = BudgetProfile.objects.for_tenant(tenant_id)
    names = set(rows.order_by().values_list("name", flat=True).distinct())
    return sorted(names - set(rows.current().values_list("name", flat=True)) - {DEFAULT_BUDGET_PROFILE_NAME})


def budget_profile_versions(tenant_id: UUID, name: str) -> list[BudgetProfile]:
    """Return all versions, newest first; `default` ends with version 0, the built-in defaults. Raises `NotFound`."""
    rows: list[BudgetProfile] = list(BudgetProfile.objects.for_tenant(tenant_id).named(name).versions())
    if name == DEFAULT_BUDGET_PROFILE_NAME:
        rows.append(default_budget_profile(tenant_id))
    return rows or [find_budget_profile(tenant_id, name)]


def budget_profile_version(tenant_id: UUID, name: str, version: int) -> BudgetProfile:
    """Return one version of a profile, including version 0 of `default`. Raises `InvalidInput` if there is none."""
    row: BudgetProfile | None = BudgetProfile.objects.for_tenant(tenant_id).named(name).numbered(version).first()
    if row is not None:
        return row
    if (name, version) == (DEFAULT_BUDGET_PROFILE_NAME, 0):
        return default_budget_profile(tenant_id)
    raise InvalidInput("unknown_version", "There is no such version of this budget profile.", field="version")


def version_number(text: str) -> int | None:
    """Return the number of a version in a reference; None if the text is no such number."""
    return int(text) if text.isdecimal() and len(text) <= _VERSION_DIGITS_MAX else None


def referenced_budget_profile(tenant_id: UUID, reference: str) -> BudgetProfile:
    """Return the version that `reference` names as `name@version`. Raises `InvalidInput` if there is none."""
    name, _, version = reference.partition(VERSION_MARK)
    if (number := version_number(version)) is not None:
        with suppress(InvalidInput):
            return budget_profile_version(tenant_id, name, number)
    raise InvalidInput("unknown_budget_profile", "No budget profile has this version.", field="budget_profile")


def draft_budget_profile(base: BudgetProfile, changes: Mapping[str, Any]) -> BudgetProfile:
    """Return an unsaved copy of `base` with `changes`. Raises `InvalidInput` naming every invalid field."""
    problems = [
        FieldProblem(name, "unknown_field", "A budget profile has no such field.")
        for name in changes
        if name not in BUDGET_FIELDS
    ]
    values = {name: changes.get(name, value) for name, value in base.tuned_numbers.items()}
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
        # the check of an array fails with an exception unless it is a list of numbers; `_beyond_columns` checks it
        draft.clean_fields(exclude=columns - set(BUDGET_FIELDS) | {"include_summaries_at"})
    except ValidationError as error:
        faults = error.error_dict
        problems = [FieldProblem(name, "out_of_range", _detail(name, faults[name])) for name in faults]
    invalid_fields = {problem.field for problem in problems}
    return problems + [problem for problem in _beyond_columns(draft) if problem.field not in invalid_fields]


def _detail(name: str, faults: Sequence[ValidationError]) -> str:
    """Return the problem of a value, with the limits if it is outside them."""
    field = BUDGET_FIELDS[name]
    if field.bounds and {fault.code for fault in faults} <= {"min_value", "max_value"}:
        return number_requirement_text(field.least, field.most, is_whole=field.is_whole)
    return " ".join(text for fault in faults for text in fault.messages)


def _beyond_columns(draft: BudgetProfile) -> Iterator[FieldProblem]:
    """Yield the problems that no single column can check."""
    for name, value in draft.tuned_numbers.items():
        # no comparison with a bound refuses NaN
        if isinstance(value, float) and math.isnan(value):
            yield FieldProblem(name, "not_finite", "Must be a finite number.")
    yield from problems_of_sections(draft.sections)
    for problem in problems_of_policy(draft.compaction):
        yield replace(problem, field=f"compaction.{problem.field}".rstrip("."))
    levels: object = draft.include_summaries_at
    allowed = range(SUMMARY_LEVEL_MAX + 1)
    if not isinstance(levels, list) or any(type(level) is not int or level not in allowed for level in levels):
        detail = f"Levels are whole numbers from 0, the first segment, to {SUMMARY_LEVEL_MAX}."
        yield FieldProblem("include_summaries_at", "out_of_range", detail)
    lowest, highest = draft.elastic_min_tokens, draft.elastic_max_tokens
    if isinstance(lowest, int) and isinstance(highest, int) and lowest > highest:
        yield FieldProblem("elastic_min_tokens", "above_maximum", "The minimum length may not exceed the maximum.")
