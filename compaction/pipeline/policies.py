"""The compaction policies of one or many sessions. Called inside a scope."""

from collections.abc import Collection, Iterable
from uuid import UUID

from compaction.models import Session
from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile, BudgetProfileAssignment
from context.profiles.budget_profiles import budget_profile_for
from context.services.profiles.assignments import AssignmentTarget, assigned_profile
from context.services.profiles.compaction_policy import DEFAULT_POLICY, CompactionPolicy


def session_policy(session: Session) -> CompactionPolicy:
    """Return the policy of a session: that of the key which opened it, else of its partition."""
    key_id = session.created_by_key_id
    profile = budget_profile_for(session.tenant_id, api_key_id=key_id, partition_path=session.partition_path)
    return profile.compaction_policy


class TenantPolicies:
    """The active policies of a tenant."""

    def __init__(self, profiles: Iterable[BudgetProfile], assignments: Iterable[BudgetProfileAssignment]) -> None:
        self._by_name = {DEFAULT_BUDGET_PROFILE_NAME: DEFAULT_POLICY}
        self._by_name |= {row.name: row.compaction_policy for row in profiles}
        self._assignments = [
            (row.api_key_id, AssignmentTarget(row.profile_name, row.partition_path)) for row in assignments
        ]

    @classmethod
    def of_tenants(cls, tenant_ids: Collection[UUID]) -> "dict[UUID, TenantPolicies]":
        """Return the policies of the tenants, in two queries; inside a scope that reads them."""
        profiles = list(BudgetProfile.objects.of_tenants(tenant_ids).active())
        assignments = list(BudgetProfileAssignment.objects.of_tenants(tenant_ids).active())
        return {
            tenant_id: cls(*([row for row in rows if row.tenant_id == tenant_id] for rows in (profiles, assignments)))
            for tenant_id in tenant_ids
        }

    def of(self, session: Session) -> CompactionPolicy:
        """Return the policy of the key that opened the session, else of its partition, else the default."""
        key_id = session.created_by_key_id
        targets = [target for api_key_id, target in self._assignments if api_key_id in (None, key_id)]
        name = assigned_profile(targets, session.partition_path) or DEFAULT_BUDGET_PROFILE_NAME
        return self._by_name.get(name) or self._by_name[DEFAULT_BUDGET_PROFILE_NAME]

    def minimum(self, name: str) -> float:
        """Return the lowest value of that number of a policy."""
        return float(min(getattr(policy, name) for policy in self._by_name.values()))
