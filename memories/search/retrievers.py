"""Retrievers: rank memories by vector, text, pin or age, with their tokens. Call them inside a scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self
from uuid import UUID

from memories.embeddings.providers import EmbeddingVectors
from memories.models import PartitionCount
from memories.search.queries import ranking
from memories.search.queries.lexemes import read_query_lexemes, send_query_lexemes
from memories.search.queries.nearest import MAX_INDEX_DIMENSION, VectorIndex, force_index_scan, index_prefix
from memories.services.search.fusion import MAX_CANDIDATES
from memories.services.search.planner import (
    ALL_WORDS_ROWS,
    RetrievalTrace,
    ScopeSize,
    SearchMethod,
    SearchPlanReason,
    TextQuery,
    VectorPlan,
    match_all,
    match_rarest,
    plan_vector_search,
    retriever_depth,
)
from memories.store.readings import CandidateRows, SearchScope
from memories.tenancy.queries.prepared import SentStatement

#: Tokens by memory, best first. Keys are the integers of the UUIDs, because a UUID's hash is computed in Python.
Ranking = dict[int, int]


def ranks_of(ranking: Ranking) -> dict[int, int]:
    """Return the rank of each memory, from 1."""
    return {key: rank for rank, key in enumerate(ranking, start=1)}


def rank_by_vector(
    scope: SearchScope, vector: EmbeddingVectors, model: str, tokens: str, wanted: int, plan: RetrievalTrace
) -> Ranking:
    """Return the nearest memories, enough for `wanted` in fused order; `tokens` names the column of counts."""
    with plan.step("vector") as entry:
        if scope.moment.reads_history:
            entry |= {"search": SearchMethod.EXACT, "reason": SearchPlanReason.HISTORY}
            found = _ranking([rows.nearest_to(vector, model) for rows in scope.sources()], tokens, "distance")
        else:
            nearest = find_nearest(scope, vector, model, tokens, wanted=wanted)
            entry |= nearest.plan
            found = _by_key(nearest.rows)
        entry["rows"] = len(found)
    return found


@dataclass(frozen=True)
class SentLookups:
    """What no other answer decides, sent before all else, so that one round trip brings all of it."""

    lexemes: SentStatement | None
    pinned: SentStatement | None

    @classmethod
    def send(cls, scope: SearchScope, query: str | None, tokens: str, *, with_pinned: bool) -> Self:
        """Send the look-ups of a search; None for a query whose words are not searched.

        Pinned memories of a scope that is not plain are read later.
        """
        plain = scope.plain() if with_pinned else None
        return cls(
            None if query is None else send_query_lexemes(scope.tenant_id, query),
            None if plain is None else ranking.send_pinned_memories(plain, tokens),
        )


def rank_by_text(
    scope: SearchScope, lexemes: SentStatement, tokens: str, wanted: int, plan: RetrievalTrace
) -> tuple[Ranking, Sequence[str]]:
    """Return the memories that contain the query's words, enough for `wanted` in fused order, and their lexemes."""
    with plan.step("lexical") as entry:
        text = build_text_query(scope, read_query_lexemes(lexemes))
        # in a scope so large that common words do not match, as deep as the vectors
        found = rank_text_query(scope, text, tokens, retriever_depth(wanted) if text.has_dropped else MAX_CANDIDATES)
        entry |= {"lexemes": len(text.lexemes), "matched": len(text.matched), "rows": len(found)}
    return found, text.lexemes


def rank_text_query(scope: SearchScope, text: TextQuery, tokens: str, limit: int = MAX_CANDIDATES) -> Ranking:
    """Return the first memories that match a text query."""
    if not text.matched:
        return {}
    if (plain := scope.plain()) is not None:
        return _by_key(ranking.matching_memories(plain, text, tokens, limit))
    return _ranking([rows.matching_any(text) for rows in scope.sources()], tokens, "-text_rank")


def build_text_query(scope: SearchScope, rows_by_lexeme: Mapping[str, int]) -> TextQuery:
    """Return the text query; if common words would match too many rows of a large scope, only rare words match."""
    lexemes = list(rows_by_lexeme)
    rarest = match_rarest(lexemes, rows_by_lexeme)
    if not rarest.has_dropped:
        return rarest
    is_known_large = scope.is_whole_tenant and max(rows_by_lexeme.values()) > ALL_WORDS_ROWS
    is_large = is_known_large or any(rows.is_more_than(ALL_WORDS_ROWS) for rows in scope.sources())
    return rarest if is_large else match_all(lexemes)


def rank_pinned(scope: SearchScope, sent: SentStatement | None, tokens: str, plan: RetrievalTrace) -> Ranking:
    """Return the pinned memories, newest first: those of `sent`, where the scope is plain."""
    with plan.step("pinned") as entry:
        if sent is not None:
            found = _by_key(sent.rows())
        else:
            found = _ranking([rows.pinned().pinned_then_newest() for rows in scope.sources()], tokens, "-pinned")
        entry["rows"] = len(found)
    return found


