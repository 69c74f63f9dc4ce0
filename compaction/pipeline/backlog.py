"""Count the reviews, failed runs and full sessions of each tenant that wait for an operator.

Called inside a scope that reads the tenants.
"""

from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from compaction.models import Compaction, Run, Session
from compaction.pipeline.policies import TenantPolicies
from memories.tenancy.queries.rows import Backlog

#: Maximum sessions read, the fullest first; a count this high means "this many or more".
FULLEST_READ_MAX = 200
#: The columns that determine a session's policy, its pressure and since when it is full.
DECIDING = (
    *("tenant", "partition_path", "created_by_key", "max_context_tokens"),
    *("context_tokens", "marker_tokens", "last_message_at"),
)


def review_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Return the summaries that wait for a review, since they were proposed or applied. One query."""
    return Compaction.objects.of_tenants(tenant_ids).to_review().backlogs("finished_at")


def failed_run_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Return the failed compactions and roll-ups without a later success. One query."""
    return Run.objects.of_tenants(tenant_ids).still_failed().backlogs("finished_at")


def full_session_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Return the open sessions over the warning of their own policy, since the last message of any. Three queries."""
    over, is_more = sessions_over_warning(tenant_ids)
    since = {
        tenant_id: min((row.last_message_at for row in sessions if row.last_message_at), default=None)
        for tenant_id, sessions in over.items()
    }
    return {tenant_id: Backlog(len(sessions), since[tenant_id], is_more) for tenant_id, sessions in over.items()}


def sessions_over_warning(tenant_ids: Collection[UUID]) -> tuple[dict[UUID, list[Session]], bool]:
    """Return these sessions by tenant, with `DECIDING` columns only, and whether there may be more. Three queries."""
    policies = TenantPolicies.of_tenants(tenant_ids)
    least = min((of_tenant.minimum("warning_threshold") for of_tenant in policies.values()), default=0.0)
    rows = Session.objects.of_tenants(tenant_ids).open().with_pressure().at_least(least)
    fullest = list(rows.page("-fullness", count=FULLEST_READ_MAX).only(*DECIDING))
    over: dict[UUID, list[Session]] = defaultdict(list)
    for session in fullest:
        if session.pressure >= policies[session.tenant_id].of(session).warning_threshold:
            over[session.tenant_id].append(session)
    return over, len(fullest) == FULLEST_READ_MAX
