"""The statements that rank the present memories of a plain scope, each with its tokens (ADR-0115).

The querysets of `memories.store.queries` mean the same; they also take filters and past times, but are compiled, parsed
and planned again for each search.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from psycopg import sql

from memories.search.queries.lexemes import any_lexeme, matched_bits
from memories.search.queries.nearest import INDEX_SCAN_ENDS, Vector, VectorIndex, half_vector
from memories.search.queries.shared_results import send_shared
from memories.services.search.admission import UNKNOWN_TOKENS
from memories.services.search.fusion import MAX_CANDIDATES
from memories.services.search.planner import LEXEMES_MAX, TextQuery
from memories.services.search.text_ranking import TEXT_HIT, TextHits
from memories.tenancy.queries.plain_scope import PlainScope
from memories.tenancy.queries.prepared import SentStatement, send_prepared

#: Tokens by memory, best first; `UNKNOWN_TOKENS` if the memories were not read. Keys are the integers of the UUIDs,
#: because a UUID's hash is computed in Python.
Ranking = dict[int, int]

# A ranking as one row, which the client reads in a tenth of the time of hundreds of rows (ADR-0150).
_PACKED = """
SELECT string_agg(uuid_send(id), ''::bytea), string_agg(int4send(tokens), ''::bytea), {more} FROM ({rows}) AS ranked
"""
_COUNTED = "(SELECT count(*) FROM {read})"
# Reads only the memories of the nearest vectors.
_NEAREST_VECTORS = """
SELECT memory.id, memory.{tokens} AS tokens
FROM near JOIN memories_memory AS memory ON memory.id = near.memory_id AND memory.version = near.version
WHERE {live} ORDER BY near.distance, memory.created_at DESC, memory.id
"""
# Reads no memory: a vector is current only while its memory is not archived, so only expiry is left to know.
_NEAREST_IDS = "SELECT near.memory_id AS id, NULL::int AS tokens FROM near ORDER BY near.distance, near.id DESC"
_NEAR = """
{name} AS MATERIALIZED (SELECT own.id, own.memory_id, own.version, {distance} AS distance
FROM memories_memoryembedding AS own
WHERE {covered} AND own.model = {model} AND own.is_current {part} ORDER BY {order} LIMIT %(limit)s)
"""
_NEAR_OF_BOTH = """
, near AS MATERIALIZED (
    SELECT * FROM (SELECT * FROM indexed UNION ALL SELECT * FROM tail) AS parts ORDER BY distance LIMIT %(limit)s
)
"""
# How many live memories are nearer than a given one; of equally near memories, the newer count, then those with smaller
# ids. NULL if the memory has no vector. Reads memories only for equal vectors, and the few that have expired.
_NEARER = """
WITH it AS MATERIALIZED (SELECT memory.id, memory.created_at, own.vector <=> %(vector)s AS distance
    FROM memories_memory AS memory
    JOIN memories_memoryembedding AS own ON own.memory_id = memory.id AND own.version = memory.version
    WHERE memory.tenant_id = %(tenant)s AND memory.id = %(memory)s AND own.model = {model}
), near AS MATERIALIZED (SELECT own.memory_id, own.version, own.vector <=> %(vector)s AS distance
    FROM memories_memoryembedding AS own WHERE {covered} AND own.model = {model} AND own.is_current
), equal AS (SELECT memory.id FROM it, near JOIN memories_memory AS memory ON memory.id = near.memory_id
    WHERE {live} AND near.distance = (SELECT distance FROM it)
        AND (memory.created_at > it.created_at OR memory.created_at = it.created_at AND memory.id < it.id)
), expired AS (SELECT memory.id FROM near JOIN memories_memory AS memory ON memory.id = near.memory_id
    WHERE near.distance < (SELECT distance FROM it) AND memory.tenant_id = %(tenant)s
        AND memory.archived_at IS NULL AND memory.expires_at <= %(now)s
)
SELECT (SELECT count(*) FROM near WHERE distance < it.distance)
    + (SELECT count(*) FROM equal) - (SELECT count(*) FROM expired) FROM it
