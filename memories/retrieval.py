"""The conductor of a search: embed the query, rank by meaning and by words, fuse, gate by tokens, read the rows.

Two arms, each an ordered list of ids: exact cosine over the scope, and `ts_rank` over an OR of the query's lexemes.
Their reciprocal ranks are fused and the best go on until their tokens reach the budget (ADR-0059); what a scorer then
makes of them is not decided here.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from time import perf_counter
from typing import Any
from uuid import UUID

from memories.embedding import EmbeddingError, get_embedder
from memories.embedding.protocol import Vectors
from memories.exceptions import InvalidInput
from memories.models import Memory
from memories.querysets import MemoryQuerySet, lexemes_of
from memories.scopes import tenant_scope
from memories.services.filters import Condition, FilterError, parse_filters
from memories.services.fusion import MAX_CANDIDATES, gate_by_tokens, reciprocal_rank_fusion
from memories.services.partitions import PartitionPath
from memories.services.tokens import ENCODINGS

logger = logging.getLogger(__name__)


class Mode(StrEnum):
    """Which arms a search uses; the cosine of what they find is computed in every mode."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"


@dataclass(frozen=True)
class Candidate:
    """A memory that was found, with what a scorer needs and how it was found.

    `similarity` is the cosine to the query (-1..1), None where the memory or the query has no vector. Ranks count from
    1 and are None where that arm did not find it; `fused_score` is None where nothing was asked for.
    """

    id: UUID
    version: int
    content: str
    pinned: bool
    created_at: datetime
    usefulness_score: float
    confidence: float
    retrieval_count: int
    token_counts: Mapping[str, int]
    similarity: float | None
    vector_rank: int | None
    text_rank: int | None
    fused_score: float | None
    memory: Memory

    @property
    def as_mapping(self) -> dict[str, Any]:
        """What the scorer and the packers read."""
        return {
            "id": self.id,
            "content": self.content,
            "similarity": self.similarity,
            "created_at": self.created_at,
            "usefulness_score": self.usefulness_score,
            "confidence": self.confidence,
            "retrieval_count": self.retrieval_count,
            "token_counts": self.token_counts,
        }


@dataclass(frozen=True)
class RetrievalWarning:
    """Something that made the search worse than asked for."""

    code: str
    detail: str


@dataclass(frozen=True)
class Retrieval:
    """The candidates in fused order, the plan that found them (what ran, rows, milliseconds), and warnings."""

    candidates: list[Candidate]
    plan: dict[str, Any]
    warnings: list[RetrievalWarning] = field(default_factory=list)


@dataclass(frozen=True)
class _Scope:
    """Where to search: everything that narrows the rows before they are ranked."""

    tenant_id: UUID
    path: str
    is_exact: bool
    segments: Mapping[str, str]
    conditions: Sequence[Condition]
    now: datetime

    def rows(self) -> MemoryQuerySet:
        rows = Memory.objects.for_tenant(self.tenant_id).live(self.now).within(self.path, exact=self.is_exact)
        narrowed: MemoryQuerySet = rows.with_segments(self.segments).meeting(self.conditions)
        return narrowed


@dataclass(frozen=True)
class _Gate:
    """How many of the ranked ids go on: until their tokens reach the budget, or a plain number of them."""

    tokens: int
    overfetch_ratio: float
    column: str
    limit: int | None
    marker_tokens: int

    def choose(self, ids: Sequence[int], tokens_by_id: Mapping[int, int]) -> list[int]:
        if self.limit is not None:
            return list(ids[: self.limit])
        costs = {key: tokens + self.marker_tokens for key, tokens in tokens_by_id.items()}
        return gate_by_tokens(ids, costs, budget=self.tokens, overfetch_ratio=self.overfetch_ratio)


class _Plan:
    """Collects what ran, for the receipt."""

    def __init__(self, mode: str) -> None:
        self.values: dict[str, Any] = {"mode": mode}

    @contextmanager
    def step(self, name: str, **known: Any) -> Iterator[dict[str, Any]]:
        entry = self.values[name] = dict(known)
        start = perf_counter()
        try:
            yield entry
        finally:
            entry["ms"] = round((perf_counter() - start) * 1000, 3)


@dataclass
class _Ranking:
    """The ids of one arm, best first, with the tokens of each.

    Ids here are the integers of the UUIDs: a UUID's hash is computed in Python, and fusing two thousand takes many.
    """

    tokens_by_id: dict[int, int] = field(default_factory=dict)

    @property
    def ranks(self) -> dict[int, int]:
        return {key: rank for rank, key in enumerate(self.tokens_by_id, start=1)}


