"""Retrievers: ids of memories with their tokens, best first, by vector, by text, by pin or by age. Inside a scope."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from uuid import UUID

from memories.embeddings.providers import EmbeddingVectors
from memories.models import MemoryEmbedding, PartitionCount
from memories.search.queries.lexemes import tenant_query_lexemes
from memories.search.queries.nearest import MAX_INDEX_DIMENSION, force_index_scan, index_name, nearest_memories
from memories.services.search.fusion import MAX_CANDIDATES
from memories.services.search.plan import ScopeSize, SearchMethod, SearchPlanReason, VectorPlan, plan_vector_search
from memories.services.search.text_query import MATCHED_ROWS_MAX, TextQuery, match_all, match_rarest
from memories.store.readings import CandidateRows, SearchScope


class RetrievalTrace:
    """Collects what ran, for the receipt."""

    def __init__(self, mode: str) -> None:
        self.values: dict[str, Any] = {"mode": mode}

    @contextmanager
    def step(self, name: str, **known: Any) -> Iterator[dict[str, Any]]:
        """Time a step; its entry takes what else there is to say of it."""
        entry = self.values[name] = dict(known)
        start = perf_counter()
        try:
            yield entry
        finally:
            entry["ms"] = round((perf_counter() - start) * 1000, 3)


@dataclass
class RetrieverRanking:
    """The ids of one arm, best first, with the tokens of each.

    Ids here are the integers of the UUIDs: a UUID's hash is computed in Python, and fusing two thousand takes many.
    """

    tokens_by_id: dict[int, int] = field(default_factory=dict)

    @property
    def ids(self) -> list[int]:
        return list(self.tokens_by_id)

    @property
    def ranks(self) -> dict[int, int]:
        """The place of each, from 1."""
        return {key: rank for rank, key in enumerate(self.tokens_by_id, start=1)}


@dataclass(frozen=True)
class RetrieverOrder:
    """The column that an arm is ordered by; ties are newest first, then by id."""

    column: str
    is_down: bool


BY_DISTANCE, BY_TEXT_RANK, BY_PIN = (
    RetrieverOrder("distance", False),
    RetrieverOrder("text_rank", True),
    RetrieverOrder("pinned", True),
)


def rank_by_vector(
    scope: SearchScope, vector: EmbeddingVectors, model: str, tokens: str, wanted: int, plan: RetrievalTrace
) -> RetrieverRanking:
    """The nearest memories, as many as a fused order needs for its first `wanted`.

    `tokens` names the column of the counts, here and below.
    """
    with plan.step("vector") as entry:
        if scope.moment.reads_history:
            entry |= {"search": SearchMethod.EXACT, "reason": SearchPlanReason.HISTORY}
            found = _ranking([rows.nearest_to(vector, model) for rows in scope.sources()], tokens, BY_DISTANCE)
        else:
            nearest = find_nearest(scope, vector, model, tokens, wanted=wanted)
            entry |= nearest.told
            found = RetrieverRanking({pk.int: count for pk, count in nearest.rows})
        entry["rows"] = len(found.tokens_by_id)
    return found


def rank_by_text(
    scope: SearchScope, query: str, tokens: str, plan: RetrievalTrace
) -> tuple[RetrieverRanking, Sequence[str]]:
    """The memories that hold the query's words, and the lexemes of these."""
    with plan.step("lexical") as entry:
        asked = build_text_query(scope, query)
        found = rank_text_query(scope, asked, tokens)
        entry |= {"lexemes": len(asked.lexemes), "matched": len(asked.matched), "rows": len(found.tokens_by_id)}
    return found, asked.lexemes


def rank_text_query(scope: SearchScope, asked: TextQuery, tokens: str) -> RetrieverRanking:
    """The memories that hold what is asked for."""
    if not asked.matched:
        return RetrieverRanking()
    return _ranking([rows.matching_any(asked) for rows in scope.sources()], tokens, BY_TEXT_RANK)


def build_text_query(scope: SearchScope, query: str) -> TextQuery:
    """What the query asks for; where common words would find too much, rare ones alone, unless the scope is small."""
    rows_by_lexeme = tenant_query_lexemes(scope.tenant_id, query)
    lexemes = list(rows_by_lexeme)
    rarest = match_rarest(lexemes, rows_by_lexeme)
    if not rarest.has_dropped:
        return rarest
    is_known_large = scope.is_whole_tenant and max(rows_by_lexeme.values()) > MATCHED_ROWS_MAX
    is_large = is_known_large or any(rows.is_more_than(MATCHED_ROWS_MAX) for rows in scope.sources())
    return rarest if is_large else match_all(lexemes)


def rank_pinned(scope: SearchScope, tokens: str, plan: RetrievalTrace) -> RetrieverRanking:
    """The pinned memories, newest first."""
    with plan.step("pinned") as entry:
        found = _ranking([rows.pinned().pinned_then_newest() for rows in scope.sources()], tokens, BY_PIN)
        entry["rows"] = len(found.tokens_by_id)
    return found


def rank_newest(scope: SearchScope, tokens: str) -> RetrieverRanking:
    """The pinned, then the newest."""
    return _ranking([rows.pinned_then_newest() for rows in scope.sources()], tokens, BY_PIN)


def _ranking(sources: Sequence[CandidateRows], tokens: str, order: RetrieverOrder) -> RetrieverRanking:
    """The first rows in the order that the sources stand in; two of them are merged as one query would sort them."""
    if len(sources) == 1:
        rows = sources[0].values_list(sources[0].identity, tokens)[:MAX_CANDIDATES]
        return RetrieverRanking({pk.int: count for pk, count in rows})
    columns = (tokens, order.column, "created_at")
    ranked = [row for rows in sources for row in rows.values_list(rows.identity, *columns)[:MAX_CANDIDATES]]
    ranked.sort(key=lambda row: row[0].int)
    ranked.sort(key=lambda row: row[3], reverse=True)
    ranked.sort(key=lambda row: row[2], reverse=order.is_down)
    return RetrieverRanking({pk.int: count for pk, count, _, _ in ranked[:MAX_CANDIDATES]})


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
    return ScopeSize(rows, index_rows if has_index else None, bool(scope.conditions))


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
