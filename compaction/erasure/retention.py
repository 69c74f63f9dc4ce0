"""Scheduled work on erasures: rows past their retention, and dry runs that are no longer needed (ADR-0130)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from compaction.erasure.selection import Selection
from compaction.models import Erasure, RetentionPolicy
from memories.models import Tenant
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import tenants_in_turn
from memory_platform.postgres.roles import logged_in_for_maintenance

#: Dry runs name the rows that they counted, so they are not kept.
DRY_RUN_KEPT = timedelta(days=1)
_POLICY_LABEL = "retention policy"


def erasures_of_policies(*, now: datetime) -> list[Erasure]:
    """Queue an erasure for each retention policy with something to erase, and return them; opens its own scopes."""
    with maintenance_scope():
        policies = list(RetentionPolicy.objects.order_by("tenant_id", "partition_path"))
    of_tenants = {pk: list(own) for pk, own in groupby(policies, attrgetter("tenant_id"))}
    turns = tenants_in_turn("retention-policies", of_tenants)
    found = (_erasure_of(policy, now) for pk in turns for policy in of_tenants[pk])
    return [erasure for erasure in found if erasure is not None]


@dataclass(frozen=True)
class PastRetention:
    """How many memories and sessions a policy erases when it is first applied."""

    memories: int
    sessions: int


def count_past_retention(
    *, tenant: Tenant, partition: str, days: int, age_from: str, now: datetime
) -> PastRetention | None:
    """Return what a policy with these values would erase immediately, None for nothing; inside the tenant's scope."""
    policy = RetentionPolicy(tenant_id=tenant.pk, partition_path=partition, days=days, age_from=age_from)
    selection = Selection(_new_erasure(policy, now))
    past = PastRetention(selection.memories.count(), selection.sessions.count())
    return past if past.memories or past.sessions else None


def _new_erasure(policy: RetentionPolicy, now: datetime) -> Erasure:
    return Erasure(
        tenant_id=policy.tenant_id,
        scope=Erasure.Scope.AGE,
        partition_path=policy.partition_path,
        age_from=policy.age_from,
        older_than=now - timedelta(days=policy.days),
        requested_by=_POLICY_LABEL,
        created_at=now,
    )


def _erasure_of(policy: RetentionPolicy, now: datetime) -> Erasure | None:
    erasure = _new_erasure(policy, now)
    with tenant_scope(policy.tenant_id):
        open_ones = Erasure.objects.for_tenant(policy.tenant_id)
        if open_ones.of_age_open(policy.partition_path, policy.age_from).exists():
            return None
        selection = Selection(erasure)
        if not selection.memories.exists() and not selection.sessions.exists():
            return None
        erasure.save(force_insert=True)
    return erasure


@logged_in_for_maintenance()
def delete_past_dry_runs(*, now: datetime) -> int:
    """Delete dry runs older than `DRY_RUN_KEPT` in every tenant; return how many."""
    with maintenance_scope():
        tenant_ids: list[UUID] = Erasure.objects.past_dry_runs(now - DRY_RUN_KEPT).tenant_ids()
    deleted = 0
    for tenant_id in tenants_in_turn("past-dry-runs", tenant_ids):
        with tenant_scope(tenant_id):
            rows = Erasure.objects.for_tenant(tenant_id).past_dry_runs(now - DRY_RUN_KEPT)
            deleted += rows.delete()[0]
    return deleted
