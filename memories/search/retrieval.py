"""Search: embed the query, rank by vector and by text, fuse, limit by tokens, read the rows (ADR-0059)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple
from uuid import UUID

from memories.embeddings.embedders import embedder_of
from memories.embeddings.providers import Embedder, EmbeddingError, EmbeddingVectors
from memories.search import retrievers
from memories.search.queries.lexemes import send_query_lexemes
from memories.search.queries.ranking import Ranking, send_pinned_memories
from memories.search.queries.scope_size import send_scope_size
from memories.search.queries.shared_results import shared_result
from memories.services.search.admission import UNKNOWN_TOKENS, Admission
from memories.services.search.filters import FilterCondition, FilterError, parse_filters
from memories.services.search.fusion import MAX_CANDIDATES, MIN_CANDIDATES, fuse, gate_by_tokens
from memories.services.search.planner import RetrievalTrace, SearchMethod, rows_to_retrieve
from memories.services.tokens import ENCODINGS
from memories.store.readings import (
    Candidate,
    CandidateQuery,
    CandidateRanks,
    SentCandidates,
    read_candidates,
    send_candidates,
    send_neighbours,
)
from memories.store.search_scope import SearchScope
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.replica import read_from_replica
from memories.tenancy.scopes import SecondScope, second_tenant_scope, tenant_scope

logger = logging.getLogger(__name__)


class RetrievalMode(StrEnum):
    """Which retrievers a search uses; the cosine of what they find is computed in every mode."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"


@dataclass(frozen=True)
class CandidateGate:
    """The candidates: `limit`, or as many as fit `overfetch_ratio` x `tokens` with `marker_tokens` each.

    At least `minimum` are taken, and a text counts with at most `tokens_each_max`. `pool_size` alone decides how many
    of the query's results are candidates. Raises `ValueError` for unknown encodings.
    """

    tokens: float = 0
    overfetch_ratio: float = 1.0
    limit: int | None = None
    minimum: int = MIN_CANDIDATES
    tokens_each_max: int | None = None
    marker_tokens: int = 0
    pool_size: int = 0
    encoding: str = ENCODINGS[0]

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            raise ValueError(f"no stored token counts for the encoding {self.encoding!r}")

    @property
    def column(self) -> str:
        return f"tokens_{self.encoding}"

    def choose(self, ids: Sequence[int], tokens_by_id: Mapping[int, int], unknown: int = 0) -> list[int]:
        """Return the first of `ids` that the limit or the budget admits; unknown tokens count as `unknown`."""
        if self.limit is not None:
            return list(ids[: self.limit])
        return gate_by_tokens(
            ids,
            (unknown if (count := tokens_by_id[key]) == UNKNOWN_TOKENS else count for key in ids),
            budget=self.tokens,
            overfetch_ratio=self.overfetch_ratio,
            minimum=self.minimum,
            marker_tokens=self.marker_tokens,
            most=self.tokens_each_max,
        )

    @property
    def needs_tokens(self) -> bool:
        """Whether the tokens of a query's results decide which of them are candidates."""
        return not self.pool_size and self.limit is None

    def choose_results(self, ids: Sequence[int], tokens_by_id: Mapping[int, int], unknown: int) -> list[int]:
        """Return the first results of a query that the gate admits."""
        pool = ids[: min(self.pool_size, MAX_CANDIDATES)]
        return list(pool) if self.pool_size else self.choose(ids, tokens_by_id, unknown)


@dataclass(frozen=True)
class RetrievalRequest:
    """What to search for, where, and how many candidates to return; the pinned and newest memories without a query.

    `with_pinned` puts the pinned memories, limited separately, before the results. With `adjacent_turn_reach`, memories
    that many positions around the better half follow. Without `with_lexemes` the candidates do not say which lexemes of
    the query they contain. `embedder` returns the active model's embedder if known.
    """

    scope: SearchScope
    query: str | None
    gate: CandidateGate
    mode: str = RetrievalMode.HYBRID
    with_pinned: bool = False
    adjacent_turn_reach: int = 0
    with_vectors: bool = False
    with_lexemes: bool = True
    embedder: Callable[[], Embedder] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class RetrievalWarning:
    """A reason why the search result is worse than requested."""

    code: str
    detail: str


@dataclass(frozen=True)
class Retrieval:
    """The candidates in fused order, their plan, warnings, the compared query, and vectors if requested."""

    candidates: list[Candidate]
    plan: dict[str, Any]
    warnings: list[RetrievalWarning] = field(default_factory=list)
    query: CandidateQuery = field(default_factory=CandidateQuery)
    vectors: Mapping[UUID, EmbeddingVectors] = field(default_factory=dict)


def search_conditions(filters: Mapping[str, Any]) -> list[FilterCondition]:
    """Return the conditions of a search's filters. Raises `InvalidInput` for filters that cannot be applied."""
    try:
        return parse_filters(filters)
    except FilterError as error:
        raise InvalidInput(error.code, str(error), error.field) from error