"""
_NEAREST_MEMORIES = """
SELECT memory.id, memory.{tokens} AS tokens
FROM memories_memory AS memory
JOIN memories_memoryembedding AS own ON own.memory_id = memory.id AND own.version = memory.version
WHERE {live} AND own.model = {model}
ORDER BY own.vector <=> %(vector)s, memory.created_at DESC, memory.id LIMIT %(limit)s
"""
# The columns of `TEXT_HIT` as one value, unordered because ordering in the database would take longer.
_MATCHING = """
SELECT string_agg(
    uuid_send(id) || int4send(tokens) || int4send(position) || int8send(held) || int8send(session)
        || timestamptz_send(created_at), ''::bytea
)
FROM (
    SELECT memory.id, memory.{tokens} AS tokens, coalesce(memory.position, 0) AS position, {held} AS held,
        memory.created_at, CASE WHEN memory.session <> '' AND memory.position IS NOT NULL
            THEN hashtextextended(memory.partition_path, 0) # hashtextextended(memory.session, 1) ELSE 0 END AS session
    FROM {memories} AS memory
    WHERE {live} AND memory.search_vector @@ %(matched)s::tsquery
) AS matching
"""
#: Places for the lexemes of a query in a statement, so that few statements are prepared; each place that is left over
#: takes a look-up for each row.
_LEXEME_PLACES = (*range(1, 11), 16, LEXEMES_MAX)
_NEWEST = (
    "(SELECT recent.* FROM memories_memory AS recent WHERE {live}"
    " ORDER BY recent.created_at DESC, recent.id LIMIT %(newest)s)"
)
_PINNED = f"""
SELECT memory.id, memory.{{tokens}} AS tokens FROM memories_memory AS memory WHERE {{live}} AND memory.pinned
ORDER BY memory.created_at DESC, memory.id LIMIT {MAX_CANDIDATES}
"""  # noqa: S608 - a constant


@dataclass(frozen=True)
class SentRanking:
    """A ranking whose query was sent; in a pipelined scope, the result may not have arrived yet."""

    statement: SentStatement

    def read(self) -> Ranking:
        """Wait for the ranking."""
        return self.read_with_count()[0]

    def read_with_count(self) -> tuple[Ranking, int]:
        """Wait for the ranking, and how many vectors were read for it."""
        ((ids, tokens, read, *_),) = self.statement.rows()
        if ids is None:
            return {}, read
        halves = np.frombuffer(ids, dtype=">u8").tolist()
        keys = [high << 64 | low for high, low in zip(halves[::2], halves[1::2], strict=True)]
        if tokens is None:
            return dict.fromkeys(keys, UNKNOWN_TOKENS), read
        return dict(zip(keys, np.frombuffer(tokens, dtype=">i4").tolist(), strict=True)), read


def send_nearest_vectors(
    scope: PlainScope,
    vector: Vector,
    model: str,
    tokens: str,
    limit: int,
    *,
    index: VectorIndex | None = None,
    is_all_live: bool = False,
) -> SentRanking:
    """Send the query for the live memories of the `limit` nearest vectors and the number of vectors read.

    With an `index`, search it, after `begin_index_scan`, and its tail; only the vectors of the index count as read.
    With `is_all_live`, no memory is read: tokens are unknown, and among equal distances the vector stored last comes
    first.
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
        # vectors that the index does not contain yet are all read
        parts = {"indexed": index.contains("own."), "tail": index.lacks("own.")}
        both = [_NEAR.format(name=name, part=f"AND {part}", **same) for name, part in parts.items()]
        near = ",".join(both) + _NEAR_OF_BOTH
    joined = _NEAREST_VECTORS.format(live=scope.has_live("memory"), tokens=tokens)
    rows = _NEAREST_IDS if is_all_live else joined
    more = _COUNTED.format(read="near") if index is None else _COUNTED.format(read="indexed") + f", {INDEX_SCAN_ENDS}"
    values = {**scope.values, "vector": half_vector(vector), "limit": limit}
    # settings that are not in the statement decide how far the index is read
    return _send_packed(rows, values, more=more, before=f"WITH {near}", is_shared=index is None)


def nearest_memories(scope: PlainScope, vector: Vector, model: str, tokens: str, limit: int) -> Ranking:
    """Return the nearest live memories by reading every memory of the scope with its vector."""
    rows = _NEAREST_MEMORIES.format(live=scope.has_live("memory"), model=_quoted(model), tokens=tokens)
    return _send_packed(rows, {**scope.values, "vector": half_vector(vector), "limit": limit}).read()


def how_many_nearer(scope: PlainScope, vector: Vector, model: str, memory_id: UUID) -> int | None:
    """Return how many memories of the scope an exact search ranks above the given one; None if it has no vector."""
    statement = _NEARER.format(covered=scope.covers("own"), live=scope.has_live("memory"), model=_quoted(model))
    values = {**scope.values, "vector": half_vector(vector), "memory": memory_id}
    rows = send_shared(statement, values).rows()
    return None if not rows else int(rows[0][0])


def send_text_hits(
    scope: PlainScope, text: TextQuery, tokens: str, *, memory_id: UUID | None = None
) -> Callable[[], TextHits]:
    """Send the query for the live memories that match a text query, in any order; return what reads them.

    With `memory_id`, for this memory in any state.
    """
    live = scope.has_live("memory") if memory_id is None else "memory.tenant_id = %(tenant)s AND memory.id = %(memory)s"
    memories = "memories_memory" if text.newest is None else _NEWEST.format(live=scope.has_live("recent"))
    lexemes = text.ranking
    places = next(count for count in _LEXEME_PLACES if count >= len(lexemes))
    # the places that are left over repeat a lexeme; their bits are not read
    parameters = {f"lexeme{place}": [lexemes[place % len(lexemes)]] for place in range(places)}
    held = matched_bits("memory.search_vector", [f"%({name})s" for name in parameters])
    values = {name: any_lexeme(each) for name, each in {**parameters, "matched": text.matched}.items()}
    statement = _MATCHING.format(live=live, memories=memories, tokens=tokens, held=held)
    sent = send_shared(statement, {**scope.values, **values, "newest": text.newest, "memory": memory_id})
    return lambda: np.frombuffer(sent.rows()[0][0] or b"", dtype=TEXT_HIT)


def send_pinned_memories(scope: PlainScope, tokens: str) -> SentRanking:
    """Send the query for the pinned memories, newest first."""
    return _send_packed(_PINNED.format(live=scope.has_live("memory"), tokens=tokens), scope.values)


def _send_packed(
    rows: str, values: dict[str, Any], *, more: str = "0", before: str = "", is_shared: bool = True
) -> SentRanking:
    statement = before + _PACKED.format(rows=rows, more=more)
    return SentRanking(send_shared(statement, values) if is_shared else send_prepared(statement, values))


def _quoted(model: str) -> str:
    return sql.Literal(model).as_string().replace("%", "%%")
