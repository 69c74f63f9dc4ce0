"""Making, changing and rolling back budget profiles: every save opens a version, none is ever overwritten."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import transaction

from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile
from context.profiles.budget_profiles import (
    budget_profile_version,
    current_budget_profile,
    draft_budget_profile,
)
from context.profiles.saving import audit_profile, check_profile_name, insert_version, name_is_taken
from context.profiles.versions import changed_numbers
from context.services.profiles.fields import BUDGET_FIELDS
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict


@transaction.atomic
def create_budget_profile(
    *,
    tenant_id: UUID,
    name: str,
    changes: Mapping[str, Any] = MappingProxyType({}),
    based_on: str = DEFAULT_BUDGET_PROFILE_NAME,
    by: Actor,
    now: datetime,
) -> BudgetProfile:
    """Make version 1 of a new profile: the numbers in force of another one, with `changes`.

    Raises `InvalidInput` naming the field for a name or a value that cannot be, `Conflict` for a name that is taken.
    """
    check_profile_name(name)
    refusal = name_is_taken("budget", name)
    if name == DEFAULT_BUDGET_PROFILE_NAME or BudgetProfile.objects.for_tenant(tenant_id).named(name).exists():
        raise refusal
    draft = draft_budget_profile(current_budget_profile(tenant_id, based_on), changes)
    draft.name, draft.version = name, 1
    insert_version(draft, refusal=refusal, by=by, now=now)
    _audit(draft, "create", BUDGET_FIELDS, by, now)
    return draft


@transaction.atomic
def save_budget_profile(
    *,
    tenant_id: UUID,
    name: str = DEFAULT_BUDGET_PROFILE_NAME,
    changes: Mapping[str, Any],
    edited_from: int,
    by: Actor,
    now: datetime,
) -> BudgetProfile:
    """Put `changes` into force as a new version; without any difference the version in force stays.

    `edited_from` is the version the editor saw. Raises `Conflict` when another one is in force by now, `InvalidInput`
    naming the field for a value out of bounds.
    """
    base = _version_in_force(tenant_id, name, edited_from)
    draft = draft_budget_profile(base, changes)
    if not changed_numbers(base, draft):
        return base
    return _open_version(base, draft, verb="save", by=by, now=now)


@transaction.atomic
def roll_back_budget_profile(
    *,
    tenant_id: UUID,
    name: str = DEFAULT_BUDGET_PROFILE_NAME,
    version: int,
    edited_from: int,
    by: Actor,
    now: datetime,
) -> BudgetProfile:
    """Put the numbers of an older version into force again, as a new version; version 0 are the defaults.

    Raises `Conflict` as `save_budget_profile` does, and `InvalidInput` where there is no such version.
    """
    base = _version_in_force(tenant_id, name, edited_from)
    draft = draft_budget_profile(base, budget_profile_version(tenant_id, name, version).tuned_numbers)
    if not changed_numbers(base, draft):
        return base
    draft.rolled_back_to = version
    return _open_version(base, draft, verb="roll_back", by=by, now=now)


def _version_in_force(tenant_id: UUID, name: str, edited_from: int) -> BudgetProfile:
    """Return the current version, locked until the transaction ends; it must be the one that was edited."""
    rows = BudgetProfile.objects.for_tenant(tenant_id).named(name)
    base = rows.current().locked().first()
    if base is None:
        # another saver may have closed the row this one waited for: then the newer one is in force
        base = current_budget_profile(tenant_id, name)
    if base.version != edited_from:
        raise Conflict("profile_changed", f"Version {base.version} is in force by now; look at it before saving again.")
    return base


def _open_version(base: BudgetProfile, draft: BudgetProfile, *, verb: str, by: Actor, now: datetime) -> BudgetProfile:
    # never before the version in front of it began, whichever of two requests came first
    at = max(now, base.recorded_from or now)
    if base.pk is not None:
        base.recorded_to = at
        base.save(update_fields=["recorded_to"])
    draft.version = base.version + 1
    refusal = Conflict("profile_changed", "Somebody else saved this budget profile at the same moment.")
    insert_version(draft, refusal=refusal, by=by, now=at)
    _audit(draft, verb, [number.field for number in changed_numbers(base, draft)], by, now)
    return draft


def _audit(row: BudgetProfile, verb: str, fields: Iterable[str], by: Actor, now: datetime) -> None:
    audit_profile("budget", row, verb, fields, targets=[f"{row.name} {row.version}"], by=by, now=now)