def retrieve(request: RetrievalRequest) -> Retrieval:
    """Return the memories in the scope that the query finds, best first. Call with no scope open.

    If the embedder fails, only words are searched, with a warning. At a past time, versions of that time are searched.
    """
    return shared_result(request, lambda: read_from_replica(request.scope.tenant_id, partial(_retrieve, request)))


def _retrieve(request: RetrievalRequest) -> Retrieval:
    if request.query is None or not request.query.strip():
        return _retrieve_newest(request.scope, request.gate)
    scope, gate, mode = request.scope, request.gate, RetrievalMode(request.mode)
    wanted = rows_to_retrieve(tokens=gate.tokens * gate.overfetch_ratio, limit=gate.limit, pool_size=gate.pool_size)
    trace = RetrievalTrace(mode.value, perf_counter)
    warnings: list[RetrievalWarning] = []
    query = _embed_query(request, request.query, trace)
    if query.vector is None:
        detail = "The embedder is unavailable; only full-text search was used."
        warnings.append(RetrievalWarning("embedder_unavailable", detail))
    with ExitStack() as stack:
        second = stack.enter_context(second_tenant_scope(scope.tenant_id))
        stack.enter_context(tenant_scope(scope.tenant_id, is_pipelined=True))
        ranked = _rank(request, query, wanted, trace, second)
        vector_ranks, text_ranks = retrievers.ranks_of(ranked.by_vector), retrievers.ranks_of(ranked.by_text)
        fused = fuse(vector_ranks, text_ranks)
        ranks = CandidateRanks(vector_ranks, text_ranks, fused)
        query = replace(query, lexemes=ranked.lexemes)
        choose = partial(gate.choose_results, list(fused))
        pinned, tokens = ranked.pinned, ranked.by_vector | ranked.by_text | ranked.pinned
        early = [] if ranked.early is None else [replace(ranked.early, ranks=ranks)]
        requested = [key for sent in early for key in sent.keys]
        admitted_first = gate.choose(list(pinned), pinned)
        admission = Admission(admitted_first, choose, tokens, known=ranked.by_text.values(), requested=requested)
        with trace.step("read") as entry:
            read = partial(_send_candidates, request, query, ranks=ranks)
            found, vectors = _read_admitted(request, admission, read, early, stack, second)
            entry["rows"] = len(admission.chosen)
        if request.adjacent_turn_reach > 0:
            best = admission.results
            beside, own = _neighbours(request, found, best, query, ranks, trace, stack)
            found, vectors = [*found, *beside], own | vectors
    if query.vector is not None and mode != RetrievalMode.LEXICAL and found and not ranked.by_vector:
        detail = f"No memory in scope has a vector of the model {query.model}."
        warnings.append(RetrievalWarning("no_embeddings", detail))
    trace.values |= {"fused_rows": len(fused), "gated_rows": len(admission.chosen)}
    return Retrieval(found, trace.values, warnings, query, vectors)


class _Ranked(NamedTuple):
    """The rankings of the retrievers, with tokens, and the lexemes of the query.

    `early` is half of the memories that words alone would admit; a second connection reads them while the index is
    read.
    """

    by_vector: Ranking
    by_text: Ranking
    pinned: Ranking
    lexemes: Sequence[str]
    early: SentCandidates | None


