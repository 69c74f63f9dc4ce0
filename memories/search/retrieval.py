"""The conductor of a search: embed the query, rank by meaning and by words, fuse, gate by tokens, read the rows.

Two arms, each an ordered list of ids: exact cosine over the scope, and `ts_rank` over an OR of the query's lexemes.
Their reciprocal ranks are fused and the best go on until their tokens reach the budget (ADR-0059); what a scorer then
makes of them is not decided here.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from math import ceil
from typing import Any
from uuid import UUID

from memories.embeddings.embedders import embedder_of
from memories.embeddings.providers import Embedder, EmbeddingError
from memories.embeddings.providers.protocol import EmbeddingVectors
from memories.search.retrievers import (
    RetrievalTrace,
    RetrieverRanking,
    rank_by_text,
    rank_by_vector,
    rank_newest,
    rank_pinned,
)
from memories.services.partitions.paths import PartitionPath
from memories.services.search.filters import FilterCondition, FilterError, parse_filters
from memories.services.search.fusion import MAX_CANDIDATES, gate_by_tokens, gate_cost, reciprocal_rank_fusion
from memories.services.search.plan import rows_to_retrieve
from memories.services.store.moments import PointInTime
from memories.services.tokens import ENCODINGS
from memories.store.readings import (
    Candidate,
    CandidateQuery,
    CandidateRanks,
    SearchScope,
    read_candidates,
    read_neighbours,
    read_vectors,
)
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)


class RetrievalMode(StrEnum):
    """Which arms a search uses; the cosine of what they find is computed in every mode."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"


@dataclass(frozen=True)
class RetrievalWarning:
    """Something that made the search worse than asked for."""

    code: str
    detail: str


@dataclass(frozen=True)
class Retrieval:
    """The candidates in fused order, the plan that found them (what ran, rows, milliseconds), and warnings.

    `query_vector` and its `model` are there for whoever compares more than what was found with the query, `lexemes`
    are the query's as the stored texts hold theirs, `vectors` those of the candidates where they were asked for.
    """

    candidates: list[Candidate]
    plan: dict[str, Any]
    warnings: list[RetrievalWarning] = field(default_factory=list)
    query_vector: EmbeddingVectors | None = None
    model: str = ""
    lexemes: Sequence[str] = ()
    vectors: Mapping[UUID, EmbeddingVectors] = field(default_factory=dict)


@dataclass(frozen=True)
class _Gate:
    """How many of the ranked ids go on: until their tokens reach the budget, or a plain number of them.

    Where a pool is wanted, it alone says how many of those that the query found.
    """

    tokens: float
    overfetch_ratio: float
    column: str
    limit: int | None
    marker_tokens: int
    pool_size: int

    @property
    def wanted(self) -> int:
        """About how many of those that the query finds."""
        tokens = self.tokens * self.overfetch_ratio
        return rows_to_retrieve(tokens=tokens, limit=self.limit, pool_size=self.pool_size)

    def choose_found(self, ids: Sequence[int], tokens_by_id: Mapping[int, int]) -> list[int]:
        """Of the ids in fused order."""
        if self.pool_size:
            return list(ids[: min(self.pool_size, MAX_CANDIDATES)])
        return self.choose(ids, tokens_by_id)

    def choose(self, ids: Sequence[int], tokens_by_id: Mapping[int, int]) -> list[int]:
        if self.limit is not None:
            return list(ids[: self.limit])
        marker, budget = self.marker_tokens, self.tokens
        costs = {key: gate_cost(tokens + marker, budget=budget) for key, tokens in tokens_by_id.items()}
        return gate_by_tokens(ids, costs, budget=self.tokens, overfetch_ratio=self.overfetch_ratio)


