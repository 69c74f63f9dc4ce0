"""Create, change and roll back budget profiles: every save adds a version, none is overwritten."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import transaction

from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile, BudgetProfileAssignment
from context.profiles.actions.assignments import assign_budget_profile
from context.profiles.budget_profiles import budget_profile_version, current_budget_profile, draft_budget_profile
from context.profiles.versions import (
    audit_profile,
    changed_numbers,
    check_new_name,
    insert_version,
    labelled_changes,
    name_is_taken,
)
from context.services.profiles.fields import BUDGET_FIELDS
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound
from memory_platform.web.numerals import counted


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
    """Create version 1 of a new profile from the active numbers of another one with `changes`."""
    rows = BudgetProfile.objects.for_tenant(tenant_id)
    check_new_name("budget", name, rows, [DEFAULT_BUDGET_PROFILE_NAME])
    try:
        base = current_budget_profile(tenant_id, based_on)
    except InvalidInput as error:
        raise InvalidInput(error.code, error.detail, "based_on") from error
    draft = draft_budget_profile(base, changes)
    draft.name, draft.version = name, 1
    insert_version(draft, refusal=name_is_taken("budget", name), by=by, now=now)
    _audit(draft, "create", BUDGET_FIELDS, by, now)
    return draft


@transaction.atomic
def retire_budget_profile(*, tenant_id: UUID, name: str, by: Actor, now: datetime) -> BudgetProfile:
    """End the use of a profile; its versions stay readable. Raises `Conflict` while it is assigned, or `NotFound`."""
    if name == DEFAULT_BUDGET_PROFILE_NAME:
        raise Conflict("default_profile", "The default profile cannot be retired or renamed.", "name")
    rows = BudgetProfile.objects.for_tenant(tenant_id).named(name)
    row: BudgetProfile | None = rows.current().locked().first()
    if row is None:
        raise NotFound("not_found", "No budget profile has this name.")
    assigned = BudgetProfileAssignment.objects.for_tenant(tenant_id).active().of_profile(name)
    if count := assigned.row_count():
        detail = f"The profile has {counted(count, 'assignment', 'assignments')}; end or change them first."
        raise Conflict("assigned", detail)
    row.recorded_to = max(now, row.recorded_from)
    row.save(update_fields=["recorded_to"])
    _audit(row, "retire", [], by, now)
    return row


@transaction.atomic
def restore_budget_profile(*, tenant_id: UUID, name: str, by: Actor, now: datetime) -> BudgetProfile:
    """Make the last version of a retired profile active again, as a new one. Raises `NotFound` or `Conflict`."""
    rows = BudgetProfile.objects.for_tenant(tenant_id).named(name)
    last = rows.versions().locked().first()
    if last is None:
        raise NotFound("not_found", "No budget profile has this name.")
    if last.recorded_to is None:
        raise Conflict("not_retired", "This profile is in use.")
    draft = draft_budget_profile(last, {})
    draft.version, draft.rolled_back_to = last.version + 1, last.version
    refusal = Conflict("profile_changed", "Someone else restored this budget profile at the same time.")
    insert_version(draft, refusal=refusal, by=by, now=max(now, last.recorded_to))
    _audit(draft, "restore", [], by, now)
    return draft


@transaction.atomic
def rename_budget_profile(*, tenant_id: UUID, name: str, new_name: str, by: Actor, now: datetime) -> BudgetProfile:
    """Give the numbers and the assignments of a profile to a new one, and retire it.

    Receipts keep the name with which they were stored. Raises `InvalidInput` or `Conflict` about the field `name`.
    """
    created = create_budget_profile(tenant_id=tenant_id, name=new_name, based_on=name, by=by, now=now)
    assigned = BudgetProfileAssignment.objects.for_tenant(tenant_id).active().of_profile(name)
    for row in assigned.order_by("pk").locked():
        target = {"api_key_id": row.api_key_id} if row.api_key_id else {"partition_path": row.partition_path}
        assign_budget_profile(tenant_id=tenant_id, profile_name=new_name, replaces=name, by=by, now=now, **target)
    retire_budget_profile(tenant_id=tenant_id, name=name, by=by, now=now)
    return created


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
    """Save `changes` as a new active version, if a number differs. `edited_from` is the version that the editor saw."""
    return _open_version(_active_version(tenant_id, name, edited_from), changes, verb="save", by=by, now=now)


@transaction.atomic
def roll_back_budget_profile(
    *, tenant_id: UUID, name: str = DEFAULT_BUDGET_PROFILE_NAME, version: int, replaces: int, by: Actor, now: datetime
) -> BudgetProfile:
    """Make the numbers of an older version (0: the defaults) active again. `replaces` is the version the caller saw."""
    base = _active_version(tenant_id, name, replaces)
    numbers = budget_profile_version(tenant_id, name, version).tuned_numbers
    return _open_version(base, numbers, verb="roll_back", rolled_back_to=version, by=by, now=now)


def _active_version(tenant_id: UUID, name: str, seen: int) -> BudgetProfile:
    """Return the active version, which must be the one that the caller saw, locked until the transaction ends."""
    base = BudgetProfile.objects.for_tenant(tenant_id).named(name).current().locked().first()
    if base is None:
        # another request may have closed the row that this one waited for; a newer row is then active
        base = current_budget_profile(tenant_id, name)
    if base.version != seen:
        raise Conflict("profile_changed", f"Version {base.version} has become active. Check it before you save again.")
    return base


def _open_version(
    base: BudgetProfile,
    changes: Mapping[str, Any],
    *,
    verb: str,
    rolled_back_to: int | None = None,
    by: Actor,
    now: datetime,
) -> BudgetProfile:
    draft = draft_budget_profile(base, changes)
    changed = [number.field for number in changed_numbers(base, draft)]
    if not changed:
        return base
    # never before the start of the preceding version, whichever of two requests came first
    at = max(now, base.recorded_from or now)
    if base.pk is not None:
        base.recorded_to = at
        base.save(update_fields=["recorded_to"])
    draft.version, draft.rolled_back_to = base.version + 1, rolled_back_to
    refusal = Conflict("profile_changed", "Someone else saved this budget profile at the same time.")
    insert_version(draft, refusal=refusal, by=by, now=at)
    _audit(draft, verb, changed, by, now, before=base)
    return draft


def _audit(
    row: BudgetProfile,
    verb: str,
    fields: Iterable[str],
    by: Actor,
    now: datetime,
    *,
    before: BudgetProfile | None = None,
) -> None:
    targets, changed = [f"{row.name} {row.version}"], labelled_changes(before, row)
    audit_profile("budget", row, verb, fields, targets=targets, changed=changed, by=by, now=now)
