"""The compaction policies of many sessions at once. Called inside a scope."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from uuid import UUID

from compaction.models import Session
from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile, BudgetProfileAssignment
from context.services.profiles.compaction_policy import DEFAULT_POLICY, CompactionPolicy
from context.services.profiles.sections import AssignmentTarget, assigned_profile


class TenantPolicies:
    """The policies in force in a tenant: read in two queries, then asked for session by session."""

    def __init__(self, tenant_id: UUID) -> None:
        profiles = BudgetProfile.objects.for_tenant(tenant_id).in_force()
        self._take(profiles, BudgetProfileAssignment.objects.for_tenant(tenant_id).in_force())

    @classmethod
    def of_tenants(cls, tenant_ids: Collection[UUID]) -> "dict[UUID, TenantPolicies]":
        """Those of several tenants, in two queries as well; inside a scope that reads them."""
        profiles = list(BudgetProfile.objects.of_tenants(tenant_ids).in_force())
        assignments = list(BudgetProfileAssignment.objects.of_tenants(tenant_ids).in_force())
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
        """The policy of the key that opened the session, else of its partition, else the default one."""
        key_id = session.created_by_key_id
        targets = [target for api_key_id, target in self._assignments if api_key_id in (None, key_id)]
        name = assigned_profile(targets, session.partition_path) or DEFAULT_BUDGET_PROFILE_NAME
        return self._by_name.get(name) or self._by_name.get(DEFAULT_BUDGET_PROFILE_NAME) or DEFAULT_POLICY

    def least_sleep(self) -> float:
        """The lowest sleep threshold of any policy in force."""
        return min(policy.sleep_threshold for policy in self._in_force())

    def least_idle(self) -> timedelta:
        """The shortest time after which any policy in force calls a session idle."""
        return timedelta(minutes=min(policy.idle_minutes for policy in self._in_force()))

    def _in_force(self) -> list[CompactionPolicy]:
        return [DEFAULT_POLICY, *self._by_name.values()]

    def least_warning(self) -> float:
        """The lowest warning threshold of any policy in force."""
        return min(
            [policy.warning_threshold for policy in self._by_name.values()] or [DEFAULT_POLICY.warning_threshold]
        )


def pair_with_policies(sessions: Iterable[Session], policies: TenantPolicies) -> list[tuple[Session, CompactionPolicy]]:
    """Each session with its policy."""
    return [(session, policies.of(session)) for session in sessions]
