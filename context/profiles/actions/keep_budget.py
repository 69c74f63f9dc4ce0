"""Save a budget that was found for a question in a profile, in a new one, or for one partition."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.db import transaction

from context.models import BudgetProfile
from context.profiles.actions.assignments import assign_budget_profile
from context.profiles.actions.budget_profiles import create_budget_profile, save_budget_profile
from memories.tenancy.audit import Actor


class KeepBudgetIn(StrEnum):
    """The place in which a budget is saved."""

    PROFILE = "profile"
    NEW_PROFILE = "new"
    PARTITION = "partition"


@transaction.atomic
def keep_budget(
    *,
    tenant_id: UUID,
    max_tokens: int,
    keep_in: KeepBudgetIn,
    profile_name: str,
    edited_from: int,
    new_name: str = "",
    partition: str = "",
    by: Actor,
    now: datetime,
) -> BudgetProfile:
    """Save `max_tokens` as the default budget, and return the version that has it.

    It becomes the next version of `profile_name`, of which the caller saw version `edited_from`; or the first version
    of the profile `new_name`, with all other numbers of `profile_name`, which is assigned to `partition` if it is saved
    there. Raises the errors of saving, creating and assigning a profile.
    """
    changes = {"default_tokens": max_tokens}
    if keep_in is KeepBudgetIn.PROFILE:
        return save_budget_profile(
            tenant_id=tenant_id, name=profile_name, changes=changes, edited_from=edited_from, by=by, now=now
        )
    row = create_budget_profile(
        tenant_id=tenant_id, name=new_name, changes=changes, based_on=profile_name, by=by, now=now
    )
    if keep_in is KeepBudgetIn.PARTITION:
        assign_budget_profile(tenant_id=tenant_id, profile_name=new_name, partition_path=partition, by=by, now=now)
    return row