def retrieve(
    *,
    tenant_id: UUID,
    query: str | None,
    partition: PartitionPath | str = "",
    exact: bool = False,
    segments: Mapping[str, str] | None = None,
    now: datetime,
    token_budget: int,
    overfetch_ratio: float,
    marker_tokens: int = 0,
    encoding: str = ENCODINGS[0],
    mode: str = Mode.HYBRID,
    filters: Mapping[str, Any] | None = None,
    limit: int | None = None,
    with_pinned: bool = False,
) -> Retrieval:
    """The memories that a query finds in a partition of a tenant, best first; pinned and newest without a query.

    Call with no scope open: the query is embedded first, then one tenant scope reads in a fixed number of queries.
    Candidates are gated by `overfetch_ratio` x `token_budget` tokens (each memory's own plus `marker_tokens`), or by
    `limit` where one is given; `with_pinned` puts the pinned memories of the partition before those that the query
    found. Without an embedder words alone are searched, with a warning. Raises `InvalidInput` for filters that cannot
    be asked.
    """
    scope = _Scope(tenant_id, str(partition), exact, segments or {}, _conditions(filters), now)
    gate = _Gate(token_budget, overfetch_ratio, _token_column(encoding), limit, marker_tokens)
    if query is None or not query.strip():
        return _newest(scope, gate)
    plan = _Plan(Mode(mode).value)
    warnings: list[RetrievalWarning] = []
    vector, model = _embed_query(query, plan, warnings)
    with tenant_scope(tenant_id):
        by_vector, by_text = _run_arms(scope, gate, query, Mode(mode), vector, model, plan)
        fused = reciprocal_rank_fusion(list(by_vector.tokens_by_id), list(by_text.tokens_by_id))
        pinned = _pinned(scope, gate, plan) if with_pinned else _Ranking()
        tokens_by_id = pinned.tokens_by_id | by_vector.tokens_by_id | by_text.tokens_by_id
        chosen = gate.choose(list(dict.fromkeys([*pinned.tokens_by_id, *dict(fused)])), tokens_by_id)
        with plan.step("read", rows=len(chosen)):
            rows = _rows_in_order(scope, chosen, vector, model)
    if vector is not None and mode != Mode.LEXICAL and rows and not by_vector.tokens_by_id:
        warnings.append(RetrievalWarning("no_embeddings", f"No memory here has a vector of the model {model}."))
    plan.values |= {"fused_rows": len(fused), "gated_rows": len(chosen)}
    ranks, scores = (by_vector.ranks, by_text.ranks), dict(fused)
    return Retrieval([_candidate(row, ranks, scores) for row in rows], plan.values, warnings)


def _conditions(filters: Mapping[str, Any] | None) -> list[Condition]:
    try:
        return parse_filters(filters or {})
    except FilterError as error:
        raise InvalidInput(error.code, str(error), error.field) from error


def _token_column(encoding: str) -> str:
    if encoding not in ENCODINGS:
        raise ValueError(f"no stored token counts for the encoding {encoding!r}")
    return f"tokens_{encoding}"


def _embed_query(query: str, plan: _Plan, warnings: list[RetrievalWarning]) -> tuple[Vectors | None, str]:
    """The query's vector and its model; None and a warning where the provider fails."""
    with plan.step("embed") as entry:
        try:
            embedder = get_embedder()
            entry["model"] = embedder.name
            return embedder.embed([query])[0], embedder.name
        except EmbeddingError as error:
            logger.warning("The query was not embedded: %s", error.detail)
            entry["failed"] = True
    warnings.append(RetrievalWarning("embedder_unavailable", "The embedder is unavailable; only words were searched."))
    return None, ""


def _run_arms(
    scope: _Scope, gate: _Gate, query: str, mode: Mode, vector: Vectors | None, model: str, plan: _Plan
) -> tuple[_Ranking, _Ranking]:
    by_vector, by_text = _Ranking(), _Ranking()
    if vector is not None and mode is not Mode.LEXICAL:
        with plan.step("vector", search="exact") as entry:
            by_vector = _ranking(scope.rows().nearest_to(vector, model), gate)
            entry["rows"] = len(by_vector.tokens_by_id)
    if vector is None or mode is not Mode.VECTOR:
        with plan.step("lexical") as entry:
            lexemes = lexemes_of(query)
            by_text = _ranking(scope.rows().matching_any(lexemes), gate) if lexemes else by_text
            entry |= {"lexemes": len(lexemes), "rows": len(by_text.tokens_by_id)}
    return by_vector, by_text


def _pinned(scope: _Scope, gate: _Gate, plan: _Plan) -> _Ranking:
    with plan.step("pinned") as entry:
        by_age = _ranking(scope.rows().pinned().pinned_then_newest(), gate)
        entry["rows"] = len(by_age.tokens_by_id)
    return by_age


def _ranking(rows: MemoryQuerySet, gate: _Gate) -> _Ranking:
    return _Ranking({pk.int: tokens for pk, tokens in rows.values_list("id", gate.column)[:MAX_CANDIDATES]})


def _rows_in_order(scope: _Scope, ids: Sequence[int], vector: Vectors | None, model: str) -> list[Memory]:
    rows = scope.rows().filter(pk__in=[UUID(int=key) for key in ids])
    rows = rows.without_similarity() if vector is None else rows.with_similarity_to(vector, model)
    found = {row.pk.int: row for row in rows}
    return [found[key] for key in ids if key in found]


def _newest(scope: _Scope, gate: _Gate) -> Retrieval:
    """Without a query: the pinned, then the newest."""
    plan = _Plan("newest")
    with plan.step("read") as entry, tenant_scope(scope.tenant_id):
        ranking = _ranking(scope.rows().pinned_then_newest(), gate)
        chosen = gate.choose(list(ranking.tokens_by_id), ranking.tokens_by_id)
        rows = _rows_in_order(scope, chosen, None, "")
        entry["rows"] = len(rows)
    plan.values["gated_rows"] = len(chosen)
    return Retrieval([_candidate(row, ({}, {}), {}) for row in rows], plan.values)


def _candidate(
    row: Memory, ranks: tuple[Mapping[int, int], Mapping[int, int]], scores: Mapping[int, float]
) -> Candidate:
    similarity: float | None = row.similarity  # type: ignore[attr-defined]
    return Candidate(
        id=row.pk,
        version=row.version,
        content=row.content,
        pinned=row.pinned,
        created_at=row.created_at,
        usefulness_score=row.usefulness_score,
        confidence=row.confidence,
        retrieval_count=row.retrieval_count,
        token_counts=row.token_counts,
        similarity=similarity,
        vector_rank=ranks[0].get(row.pk.int),
        text_rank=ranks[1].get(row.pk.int),
        fused_score=scores.get(row.pk.int),
        memory=row,
    )
