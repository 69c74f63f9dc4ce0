"""Measure what the alert rules of a tenant watch. Each takes one query, or three where noted (ADR-0156)."""

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


def _contradictions(tenant_id: UUID, now: datetime) -> float:
    return pair_backlogs([tenant_id], CONTRADICTION, now=now).get(tenant_id, Backlog()).count


def _full_sessions(tenant_id: UUID, _now: datetime) -> float:
    """Three queries: the budget profiles and their assignments name the thresholds."""
    return full_session_backlogs([tenant_id]).get(tenant_id, Backlog()).count


def _evaluation_loss(tenant_id: UUID, _now: datetime) -> float:
    rows = EvaluationRun.objects.for_tenant(tenant_id).recalls(RUNS_READ_MAX)
    return largest_loss(_measured_run(row) for row in rows)


def _measured_run(row: dict[str, Any]) -> MeasuredRun:
    results = row.pop("results")
    measures = {int(budget): result["report"]["total"]["measures"] for budget, result in results.items()}
    recall = {budget: each["recall"]["value"] for budget, each in measures.items() if "recall" in each}
    return MeasuredRun(tuple(row.values()), recall)


def _failed_embeddings(tenant_id: UUID, _now: datetime) -> float:
    return Memory.objects.for_tenant(tenant_id).with_failed_provider().how_many()


def _failing_summarisers(tenant_id: UUID, now: datetime) -> float:
    return ProviderBreaker.objects.for_tenant(tenant_id).off_since(now - BREAKER_REMEMBERED).how_many()


def _embedding_backlog(tenant_id: UUID, now: datetime) -> float:
    """Return the minutes that the oldest memory without a vector has waited."""
    oldest = waiting_embeddings([tenant_id]).get(tenant_id, Backlog()).oldest
    return round(max((now - oldest).total_seconds() / 60, 0.0), 1) if oldest else 0.0


def _index_backlog(tenant_id: UUID, _now: datetime) -> float:
    """Three queries: the active model, its index and the vectors that the index lacks."""
    return unindexed_vectors(tenant_id)


_MEASURES: Mapping[str, Callable[[UUID, datetime], float]] = {
    rules.CONTRADICTIONS: _contradictions,
    rules.FULL_SESSIONS: _full_sessions,
    rules.WORSE_EVALUATION: _evaluation_loss,
    rules.EMBEDDER_FAILS: _failed_embeddings,
    rules.SUMMARISER_FAILS: _failing_summarisers,
    rules.EMBEDDING_BACKLOG: _embedding_backlog,
    rules.INDEX_BACKLOG: _index_backlog,
}
