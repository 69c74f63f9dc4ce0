"""What of evaluations waits for somebody, by tenant. Inside a scope that reads the tenants."""

from collections.abc import Collection
from uuid import UUID

from context.models import EvaluationRun
from memories.tenancy.queries.backlogs import Backlog


def failed_evaluation_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Evaluations that failed and were not gone on with. One query."""
    return EvaluationRun.objects.of_tenants(tenant_ids).in_state(EvaluationRun.State.FAILED).backlogs("finished_at")
