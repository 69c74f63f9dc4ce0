"""What operators change about contexts: each verb one transaction, one audit row."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from context.budget_profiles import (
    budget_profile_version,
    changed_fields,
    current_budget_profile,
    draft_budget_profile,
    settings_of,
)
from context.models import DEFAULT_PROFILE_NAME, BudgetProfile
from memories.audit import Actor, record_audit
from memories.exceptions import Conflict

LABEL_CHARACTERS = 150


@transaction.atomic
def save_budget_profile(
    *,
    tenant_id: UUID,
    name: str = DEFAULT_PROFILE_NAME,
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
    if not changed_fields(base, draft):
        return base
    return _open_version(base, draft, verb="save_budget_profile", by=by, now=now)


@transaction.atomic
def roll_back_budget_profile(
    *, tenant_id: UUID, name: str = DEFAULT_PROFILE_NAME, version: int, edited_from: int, by: Actor, now: datetime
) -> BudgetProfile:
    """Put the numbers of an older version into force again, as a new version; version 0 are the defaults.

    Raises `Conflict` as `save_budget_profile` does, and `InvalidInput` where there is no such version.
    """
    base = _version_in_force(tenant_id, name, edited_from)
    draft = draft_budget_profile(base, settings_of(budget_profile_version(tenant_id, name, version)))
    if not changed_fields(base, draft):
        return base
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
    if base.pk is not None:
        base.recorded_to = now
        base.save(update_fields=["recorded_to"])
    draft.version = base.version + 1
    draft.recorded_from = now
    draft.created_by = by.label[:LABEL_CHARACTERS]
    try:
        with transaction.atomic():
            draft.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict("profile_changed", "Somebody else saved this budget profile at the same moment.") from error
    record_audit(
        tenant_id=draft.tenant_id,
        by=by,
        now=now,
        verb=verb,
        target_kind="budget_profile",
        target_ids=[f"{draft.name} {draft.version}"],
        fields=changed_fields(base, draft),
    )
    return draft