def _rank(
    request: RetrievalRequest, query: CandidateQuery, wanted: int, trace: RetrievalTrace, second: SecondScope
) -> _Ranked:
    """Return the rankings of the retrievers. On a second connection, words are searched while the index is read."""
    scope, mode, tokens = request.scope, RetrievalMode(request.mode), request.gate.column
    vector = None if mode is RetrievalMode.LEXICAL else query.vector
    words = request.query if query.vector is None or mode is not RetrievalMode.VECTOR else None
    plain = scope.plain() if request.with_pinned else None
    with second.sending():  # the look-ups that do not depend on other results, so that they need one round trip
        sent_words = None if words is None else send_query_lexemes(scope.tenant_id, words)
        sent_pinned = None if plain is None else send_pinned_memories(plain, tokens)
        # a past time is searched regardless of its size
        has_size = vector is not None and not scope.moment.reads_history
        read_size = send_scope_size(scope.present(), query.model) if has_size else None
    nearest = matching = None
    if vector is not None and read_size is not None:
        nearest = retrievers.send_nearest(scope, vector, query.model, tokens, wanted=wanted, read_size=read_size)
        second.start_first()
    if sent_words is not None:
        has_own_plan = nearest is None or nearest.plan.search is SearchMethod.EXACT
        with second.sending():
            matching = retrievers.SentTextSearch.of_lexemes(
                scope, sent_words, tokens, wanted, has_own_plan=has_own_plan
            )
    by_vector: Ranking = {}
    by_text = matching.read_traced(trace) if matching is not None and second.is_open else {}
    lexemes = query.lexemes if matching is None else matching.text.lexemes
    early = None
    if by_text and nearest is not None and nearest.ranking is not None:  # the second connection is idle
        with second.sending():
            likely = request.gate.choose_results(list(by_text), by_text, 0)
            early = _send_candidates(request, replace(query, lexemes=lexemes), likely[: len(likely) // 2])
    if nearest is not None:
        by_vector = nearest.read_traced(trace)
    elif vector is not None:
        by_vector = retrievers.rank_by_vector_in_history(scope, vector, query.model, tokens, trace)
    if matching is not None and not second.is_open:  # which the connection has run last
        by_text = matching.read_traced(trace)
    pinned = retrievers.rank_pinned(scope, sent_pinned, tokens, trace) if request.with_pinned else {}
    return _Ranked(by_vector, by_text, pinned, lexemes, early)


def _embed_query(request: RetrievalRequest, text: str, trace: RetrievalTrace) -> CandidateQuery:
    with trace.step("embed") as entry:
        try:
            embedder = (request.embedder or partial(embedder_of, request.scope.tenant_id))()
            entry["model"] = embedder.name
            vector = shared_result((embedder.name, text), lambda: embedder.embed([text])[0])
            return CandidateQuery(vector, embedder.name)
        except EmbeddingError as error:
            logger.warning("The query was not embedded: %s", error.detail)
            entry["failed"] = True
    return CandidateQuery()


def _send_candidates(
    request: RetrievalRequest, query: CandidateQuery, ids: Sequence[int], ranks: CandidateRanks | None = None
) -> SentCandidates:
    compared = query if request.with_lexemes else replace(query, lexemes=())
    with_vectors = request.with_vectors and bool(query.model)
    return send_candidates(request.scope, ids, compared, ranks or CandidateRanks(), with_vectors=with_vectors)


def _read_admitted(
    request: RetrievalRequest,
    admission: Admission,
    read: Callable[[Sequence[int]], SentCandidates],
    early: Sequence[SentCandidates],
    stack: ExitStack,
    second: SecondScope,
) -> tuple[list[Candidate], dict[UUID, EmbeddingVectors]]:
    """Return the admitted candidates and their vectors; close the scope unless neighbours follow.

    A second connection reads half of those that are not `early`.
    """
    rows: dict[int, Candidate] = {}
    vectors: dict[UUID, EmbeddingVectors] = {}
    needs_tokens = request.gate.needs_tokens
    scope: AbstractContextManager[object] = stack
    while (unread := admission.unread()) or early:
        # the scope ends with the last rows; if they are too few, others are read in a scope of their own
        with nullcontext() if request.adjacent_turn_reach else scope:
            own = len(unread) // 2 if second.is_open else len(unread)
            with second.sending(is_last=True):
                others = read(unread[own:])
            sent = read(unread[:own])
        more: dict[int, Candidate] = {}
        for each in (*early, sent, others):
            found, own_vectors = each.read()
            more |= {row.id.int: row for row in found}
            vectors |= own_vectors
        rows |= more
        if needs_tokens:
            admission.learn({key: row.token_counts[request.gate.encoding] for key, row in more.items()})
        scope, early = tenant_scope(request.scope.tenant_id, is_pipelined=True), ()
    return [rows[key] for key in admission.chosen if key in rows], vectors


def _neighbours(
    request: RetrievalRequest,
    found: Sequence[Candidate],
    best: Sequence[int],
    query: CandidateQuery,
    ranks: CandidateRanks,
    trace: RetrievalTrace,
    scope: ExitStack,
) -> tuple[list[Candidate], dict[UUID, EmbeddingVectors]]:
    """Return the memories next to the better half of the query's results, and their vectors; close the `scope`."""
    with trace.step("beside", reach=request.adjacent_turn_reach) as entry:
        better = set(best[: ceil(len(best) / 2)])
        around = [row for row in found if row.id.int in better]
        known = {row.id.int for row in found}
        reach, with_vectors = request.adjacent_turn_reach, request.with_vectors and bool(query.model)
        read = send_neighbours(request.scope, around, reach, query, ranks, known=found, with_vectors=with_vectors)
        scope.close()  # nothing else is read
        near, vectors = read()
        neighbours = [row for row in near if row.id.int not in known]
        entry["rows"] = len(neighbours)
    return neighbours, vectors


def _retrieve_newest(scope: SearchScope, gate: CandidateGate) -> Retrieval:
    trace = RetrievalTrace("newest", perf_counter)
    with trace.step("read") as entry, tenant_scope(scope.tenant_id):
        ranking = retrievers.rank_newest(scope, gate.column)
        chosen = gate.choose(list(ranking), ranking)
        found = read_candidates(scope, chosen, CandidateQuery(), CandidateRanks())
        entry["rows"] = len(found)
    trace.values["gated_rows"] = len(chosen)
    return Retrieval(found, trace.values)
