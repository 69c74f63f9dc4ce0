"""What of sessions and their compaction waits for somebody, by tenant: the one count of each, whoever shows it.

Inside a scope that reads the tenants.
"""

from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from compaction.models import Compaction, Run, Session
from compaction.pipeline.policies import TenantPolicies
from memories.tenancy.queries.backlogs import Backlog

#: The fullest sessions that are looked at one by one; so many are "as many or more".
FULLEST_READ_MAX = 200
#: What tells a session's policy, how full it is under it, and since when.
DECIDING = ("tenant", "partition_path", "created_by_key", "max_context_tokens", "context_tokens", "last_message_at")


def review_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Summaries that wait for a decision, since they were proposed. One query."""
    return Compaction.objects.of_tenants(tenant_ids).waiting().backlogs("finished_at")


def failed_run_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Compactions and roll-ups that failed and that nothing later made good. One query."""
    return Run.objects.of_tenants(tenant_ids).failed_still().backlogs("finished_at")


def full_session_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Open sessions over the warning of their own policy, since the last message of any. Three queries."""
    over, is_more = sessions_over_warning(tenant_ids)
    return {tenant_id: _backlog(sessions, is_more) for tenant_id, sessions in over.items()}


def sessions_over_warning(tenant_ids: Collection[UUID]) -> tuple[dict[UUID, list[Session]], bool]:
    """Those sessions by tenant, with what decides it, and whether there may be more of them. Three queries."""
    policies = TenantPolicies.of_tenants(tenant_ids)
    least = min((of_tenant.least_warning() for of_tenant in policies.values()), default=0.0)
    rows = Session.objects.of_tenants(tenant_ids).open().with_pressure().at_least(least)
    fullest = list(rows.page("-fullness", count=FULLEST_READ_MAX).only(*DECIDING))
    over: dict[UUID, list[Session]] = defaultdict(list)
    for session in fullest:
        if session.pressure >= policies[session.tenant_id].of(session).warning_threshold:
            over[session.tenant_id].append(session)
    return over, len(fullest) == FULLEST_READ_MAX


def _backlog(sessions: list[Session], is_more: bool) -> Backlog:
    times = [session.last_message_at for session in sessions if session.last_message_at]
    return Backlog(len(sessions), min(times, default=None), is_more)
