"""Measure the values of a tenant's alert rules. Each takes one query, or three where noted (ADR-0156)."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from compaction.models import ProviderBreaker
from compaction.pipeline.backlog import full_session_backlogs
from compaction.services.alerts import rules
from compaction.services.alerts.rules import MeasuredRun, largest_loss
from context.models import EvaluationRun
from memories.embeddings.status import waiting_embeddings
from memories.hygiene.findings import pair_backlogs
from memories.models import Memory
from memories.search.vector_index import unindexed_vectors
from memories.services.hygiene.rules import CONTRADICTION
from memories.tenancy.queries.rows import Backlog

#: A provider that is no longer called counts as failing for this long after it was switched off.
BREAKER_REMEMBERED = timedelta(days=1)
#: The newest finished evaluations among which runs are compared.
RUNS_READ_MAX = 40


def measure(kind: str, tenant_id: UUID, *, now: datetime) -> float:
    """Return the value that a rule compares with its threshold, in the unit of the kind. Inside the tenant's scope."""
    return float(_MEASURES[kind](tenant_id, now))


def _evaluation_loss(tenant_id: UUID, _now: datetime) -> float:
    rows = EvaluationRun.objects.for_tenant(tenant_id).recalls(RUNS_READ_MAX)
    return largest_loss(_measured_run(row) for row in rows)


def _measured_run(row: dict[str, Any]) -> MeasuredRun:
    results = row.pop("results")
    measures = {int(budget): result["report"]["total"]["measures"] for budget, result in results.items()}
    recall = {budget: each["recall"]["value"] for budget, each in measures.items() if "recall" in each}
    return MeasuredRun(tuple(row.values()), recall)


def _embedding_backlog(tenant_id: UUID, now: datetime) -> float:
    """Return the minutes that the oldest memory without a vector has waited."""
    oldest = waiting_embeddings([tenant_id]).get(tenant_id, Backlog()).oldest
    return round(max((now - oldest).total_seconds() / 60, 0.0), 1) if oldest else 0.0


_MEASURES: Mapping[str, Callable[[UUID, datetime], float]] = {
    rules.CONTRADICTIONS: lambda pk, now: pair_backlogs([pk], CONTRADICTION, now=now).get(pk, Backlog()).count,
    # Three queries: the budget profiles and their assignments name the thresholds.
    rules.FULL_SESSIONS: lambda pk, _: full_session_backlogs([pk]).get(pk, Backlog()).count,
    rules.WORSE_EVALUATION: _evaluation_loss,
    rules.EMBEDDER_FAILS: lambda pk, _: Memory.objects.for_tenant(pk).with_failed_provider().row_count(),
    rules.SUMMARISER_FAILS: lambda pk, now: (
        ProviderBreaker.objects.for_tenant(pk).off_since(now - BREAKER_REMEMBERED).row_count()
    ),
    rules.EMBEDDING_BACKLOG: _embedding_backlog,
    # Three queries: the active model, its index and the vectors that the index lacks.
    rules.INDEX_BACKLOG: lambda pk, _: unindexed_vectors(pk),
}
