"""Retrievers: rank memories by vector, text, pin or age, with their tokens. Call them inside a scope.

The statements of two retrievers are sent before either result is read, so that a pipelined scope waits for both
together (ADR-0150).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Self
from uuid import UUID

import numpy as np

from memories.embeddings.providers import EmbeddingVectors
from memories.models import Memory
from memories.search.queries import ranking
from memories.search.queries.lexemes import read_query_lexemes
from memories.search.queries.nearest import (
    MAX_INDEX_DIMENSION,
    VectorIndex,
    begin_index_scan,
    force_index_scan,
    plan_by_values,
)
from memories.search.queries.ranking import Ranking, SentRanking
from memories.search.queries.shared_results import is_sharing
from memories.services.search.fusion import MAX_CANDIDATES
from memories.services.search.planner import (
    ALL_WORDS_ROWS,
    ROWS_PER_SPARE_ROW,
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
from memories.services.search.text_ranking import TEXT_HIT, TextHits, rank_text_hits
from memories.store.search_scope import CandidateRows, SearchScope
from memories.tenancy.queries.prepared import SentStatement, answer_so_far

#: Vectors that an exact search reads for any plan.
_DEEPEST = MAX_CANDIDATES + MAX_CANDIDATES // ROWS_PER_SPARE_ROW


def ranks_of(ranking: Ranking) -> dict[int, int]:
    """Return the rank of each memory, from 1."""
    return {key: rank for rank, key in enumerate(ranking, start=1)}


@dataclass(frozen=True)
class SentTextSearch:
    """A search by words; in a scope that is not plain, it runs when its result is read."""

    scope: SearchScope
    text: TextQuery
    tokens: str
    limit: int
    read_hits: Callable[[], TextHits] | None

    @classmethod
    def send(cls, scope: SearchScope, text: TextQuery, tokens: str, limit: int = MAX_CANDIDATES) -> Self:
        """Send the query for the first memories that match a text query."""
        plain = scope.plain() if text.matched else None
        sent = None if plain is None else ranking.send_text_hits(plain, text, tokens)
        return cls(scope, text, tokens, limit, sent)

    @classmethod
    def of_lexemes(
        cls, scope: SearchScope, lexemes: SentStatement, tokens: str, wanted: int, *, has_own_plan: bool
    ) -> Self:
        """Send the query for the memories that contain the query's words, enough for `wanted` in fused order.

        `has_own_plan` is for scopes that are small compared with the whole index.
        """
        if has_own_plan:
            plan_by_values()
        text = build_text_query(scope, read_query_lexemes(lexemes))
        # in a scope so large that common words do not match, as deep as the vectors
        return cls.send(scope, text, tokens, retriever_depth(wanted) if text.has_dropped else MAX_CANDIDATES)

    def read(self) -> Ranking:
        """Wait for the memories."""
        if not self.text.matched:
            return {}
        read = self.read_hits
        hits = _text_hits(self.text, self.tokens, self.scope.sources()) if read is None else read()
        return rank_text_hits(hits, self.text, self.limit)

    def read_traced(self, plan: RetrievalTrace) -> Ranking:
        """Wait for the memories, as a step of a plan."""
        with plan.step("lexical") as entry:
            found = self.read()
            entry |= {"lexemes": len(self.text.lexemes), "matched": len(self.text.matched), "rows": len(found)}
        return found


def build_text_query(scope: SearchScope, rows_by_lexeme: Mapping[str, int]) -> TextQuery:
    """Return the text query; if common words would match too many rows of a large scope, only rare words match."""
    lexemes = list(rows_by_lexeme)
    rarest = match_rarest(lexemes, rows_by_lexeme)
    if not rarest.has_dropped:
        return rarest
    is_known_large = scope.is_whole_tenant and max(rows_by_lexeme.values()) > ALL_WORDS_ROWS
    is_large = is_known_large or any(rows.is_more_than(ALL_WORDS_ROWS) for rows in scope.sources())
    return rarest if is_large else match_all(lexemes)


def rank_by_text_with(scope: SearchScope, text: TextQuery, memory_id: UUID, tokens: str) -> Ranking:
    """Return all rows of a scope that match a text query, ranked together with a memory that may be out of scope."""
    plain = scope.plain()
    if plain is None:
        own = Memory.objects.for_tenant(scope.tenant_id).of_memories([memory_id])
        hits = _text_hits(text, tokens, [*scope.sources(), own])
    else:
        others, own_hits = (ranking.send_text_hits(plain, text, tokens, memory_id=pk)() for pk in (None, memory_id))
        high, low = divmod(memory_id.int, 1 << 64)
        is_other = (others["high"] != high) | (others["low"] != low)
        hits = np.concatenate([others[is_other], own_hits])
    return rank_text_hits(hits, text, len(hits))


def _text_hits(text: TextQuery, tokens: str, sources: Sequence[CandidateRows]) -> TextHits:
    """Return the rows of any sources that match a text query."""
    found = {row[:2]: row for rows in sources for row in rows.text_hits(text, tokens)}
    return np.array(list(found.values()), dtype=TEXT_HIT)


def rank_pinned(scope: SearchScope, sent: SentRanking | None, tokens: str, plan: RetrievalTrace) -> Ranking:
    """Return the pinned memories, newest first; in a plain scope, those of `sent`."""
    with plan.step("pinned") as entry:
        if sent is not None:
            found = sent.read()
        else:
            found = _ranking([rows.pinned().pinned_then_newest() for rows in scope.sources()], tokens, "-pinned")
        entry["rows"] = len(found)
    return found


def rank_newest(scope: SearchScope, tokens: str) -> Ranking:
    """Return the pinned memories, then the newest."""
    return _ranking([rows.pinned_then_newest() for rows in scope.sources()], tokens, "-pinned")


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
    """Current memories, nearest first, and the plan that found them.

    The size of the index and the limits of its scan are not in it: receipts show the plan, and the index contains the
    rows of all tenants.
    """

    rows: Ranking
    plan: dict[str, Any]


def rank_by_vector_in_history(
    scope: SearchScope, vector: EmbeddingVectors, model: str, tokens: str, plan: RetrievalTrace
) -> Ranking:
    """Return the nearest memories at a past time."""
    with plan.step("vector", search=SearchMethod.EXACT, reason=SearchPlanReason.HISTORY) as entry:
        found = _ranking([rows.nearest_to(vector, model) for rows in scope.sources()], tokens, "distance")
        entry["rows"] = len(found)
    return found


def send_nearest(
    scope: SearchScope,
    vector: EmbeddingVectors,
    model: str,
    tokens: str,
    *,
    wanted: int,
    read_size: Callable[[], ScopeSize],
) -> "SentVectorSearch":
    """Send the query for the nearest live memories, as many as a fused order needs for its first `wanted`."""
    size = replace(read_size(), is_filtered=bool(scope.conditions))
    if len(vector) > MAX_INDEX_DIMENSION:
        size = replace(size, index_rows=None)
    return SentVectorSearch.send(plan_vector_search(size, wanted=wanted), scope, vector, model, tokens, size)


@dataclass(frozen=True)
class SentVectorSearch:
    """A search by vector. One along the index or by vectors alone is sent first; any other is run when it is read."""

    plan: VectorPlan
    scope: SearchScope
    vector: EmbeddingVectors
    model: str
    tokens: str
    size: ScopeSize | None
    ranking: SentRanking | None

    @classmethod
    def send(
        cls,
        plan: VectorPlan,
        scope: SearchScope,
        vector: EmbeddingVectors,
        model: str,
        tokens: str,
        size: ScopeSize | None = None,
    ) -> Self:
        """Search as planned."""
        search = cls(plan, scope, vector, model, tokens, size, None)
        return replace(search, ranking=search._sent())

    def read(self) -> NearestResult:
        """Wait for the nearest memories. If an index scan finds too few, the whole scope is read."""
        found = self._read()
        return found if self.size is None else found._replace(plan={**found.plan, "rows_in_scope": self.size.rows})

    def read_traced(self, plan: RetrievalTrace) -> Ranking:
        """Wait for the memories, as a step of a plan."""
        with plan.step("vector") as entry:
            found, details = self.read()
            entry |= {**details, "rows": len(found)}
        return found

    def _sent(self) -> SentRanking | None:
        plain, plan = self.scope.plain(), self.plan
        if plain is None or (plan.search is SearchMethod.EXACT and plan.reads_memories):
            return None
        values = (plain, self.vector, self.model, self.tokens, plan.limit_with_spare)
        if plan.search is SearchMethod.EXACT:
            # equally deep for both sides of a comparison, whose plans do not differ otherwise
            limit = _DEEPEST if is_sharing() else plan.limit_with_spare
            return ranking.send_nearest_vectors(plain, self.vector, self.model, self.tokens, limit)
        answer_so_far()  # while the index is read, the words of the query are already known
        begin_index_scan(**plan.scan)
        index = VectorIndex(rows=0, bound=plan.index_bound)
        return ranking.send_nearest_vectors(*values, index=index, is_all_live=plan.is_all_live)

    def _read(self) -> NearestResult:
        plan = self.plan
        done = {"search": plan.search, "reason": plan.reason, "limit": plan.limit}
        if plan.search is SearchMethod.HNSW:
            found, read = self._read_index_scan()
            if read < plan.enough_rows and plan.is_single_scan:
                # Vectors of deleted rows stay in the index until the next vacuum and take places in its results.
                again = replace(plan, is_single_scan=False)
                found, read = self.send(again, self.scope, self.vector, self.model, self.tokens)._read_index_scan()
            if min(len(found), read) >= plan.min_rows:
                return NearestResult(found, done)
            done |= {"search": SearchMethod.EXACT, "reason": SearchPlanReason.TOO_FEW_FOUND}
        return NearestResult(self._read_exactly(), done)

    def _read_index_scan(self) -> tuple[Ranking, int]:
        """Return the nearest memories along the index and in its tail, and how many vectors the index returned."""
        if self.ranking is not None:
            found, read = self.ranking.read_with_count()
            return _first(found, self.plan.limit), read
        (memories,) = self.scope.sources()
        index = VectorIndex(rows=0, bound=self.plan.index_bound)
        with force_index_scan(**self.plan.scan):
            rows, read = memories.nearest_by_index(self.vector, self.model, self.tokens, self.plan.limit, index=index)
        return {pk.int: count for pk, count in rows}, read

    def _read_exactly(self) -> Ranking:
        plan, plain = self.plan, self.scope.plain()
        if plain is None:
            (memories,) = self.scope.sources()
            rows = memories.nearest_to(self.vector, self.model).values_list(memories.identity, self.tokens)
            return {pk.int: count for pk, count in rows[: plan.limit]}
        if not plan.reads_memories:
            values = (plain, self.vector, self.model, self.tokens, plan.limit_with_spare)
            sent = self.ranking if plan.search is SearchMethod.EXACT else None
            found, read = (sent or ranking.send_nearest_vectors(*values)).read_with_count()
            # If most of the nearest have expired, memories further away take their place.
            if len(found) >= plan.min_rows or read < plan.limit_with_spare:
                return _first(found, plan.limit)
        return ranking.nearest_memories(plain, self.vector, self.model, self.tokens, plan.limit)


def _first(ranked: Ranking, count: int) -> Ranking:
    return ranked if len(ranked) <= count else dict(islice(ranked.items(), count))
