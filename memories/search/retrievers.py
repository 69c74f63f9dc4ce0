"""The arms of a search: ids with their tokens, best first, by meaning, by words, or by what was pinned.

Steps of conductors, inside a scope.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from memories.embeddings.providers.protocol import EmbeddingVectors
from memories.search.nearest import find_nearest
from memories.search.queries.lexemes import tenant_query_lexemes
from memories.services.search.fusion import MAX_CANDIDATES
from memories.services.search.plan import SearchMethod, SearchPlanReason
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
