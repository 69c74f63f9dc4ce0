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

from memories.candidates import Candidate, Ranks, Rows, SearchScope, read_candidates
from memories.embedding import EmbeddingError, get_embedder
from memories.embedding.protocol import Vectors
from memories.exceptions import InvalidInput
from memories.querysets import lexemes_of
from memories.scopes import tenant_scope
from memories.services.filters import Condition, FilterError, parse_filters
from memories.services.fusion import MAX_CANDIDATES, gate_by_tokens, reciprocal_rank_fusion
from memories.services.moments import Moment
from memories.services.partitions import PartitionPath
from memories.services.tokens import ENCODINGS

logger = logging.getLogger(__name__)

#: Of the budget: what a memory counts for in the gate that is larger than all of it (ADR-0059).
OVERSIZED_COST_SHARE = 0.25


class Mode(StrEnum):
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

    `query_vector` and its `model` are there for whoever compares more than what was found with the query.
    """

    candidates: list[Candidate]
    plan: dict[str, Any]
    warnings: list[RetrievalWarning] = field(default_factory=list)
    query_vector: Vectors | None = None
    model: str = ""


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
        costs = {key: self._cost(tokens) for key, tokens in tokens_by_id.items()}
        return gate_by_tokens(ids, costs, budget=self.tokens, overfetch_ratio=self.overfetch_ratio)

    def _cost(self, tokens: int) -> int:
        """What a memory takes of the budget, its marker included; one that can never fit must not starve the rest."""
        cost = tokens + self.marker_tokens
        return cost if cost <= self.tokens else round(self.tokens * OVERSIZED_COST_SHARE)


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


@dataclass(frozen=True)
class _Order:
    """The column that an arm is ordered by; ties are newest first, then by id."""

    column: str
    is_down: bool


BY_DISTANCE, BY_TEXT_RANK, BY_PIN = _Order("distance", False), _Order("text_rank", True), _Order("pinned", True)


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
    moment: Moment | None = None,
) -> Retrieval:
    """The memories that a query finds in a partition of a tenant, best first; pinned and newest without a query.

    Call with no scope open: the query is embedded first, then one tenant scope reads in a fixed number of queries.
    Candidates are gated by `overfetch_ratio` x `token_budget` tokens (each memory's own plus `marker_tokens`), or by
    `limit` where one is given; `with_pinned` puts the pinned memories of the partition, gated by themselves, before
    those that the query found, of which no fewer come for that. Without an embedder words alone are searched, with a
    warning. At a `moment` of history the versions that held then are searched, each by its own text and vector. Raises
    `InvalidInput` for filters that cannot be asked.
    """
    conditions = _conditions(filters)
    scope = SearchScope(tenant_id, str(partition), moment or Moment.now(now), exact, segments or {}, conditions)
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
        gated = [*gate.choose(list(pinned.tokens_by_id), tokens_by_id), *gate.choose([*dict(fused)], tokens_by_id)]
        chosen = list(dict.fromkeys(gated))
        with plan.step("read", rows=len(chosen)):
            ranks = Ranks(by_vector.ranks, by_text.ranks, dict(fused))
            found = read_candidates(scope, chosen, vector, model, ranks)
    if vector is not None and mode != Mode.LEXICAL and found and not by_vector.tokens_by_id:
        warnings.append(RetrievalWarning("no_embeddings", f"No memory here has a vector of the model {model}."))
    plan.values |= {"fused_rows": len(fused), "gated_rows": len(chosen)}
    return Retrieval(found, plan.values, warnings, vector, model)


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
    scope: SearchScope, gate: _Gate, query: str, mode: Mode, vector: Vectors | None, model: str, plan: _Plan
) -> tuple[_Ranking, _Ranking]:
    by_vector, by_text = _Ranking(), _Ranking()
    if vector is not None and mode is not Mode.LEXICAL:
        with plan.step("vector", search="exact") as entry:
            by_vector = _ranking([rows.nearest_to(vector, model) for rows in scope.sources()], gate, BY_DISTANCE)
            entry["rows"] = len(by_vector.tokens_by_id)
    if vector is None or mode is not Mode.VECTOR:
        with plan.step("lexical") as entry:
            lexemes = lexemes_of(query)
            if lexemes:
                by_text = _ranking([rows.matching_any(lexemes) for rows in scope.sources()], gate, BY_TEXT_RANK)
            entry |= {"lexemes": len(lexemes), "rows": len(by_text.tokens_by_id)}
    return by_vector, by_text


def _pinned(scope: SearchScope, gate: _Gate, plan: _Plan) -> _Ranking:
    with plan.step("pinned") as entry:
        by_age = _ranking([rows.pinned().pinned_then_newest() for rows in scope.sources()], gate, BY_PIN)
        entry["rows"] = len(by_age.tokens_by_id)
    return by_age


def _ranking(sources: Sequence[Rows], gate: _Gate, order: _Order) -> _Ranking:
    """The first rows in the order that the sources stand in; two of them are merged as one query would sort them."""
    if len(sources) == 1:
        rows = sources[0].values_list(sources[0].identity, gate.column)[:MAX_CANDIDATES]
        return _Ranking({pk.int: tokens for pk, tokens in rows})
    columns = (gate.column, order.column, "created_at")
    ranked = [row for rows in sources for row in rows.values_list(rows.identity, *columns)[:MAX_CANDIDATES]]
    ranked.sort(key=lambda row: row[0].int)
    ranked.sort(key=lambda row: row[3], reverse=True)
    ranked.sort(key=lambda row: row[2], reverse=order.is_down)
    return _Ranking({pk.int: tokens for pk, tokens, _, _ in ranked[:MAX_CANDIDATES]})


def _newest(scope: SearchScope, gate: _Gate) -> Retrieval:
    """Without a query: the pinned, then the newest."""
    plan = _Plan("newest")
    with plan.step("read") as entry, tenant_scope(scope.tenant_id):
        ranking = _ranking([rows.pinned_then_newest() for rows in scope.sources()], gate, BY_PIN)
        chosen = gate.choose(list(ranking.tokens_by_id), ranking.tokens_by_id)
        found = read_candidates(scope, chosen, None, "", Ranks())
        entry["rows"] = len(found)
    plan.values["gated_rows"] = len(chosen)
    return Retrieval(found, plan.values)