def retrieve(
    *,
    tenant_id: UUID,
    query: str | None,
    partition: PartitionPath | str = "",
    exact: bool = False,
    segments: Mapping[str, str] | None = None,
    now: datetime,
    token_budget: float,
    overfetch_ratio: float,
    marker_tokens: int = 0,
    encoding: str = ENCODINGS[0],
    mode: str = RetrievalMode.HYBRID,
    filters: Mapping[str, Any] | None = None,
    limit: int | None = None,
    with_pinned: bool = False,
    moment: PointInTime | None = None,
    pool_size: int = 0,
    neighbour_reach: int = 0,
    with_vectors: bool = False,
    embedder: Callable[[], Embedder] | None = None,
) -> Retrieval:
    """The memories that a query finds in a partition of a tenant, best first; pinned and newest without a query.

    Call with no scope open: the query is embedded first, then one tenant scope reads in a fixed number of queries.
    Candidates are gated by `overfetch_ratio` x `token_budget` tokens of `encoding` (each memory's own plus
    `marker_tokens`), or by `limit` where one is given; `with_pinned` puts the pinned memories of the partition, gated
    by themselves, before those that the query found, of which no fewer come for that. Without an embedder words alone
    are searched, with a warning. At a `moment` of history the versions that held then are searched, each by its own
    text and vector.

    With a `pool_size` the query's best come by number instead of by tokens, however large `limit` is; behind them the
    memories of the same partition and session within `neighbour_reach` positions of the better half. `with_vectors`
    reads the candidates' own vectors too. `embedder` gives the one of the tenant's active model to whoever has read it
    already. Raises `InvalidInput` for filters that cannot be asked.
    """
    conditions = _conditions(filters)
    scope = SearchScope(tenant_id, str(partition), moment or PointInTime.now(now), exact, segments or {}, conditions)
    gate = _Gate(token_budget, overfetch_ratio, _token_column(encoding), limit, marker_tokens, pool_size)
    if query is None or not query.strip():
        return _newest(scope, gate)
    plan = RetrievalTrace(RetrievalMode(mode).value)
    warnings: list[RetrievalWarning] = []
    vector, model = _embed_query(embedder or partial(embedder_of, tenant_id), query, plan, warnings)
    with tenant_scope(tenant_id):
        by_vector, by_text, lexemes = _run_arms(scope, gate, query, RetrievalMode(mode), vector, model, plan)
        fused = dict(reciprocal_rank_fusion(by_vector.ids, by_text.ids))
        pinned = rank_pinned(scope, gate.column, plan) if with_pinned else RetrieverRanking()
        tokens_by_id = pinned.tokens_by_id | by_vector.tokens_by_id | by_text.tokens_by_id
        best = gate.choose_found([*fused], tokens_by_id)
        chosen = list(dict.fromkeys([*gate.choose(pinned.ids, tokens_by_id), *best]))
        asked, ranks = CandidateQuery(vector, model, lexemes), CandidateRanks(by_vector.ranks, by_text.ranks, fused)
        with plan.step("read", rows=len(chosen)):
            found = read_candidates(scope, chosen, asked, ranks)
        if neighbour_reach > 0:
            found += _neighbours(scope, found, best, neighbour_reach, asked, ranks, plan)
        vectors = _vectors(tenant_id, found, model, plan) if with_vectors and model else {}
    if vector is not None and mode != RetrievalMode.LEXICAL and found and not by_vector.tokens_by_id:
        warnings.append(RetrievalWarning("no_embeddings", f"No memory here has a vector of the model {model}."))
    plan.values |= {"fused_rows": len(fused), "gated_rows": len(chosen)}
    return Retrieval(found, plan.values, warnings, vector, model, lexemes, vectors)


def _conditions(filters: Mapping[str, Any] | None) -> list[FilterCondition]:
    try:
        return parse_filters(filters or {})
    except FilterError as error:
        raise InvalidInput(error.code, str(error), error.field) from error


def _token_column(encoding: str) -> str:
    if encoding not in ENCODINGS:
        raise ValueError(f"no stored token counts for the encoding {encoding!r}")
    return f"tokens_{encoding}"


def _embed_query(
    find_embedder: Callable[[], Embedder], query: str, plan: RetrievalTrace, warnings: list[RetrievalWarning]
) -> tuple[EmbeddingVectors | None, str]:
    """The query's vector and its model; None and a warning where the provider fails."""
    with plan.step("embed") as entry:
        try:
            embedder = find_embedder()
            entry["model"] = embedder.name
            return embedder.embed([query])[0], embedder.name
        except EmbeddingError as error:
            logger.warning("The query was not embedded: %s", error.detail)
            entry["failed"] = True
    warnings.append(RetrievalWarning("embedder_unavailable", "The embedder is unavailable; only words were searched."))
    return None, ""


def _run_arms(
    scope: SearchScope,
    gate: _Gate,
    query: str,
    mode: RetrievalMode,
    vector: EmbeddingVectors | None,
    model: str,
    plan: RetrievalTrace,
) -> tuple[RetrieverRanking, RetrieverRanking, Sequence[str]]:
    by_vector, by_text = RetrieverRanking(), RetrieverRanking()
    lexemes: Sequence[str] = ()
    if vector is not None and mode is not RetrievalMode.LEXICAL:
        by_vector = rank_by_vector(scope, vector, model, gate.column, gate.wanted, plan)
    if vector is None or mode is not RetrievalMode.VECTOR:
        by_text, lexemes = rank_by_text(scope, query, gate.column, plan)
    return by_vector, by_text, lexemes


def _neighbours(
    scope: SearchScope,
    found: Sequence[Candidate],
    best: Sequence[int],
    reach: int,
    asked: CandidateQuery,
    ranks: CandidateRanks,
    plan: RetrievalTrace,
) -> list[Candidate]:
    """Those beside the better half of what the query found, as far as they are not found already."""
    with plan.step("beside", reach=reach) as entry:
        better = set(best[: ceil(len(best) / 2)])
        near = read_neighbours(scope, [row for row in found if row.id.int in better], reach, asked, ranks)
        known = {row.id for row in found}
        beside = [row for row in near if row.id not in known]
        entry["rows"] = len(beside)
    return beside


def _vectors(
    tenant_id: UUID, found: Sequence[Candidate], model: str, plan: RetrievalTrace
) -> Mapping[UUID, EmbeddingVectors]:
    with plan.step("vectors") as entry:
        vectors = read_vectors(tenant_id, found, model)
        entry["rows"] = len(vectors)
    return vectors


def _newest(scope: SearchScope, gate: _Gate) -> Retrieval:
    """Without a query: the pinned, then the newest."""
    plan = RetrievalTrace("newest")
    with plan.step("read") as entry, tenant_scope(scope.tenant_id):
        ranking = rank_newest(scope, gate.column)
        chosen = gate.choose(ranking.ids, ranking.tokens_by_id)
        found = read_candidates(scope, chosen, CandidateQuery(), CandidateRanks())
        entry["rows"] = len(found)
    plan.values["gated_rows"] = len(chosen)
    return Retrieval(found, plan.values)
