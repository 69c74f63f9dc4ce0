"""Evaluations that wait for an operator, by tenant. Called inside a scope that reads the tenants."""

from collections.abc import Collection
from uuid import UUID

from context.models import EvaluationRun
from memories.tenancy.queries.rows import Backlog


def failed_evaluation_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Return the failed evaluations. One query."""
    return EvaluationRun.objects.of_tenants(tenant_ids).in_state(EvaluationRun.State.FAILED).backlogs("finished_at")
