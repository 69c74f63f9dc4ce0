"""Which version of the numbers applies, and a draft of the next one. Called inside a scope."""

import math
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError

from context.models import DEFAULT_PROFILE_NAME, BudgetProfile
from memories.exceptions import InvalidInput, invalid
from memories.services.drafts import FieldProblem

# What an operator tunes; every other column is bookkeeping.
TUNABLE_FIELDS = (
    "default_tokens",
    "overfetch_ratio",
    "minimum_score",
    "packer",
    "ordering",
    "include_tenant_memo",
    "include_memories_top_k",
)
CODE_DEFAULT_VERSION = 0


def default_budget_profile(tenant_id: UUID) -> BudgetProfile:
    """The numbers of a tenant that never saved any: the model's defaults as version 0, unsaved."""
    return BudgetProfile(tenant_id=tenant_id, name=DEFAULT_PROFILE_NAME, version=CODE_DEFAULT_VERSION)


def current_budget_profile(tenant_id: UUID, name: str = DEFAULT_PROFILE_NAME) -> BudgetProfile:
    """The version in force. Raises `InvalidInput` for a name that the tenant does not have."""
    row: BudgetProfile | None = BudgetProfile.objects.for_tenant(tenant_id).named(name).current().first()
    if row is not None:
        return row
    if name == DEFAULT_PROFILE_NAME:
        return default_budget_profile(tenant_id)
    raise InvalidInput("unknown_budget_profile", "There is no budget profile of this name.", field="budget_profile")


def budget_profile_version(tenant_id: UUID, name: str, version: int) -> BudgetProfile:
    """One version of a profile, version 0 of `default` included. Raises `InvalidInput` where there is none."""
    row: BudgetProfile | None = BudgetProfile.objects.for_tenant(tenant_id).named(name).numbered(version).first()
    if row is not None:
        return row
    if (name, version) == (DEFAULT_PROFILE_NAME, CODE_DEFAULT_VERSION):
        return default_budget_profile(tenant_id)
    raise InvalidInput("unknown_version", "There is no such version of this budget profile.", field="version")


def settings_of(profile: BudgetProfile) -> dict[str, Any]:
    """The tunable numbers by field name."""
    return {name: getattr(profile, name) for name in TUNABLE_FIELDS}


def changed_fields(before: BudgetProfile, after: BudgetProfile) -> list[str]:
    """Names of the tunable fields that differ."""
    was, becomes = settings_of(before), settings_of(after)
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
    values = {name: changes.get(name, value) for name, value in settings_of(base).items()}
    draft = BudgetProfile(tenant_id=base.tenant_id, name=base.name, version=base.version, **values)
    problems += _out_of_bounds(draft)
    if problems:
        raise invalid(problems)
    return draft


def _out_of_bounds(draft: BudgetProfile) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    try:
        draft.clean_fields(exclude={field.name for field in BudgetProfile._meta.fields} - set(TUNABLE_FIELDS))
    except ValidationError as error:
        problems += [FieldProblem(name, "out_of_range", " ".join(texts)) for name, texts in error.message_dict.items()]
    for name, value in settings_of(draft).items():
        # no comparison with a bound ever refuses NaN
        if isinstance(value, float) and math.isnan(value):
            problems.append(FieldProblem(name, "not_finite", "A finite number is needed."))
    return problems
