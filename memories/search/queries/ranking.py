"""The statements that rank the present memories of a plain scope, each with its tokens (ADR-0115).

The querysets of `memories.store.queries` mean the same; they also take filters and past times, but are compiled, parsed
and planned again for each search.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import sql

from memories.search.queries.lexemes import any_lexeme
from memories.search.queries.nearest import Vector, VectorIndex, half_vector
from memories.services.search.fusion import MAX_CANDIDATES
from memories.services.search.planner import TextQuery
from memories.tenancy.queries.plain_scope import PlainScope
from memories.tenancy.queries.prepared import SentStatement, execute_prepared, send_prepared

#: (id, tokens), best first.
RankedRows = list[tuple[UUID, int]]

# Reads only the memories of the nearest vectors.
_NEAREST_VECTORS = """
WITH {near}
SELECT memory.id, memory.{tokens}, (SELECT count(*) FROM {read})
FROM near JOIN memories_memory AS memory ON memory.id = near.memory_id AND memory.version = near.version
WHERE {live} ORDER BY near.distance, memory.created_at DESC, memory.id
"""
_NEAR = """
{name} AS MATERIALIZED (SELECT own.memory_id, own.version, {distance} AS distance FROM memories_memoryembedding AS own
WHERE {covered} AND own.model = {model} AND own.is_current {part} ORDER BY {order} LIMIT %(limit)s)
"""
_NEAR_OF_BOTH = """
, near AS MATERIALIZED (
    SELECT * FROM (SELECT * FROM indexed UNION ALL SELECT * FROM tail) AS parts ORDER BY distance LIMIT %(limit)s
)
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
    scope: PlainScope, vector: Vector, model: str, tokens: str, limit: int, *, index: VectorIndex | None = None
) -> tuple[RankedRows, int]:
    """Return the live memories of the `limit` nearest vectors, and how many vectors were read.

    With an `index`, along it, inside `force_index_scan`, and in its tail; only the vectors of the index count as read.
    """
    same = {"covered": scope.covers("own"), "model": _quoted(model)}
    if index is None:
        distance = "own.vector <=> %(vector)s"
        near = _NEAR.format(name="near", distance=distance, order="distance, own.memory_id", part="", **same)
    else:
        # the index is of one model and one dimension, so both are a part of the statement
        cast = f"::halfvec({len(vector)})"
        distance = f"own.vector{cast} <=> %(vector)s{cast}"
        same |= {"distance": distance, "order": distance}
        # what it does not contain yet is read whole
        parts = {"indexed": index.contains("own."), "tail": index.lacks("own.")}
        both = [_NEAR.format(name=name, part=f"AND {part}", **same) for name, part in parts.items()]
        near = ",".join(both) + _NEAR_OF_BOTH
    read = "near" if index is None else "indexed"
    statement = _NEAREST_VECTORS.format(near=near, read=read, live=scope.has_live("memory"), tokens=tokens)
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
