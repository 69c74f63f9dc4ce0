"""Making, changing and rolling back budget profiles: every save opens a version, none is ever overwritten."""

import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile
from context.profiles.budget_profiles import (
    TUNABLE_FIELDS,
    budget_profile_settings,
    budget_profile_version,
    changed_profile_fields,
    current_budget_profile,
    draft_budget_profile,
)
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput

_NAME_CHARACTERS = 64
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


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
    """Version 1 of a new profile: the numbers in force of another one, with `changes`.

    Raises `InvalidInput` naming the field for a name or a value that cannot be, `Conflict` for a name that is taken.
    """
    if not _NAME.fullmatch(name) or len(name) > _NAME_CHARACTERS:
        detail = f"A name is a lower-case word of letters, digits, _ and -, at most {_NAME_CHARACTERS} characters."
        raise InvalidInput("bad_name", detail, field="name")
    if name == DEFAULT_BUDGET_PROFILE_NAME or BudgetProfile.objects.for_tenant(tenant_id).named(name).exists():
        raise _name_is_taken(name)
    draft = draft_budget_profile(current_budget_profile(tenant_id, based_on), changes)
    draft.name, draft.version = name, 1
    try:
        with transaction.atomic():
            _put_into_force(draft, by, now)
    except IntegrityError as error:
        raise _name_is_taken(name) from error
    _audit(draft, "create_budget_profile", list(TUNABLE_FIELDS), by, now)
    return draft


def _name_is_taken(name: str) -> Conflict:
    return Conflict("duplicate", f"A budget profile named {name} exists already.", "name")


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
    if not changed_profile_fields(base, draft):
        return base
    return _open_version(base, draft, verb="save_budget_profile", by=by, now=now)


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
    draft = draft_budget_profile(base, budget_profile_settings(budget_profile_version(tenant_id, name, version)))
    if not changed_profile_fields(base, draft):
        return base
    draft.rolled_back_to = version
    return _open_version(base, draft, verb="roll_back_budget_profile", by=by, now=now)


def _version_in_force(tenant_id: UUID, name: str, edited_from: int) -> BudgetProfile:
    """The current version, held until the transaction ends; it must be the one that was edited."""
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
    try:
        with transaction.atomic():
            _put_into_force(draft, by, at)
    except IntegrityError as error:
        raise Conflict("profile_changed", "Somebody else saved this budget profile at the same moment.") from error
    _audit(draft, verb, changed_profile_fields(base, draft), by, now)
    return draft


def _put_into_force(draft: BudgetProfile, by: Actor, now: datetime) -> None:
    draft.recorded_from = now
    draft.created_by = by.stored_label
    draft.save(force_insert=True)


def _audit(profile: BudgetProfile, verb: str, fields: list[str], by: Actor, now: datetime) -> None:
    record_audit(
        tenant_id=profile.tenant_id,
        by=by,
        now=now,
        verb=verb,
        target_kind="budget_profile",
        target_ids=[f"{profile.name} {profile.version}"],
        fields=fields,
    )
