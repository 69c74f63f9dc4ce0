"""The nearest memories of a scope, found in the way that its size calls for (ADR-0077). Inside a scope."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memories.embeddings.providers.protocol import EmbeddingVectors
from memories.models import MemoryEmbedding, PartitionCount
from memories.search.queries.nearest import MAX_INDEX_DIMENSION, force_index_scan, index_name, nearest_memories
from memories.services.search.plan import ScopeSize, SearchMethod, SearchPlanReason, VectorPlan, plan_vector_search
from memories.store.readings import CandidateRows, SearchScope


@dataclass(frozen=True)
class NearestResult:
    """(id, tokens) of current memories, nearest first, and what there is to say of how they were found."""

    rows: list[tuple[UUID, int]]
    told: dict[str, Any]


def find_nearest(
    scope: SearchScope, vector: EmbeddingVectors, model: str, tokens: str, *, wanted: int
) -> NearestResult:
    """The nearest of the memories that hold now; `tokens` names the column of their counts.

    As many as a fused order needs for its first `wanted`.
    """
    size = scope_size(scope, vector, model)
    found = execute_vector_plan(plan_vector_search(size, wanted=wanted), scope, vector, model, tokens)
    return NearestResult(found.rows, {**found.told, "rows_in_scope": size.rows, "index_rows": size.index_rows})


def scope_size(scope: SearchScope, vector: EmbeddingVectors, model: str) -> ScopeSize:
    """How many rows are in scope by the counts of partitions, and in the index of the model. One query."""
    rows, index_rows = PartitionCount.objects.measure(
        scope.tenant_id, scope.path, exact=scope.is_exact, segments=scope.segments, index=index_name(model)
    )
    has_index = index_rows is not None and len(vector) <= MAX_INDEX_DIMENSION
    return ScopeSize(rows, index_rows if has_index else None, scope.is_filtered)


def execute_vector_plan(
    plan: VectorPlan, scope: SearchScope, vector: EmbeddingVectors, model: str, tokens: str
) -> NearestResult:
    """Search as planned. Where an index scan finds too few, the whole scope is read."""
    (memories,) = scope.sources()
    told = {"search": plan.search, "reason": plan.reason, "limit": plan.limit}
    found = None
    if plan.search is SearchMethod.HNSW:
        told |= {"ef_search": plan.ef_search, "max_scan_tuples": plan.max_scan_tuples}
        found = _along_the_index(scope, memories, vector, model, tokens, plan)
        if found is None:
            told |= {"search": SearchMethod.EXACT, "reason": SearchPlanReason.TOO_FEW_FOUND}
    if found is None and not plan.reads_memories:
        found = _by_vectors(scope, memories, vector, model, tokens, plan)
    return NearestResult(_compared(memories, vector, model, tokens, plan) if found is None else found, told)


def _along_the_index(
    scope: SearchScope, memories: CandidateRows, vector: EmbeddingVectors, model: str, tokens: str, plan: VectorPlan
) -> list[tuple[UUID, int]] | None:
    """None where the scan ended before there were enough."""
    with force_index_scan(ef_search=plan.ef_search, max_scan_tuples=plan.max_scan_tuples):
        if plan.reads_memories:
            found = memories.nearest_by_index(vector, model, tokens, plan.limit)
        else:
            vectors = _vectors(scope, model).nearest_by_index(vector)[: plan.limit_with_spare]
            found = nearest_memories(vectors, memories, tokens).rows[: plan.limit]
    return found if len(found) >= plan.enough else None


def _by_vectors(
    scope: SearchScope, memories: CandidateRows, vector: EmbeddingVectors, model: str, tokens: str, plan: VectorPlan
) -> list[tuple[UUID, int]] | None:
    """None where so many of the nearest do not hold any more that others, further away, would have their place."""
    vectors = _vectors(scope, model).nearest_to(vector)[: plan.limit_with_spare]
    found = nearest_memories(vectors, memories, tokens)
    is_whole = len(found.rows) >= plan.enough or found.vectors < plan.limit_with_spare
    return found.rows[: plan.limit] if is_whole else None


def _vectors(scope: SearchScope, model: str) -> Any:
    rows = MemoryEmbedding.objects.for_tenant(scope.tenant_id).current_of(model)
    return rows.within(scope.path, exact=scope.is_exact).with_segments(scope.segments)


def _compared(
    memories: CandidateRows, vector: EmbeddingVectors, model: str, tokens: str, plan: VectorPlan
) -> list[tuple[UUID, int]]:
    """Memory by memory, whatever narrows them."""
    return list(memories.nearest_to(vector, model).values_list(memories.identity, tokens)[: plan.limit])
