"""The compaction policies of one or many sessions. Called inside a scope."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from uuid import UUID

from compaction.models import Session
from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile, BudgetProfileAssignment
from context.profiles.budget_profiles import budget_profile_for
from context.services.profiles.compaction_policy import DEFAULT_POLICY, CompactionPolicy
from context.services.profiles.sections import AssignmentTarget, assigned_profile


def session_policy(session: Session) -> CompactionPolicy:
    """Return the policy of a session: that of the key which opened it, else of its partition."""
    key_id = session.created_by_key_id
    profile = budget_profile_for(session.tenant_id, api_key_id=key_id, partition_path=session.partition_path)
    return profile.compaction_policy


class TenantPolicies:
    """The active policies of a tenant, read in two queries."""

    def __init__(self, tenant_id: UUID) -> None:
        profiles = BudgetProfile.objects.for_tenant(tenant_id).active()
        self._take(profiles, BudgetProfileAssignment.objects.for_tenant(tenant_id).active())

    @classmethod
    def of_tenants(cls, tenant_ids: Collection[UUID]) -> "dict[UUID, TenantPolicies]":
        """Return the policies of several tenants, in two queries; inside a scope that reads them."""
        profiles = list(BudgetProfile.objects.of_tenants(tenant_ids).active())
        assignments = list(BudgetProfileAssignment.objects.of_tenants(tenant_ids).active())
        found = {tenant_id: cls.__new__(cls) for tenant_id in tenant_ids}
        for tenant_id, policies in found.items():
            policies._take(*([row for row in rows if row.tenant_id == tenant_id] for rows in (profiles, assignments)))
        return found

    def _take(self, profiles: Iterable[BudgetProfile], assignments: Iterable[BudgetProfileAssignment]) -> None:
        self._by_name: dict[str, CompactionPolicy] = {row.name: row.compaction_policy for row in profiles}
        self._assignments = [
            (row.api_key_id, AssignmentTarget(row.profile_name, row.partition_path)) for row in assignments
        ]

    def of(self, session: Session) -> CompactionPolicy:
        """Return the policy of the key that opened the session, else of its partition, else the default."""
        key_id = session.created_by_key_id
        targets = [target for api_key_id, target in self._assignments if api_key_id in (None, key_id)]
        name = assigned_profile(targets, session.partition_path) or DEFAULT_BUDGET_PROFILE_NAME
        return self._by_name.get(name) or self._by_name.get(DEFAULT_BUDGET_PROFILE_NAME) or DEFAULT_POLICY

    def min_sleep_threshold(self) -> float:
        """Return the lowest sleep threshold of any active policy."""
        return min(policy.sleep_threshold for policy in self._active())

    def min_idle_time(self) -> timedelta:
        """Return the shortest idle time of any active policy."""
        return timedelta(minutes=min(policy.idle_minutes for policy in self._active()))

    def _active(self) -> list[CompactionPolicy]:
        return [DEFAULT_POLICY, *self._by_name.values()]

    def min_warning_threshold(self) -> float:
        """Return the lowest warning threshold of any active policy."""
        return min(
            [policy.warning_threshold for policy in self._by_name.values()] or [DEFAULT_POLICY.warning_threshold]
        )