def rank_newest(scope: SearchScope, tokens: str) -> Ranking:
    """Return the pinned memories, then the newest."""
    return _ranking([rows.pinned_then_newest() for rows in scope.sources()], tokens, "-pinned")


def _by_key(rows: ranking.RankedRows) -> Ranking:
    return {pk.int: count for pk, count in rows}


def _ranking(sources: Sequence[CandidateRows], tokens: str, order: str) -> Ranking:
    """Return the first rows of ordered sources; two are merged as one query would sort: by `order`, newest, id."""
    if len(sources) == 1:
        rows = sources[0].values_list(sources[0].identity, tokens)[:MAX_CANDIDATES]
        return {pk.int: count for pk, count in rows}
    columns = (tokens, order.removeprefix("-"), "created_at")
    ranked = [row for rows in sources for row in rows.values_list(rows.identity, *columns)[:MAX_CANDIDATES]]
    ranked.sort(key=lambda row: row[0].int)
    ranked.sort(key=lambda row: row[3], reverse=True)
    ranked.sort(key=lambda row: row[2], reverse=order.startswith("-"))
    return {pk.int: count for pk, count, _, _ in ranked[:MAX_CANDIDATES]}


class NearestResult(NamedTuple):
    """(id, tokens) of current memories, nearest first, and the plan that found them.

    The size of the index and the limits of its scan are not in it: receipts show the plan, and the index contains the
    rows of all tenants.
    """

    rows: list[tuple[UUID, int]]
    plan: dict[str, Any]


def find_nearest(
    scope: SearchScope, vector: EmbeddingVectors, model: str, tokens: str, *, wanted: int
) -> NearestResult:
    """Return the nearest live memories, as many as a fused order needs for its first `wanted`."""
    size = scope_size(scope, vector, model)
    rows, plan = execute_vector_plan(plan_vector_search(size, wanted=wanted), scope, vector, model, tokens)
    return NearestResult(rows, {**plan, "rows_in_scope": size.rows})


def scope_size(scope: SearchScope, vector: EmbeddingVectors, model: str) -> ScopeSize:
    """Return how many rows are in scope by the counts of partitions, and in the index of the model. One query."""
    rows, index = PartitionCount.objects.measure(
        scope.tenant_id, scope.path, exact=scope.is_exact, segments=scope.segments, index=index_prefix(model)
    )
    if index is None or len(vector) > MAX_INDEX_DIMENSION:
        return ScopeSize(rows, None, bool(scope.conditions))
    return ScopeSize(rows, index.rows, bool(scope.conditions), index.bound)


def _scan_index(
    plan: VectorPlan, scope: SearchScope, vector: EmbeddingVectors, model: str, tokens: str
) -> tuple[ranking.RankedRows, int]:
    """Return the nearest memories along the index and in its tail, and how many vectors the index returned."""
    widths = {"ef_search": plan.ef_search, "max_scan_tuples": plan.max_scan_tuples}
    plain, index = scope.plain(), VectorIndex(rows=0, bound=plan.index_bound)
    with force_index_scan(**widths, is_one_look=plan.is_one_look):
        if plain is None:
            (memories,) = scope.sources()
            return memories.nearest_by_index(vector, model, tokens, plan.limit, index=index)
        found, read = ranking.nearest_vectors(plain, vector, model, tokens, plan.limit_with_spare, index=index)
    return found[: plan.limit], read


def execute_vector_plan(
    plan: VectorPlan, scope: SearchScope, vector: EmbeddingVectors, model: str, tokens: str
) -> NearestResult:
    """Search as planned. Where an index scan finds too few, the whole scope is read."""
    plain = scope.plain()
    done = {"search": plan.search, "reason": plan.reason, "limit": plan.limit}
    if plan.search is SearchMethod.HNSW:
        found, read = _scan_index(plan, scope, vector, model, tokens)
        if read < plan.limit_with_spare and plan.is_one_look:
            # Vectors of deleted rows stay in the index until the next vacuum and take the places of others.
            found, read = _scan_index(replace(plan, is_one_look=False), scope, vector, model, tokens)
        if min(len(found), read) >= plan.enough:
            return NearestResult(found, done)
        done |= {"search": SearchMethod.EXACT, "reason": SearchPlanReason.TOO_FEW_FOUND}
    if plain is None:
        (memories,) = scope.sources()
        rows = memories.nearest_to(vector, model).values_list(memories.identity, tokens)
        return NearestResult(list(rows[: plan.limit]), done)
    if not plan.reads_memories:
        limit = plan.limit_with_spare
        found, read = ranking.nearest_vectors(plain, vector, model, tokens, limit)
        # If most of the nearest have expired, memories further away take their place.
        if len(found) >= plan.enough or read < limit:
            return NearestResult(found[: plan.limit], done)
    return NearestResult(ranking.nearest_memories(plain, vector, model, tokens, plan.limit), done)
