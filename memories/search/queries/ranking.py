"""The statements that rank the present memories of a plain scope, each with its tokens (ADR-0115).

The querysets of `memories.store.queries` mean the same; they also take filters and past times, but are compiled, parsed
and planned again for each search.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import sql

from memories.search.queries.lexemes import any_lexeme
from memories.search.queries.nearest import Vector, half_vector
from memories.services.search.fusion import MAX_CANDIDATES
from memories.services.search.planner import TextQuery
from memories.tenancy.queries.plain_scope import PlainScope
from memories.tenancy.queries.prepared import SentStatement, execute_prepared, send_prepared

#: (id, tokens), best first.
RankedRows = list[tuple[UUID, int]]

# Reads only the memories of the nearest vectors.
_NEAREST_VECTORS = """
WITH near AS MATERIALIZED (
    SELECT own.memory_id, own.version, {distance} AS distance FROM memories_memoryembedding AS own
    WHERE {covered} AND own.model = {model} AND own.is_current ORDER BY {order} LIMIT %(limit)s
)
SELECT memory.id, memory.{tokens}, (SELECT count(*) FROM near)
FROM near JOIN memories_memory AS memory ON memory.id = near.memory_id AND memory.version = near.version
WHERE {live} ORDER BY near.distance, memory.created_at DESC, memory.id
"""
_NEAREST_MEMORIES = """
SELECT memory.id, memory.{tokens}
FROM memories_memory AS memory
JOIN memories_memoryembedding AS own ON own.memory_id = memory.id AND own.version = memory.version
WHERE {live} AND own.model = {model}
ORDER BY own.vector <=> %(vector)s, memory.created_at DESC, memory.id LIMIT %(limit)s
"""
_MATCHING = """
SELECT memory.id, memory.{tokens} FROM memories_memory AS memory
WHERE {live} AND {among} memory.search_vector @@ %(matched)s::tsquery
ORDER BY ts_rank(memory.search_vector, %(lexemes)s::tsquery) DESC, memory.created_at DESC, memory.id
LIMIT %(limit)s
"""
_AMONG_NEWEST = (
    "memory.id IN (SELECT recent.id FROM memories_memory AS recent WHERE {live}"
    " ORDER BY recent.created_at DESC, recent.id LIMIT %(newest)s) AND"
)
_PINNED = f"""
SELECT memory.id, memory.{{tokens}} FROM memories_memory AS memory WHERE {{live}} AND memory.pinned
ORDER BY memory.created_at DESC, memory.id LIMIT {MAX_CANDIDATES}
"""  # noqa: S608 - a constant


def nearest_vectors(
    scope: PlainScope, vector: Vector, model: str, tokens: str, limit: int, *, is_indexed: bool
) -> tuple[RankedRows, int]:
    """Return the live memories of the `limit` nearest vectors, and how many vectors were read.

    With `is_indexed`, along the model's index, inside `force_index_scan`.
    """
    # the index is of one model and one dimension, so both are a part of the statement
    cast = f"::halfvec({len(vector)})" if is_indexed else ""
    distance = f"own.vector{cast} <=> %(vector)s{cast}"
    statement = _NEAREST_VECTORS.format(
        distance=distance,
        order=distance if is_indexed else "distance, own.memory_id",
        covered=scope.covers("own"),
        live=scope.has_live("memory"),
        model=_quoted(model),
        tokens=tokens,
    )
    found = execute_prepared(statement, {**scope.values, "vector": half_vector(vector), "limit": limit})
    return [(pk, count) for pk, count, _ in found], found[0][2] if found else 0


def nearest_memories(scope: PlainScope, vector: Vector, model: str, tokens: str, limit: int) -> RankedRows:
    """Return the nearest live memories by reading every memory of the scope with its vector."""
    statement = _NEAREST_MEMORIES.format(live=scope.has_live("memory"), model=_quoted(model), tokens=tokens)
    return _ranked(statement, {**scope.values, "vector": half_vector(vector), "limit": limit})


def matching_memories(scope: PlainScope, text: TextQuery, tokens: str, limit: int = MAX_CANDIDATES) -> RankedRows:
    """Return the first live memories that match a text query, best first."""
    among = "" if text.newest is None else _AMONG_NEWEST.format(live=scope.has_live("recent"))
    statement = _MATCHING.format(live=scope.has_live("memory"), among=among, tokens=tokens)
    asked: dict[str, Sequence[str]] = {"matched": text.matched, "lexemes": text.lexemes}
    values = {name: any_lexeme(lexemes) for name, lexemes in asked.items()}
    return _ranked(statement, {**scope.values, **values, "newest": text.newest, "limit": limit})


def send_pinned_memories(scope: PlainScope, tokens: str) -> SentStatement:
    """Send the query for the pinned memories, newest first, as `RankedRows`."""
    return send_prepared(_PINNED.format(live=scope.has_live("memory"), tokens=tokens), scope.values)


def _ranked(statement: str, values: dict[str, Any]) -> RankedRows:
    return [(pk, count) for pk, count in execute_prepared(statement, values)]


def _quoted(model: str) -> str:
    return sql.Literal(model).as_string().replace("%", "%%")
