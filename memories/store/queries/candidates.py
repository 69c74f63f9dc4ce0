"""The statements that read the present candidates of a plain scope, and links among candidates (ADR-0115)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.search.queries.lexemes import any_lexeme, matched_bits
from memories.search.queries.nearest import Vector, half_vector
from memories.services.search.filters import COUNTER_FIELDS
from memories.services.search.fusion import MAX_CANDIDATES
from memories.services.store.drafts import SUPERSEDES
from memories.store.queries.texts import CANDIDATE_COLUMNS, TOKEN_COLUMNS, PositionSpan
from memories.tenancy.queries.plain_scope import PlainScope
from memories.tenancy.queries.prepared import SentStatement, send_prepared

#: The names of the first values of a row, in their order; after them come the counts of tokens by encoding, the lexemes
#: that the text contains (their places in the list as bits, or a list of places from 1), and the vector.
PLAIN_NAMES = ("similarity", "id", "valid_to", *CANDIDATE_COLUMNS, *COUNTER_FIELDS)
_READ = f"""
SELECT {{similarity}}, memory.id, memory.archived_at,
    memory.{", memory.".join((*CANDIDATE_COLUMNS, *COUNTER_FIELDS, *TOKEN_COLUMNS))},
    {{holds}}, {{vector}}
FROM memories_memory AS memory {{vectors}}
WHERE {{live}} AND {{chosen}}
"""  # noqa: S608 - columns
_OF_IDS = "memory.id = ANY(%(ids)s::uuid[])"
# One join that reads an index range for each span.
_IN_SPANS = f"""
memory.id IN (
    SELECT near.id FROM json_to_recordset(%(spans)s::json) AS span (path text, session text, first bigint, last bigint)
    JOIN memories_memory AS near ON near.tenant_id = %(tenant)s AND near.session = span.session
        AND near.position BETWEEN span.first AND span.last AND near.partition_path = span.path
    WHERE near.id <> ALL(%(known)s::uuid[])
)
ORDER BY memory.partition_path, memory.session, memory.position, memory.created_at DESC, memory.id
LIMIT {MAX_CANDIDATES}
"""  # noqa: S608 - a constant
_VECTORS = (
    "LEFT JOIN memories_memoryembedding AS own ON own.memory_id = memory.id AND own.version = memory.version"
    " AND own.tenant_id = memory.tenant_id AND own.model = %(model)s"
)
# One look-up for each lexeme; listing the lexemes of a row instead takes ten times as long.
_HOLDS = (
    "ARRAY(SELECT place FROM unnest(%(lexemes)s::tsquery[]) WITH ORDINALITY AS asked (query, place)"
    " WHERE memory.search_vector @@ query)"
)

# With at most 16 lexemes, those that a text contains are the bits of a number, which takes less time than an array
# (ADR-0359). As in the ranking by text, places that are left over repeat a lexeme, so that few statements are prepared.
_LEXEME_PLACES = (4, 8, 16)
# A null time is the present, whose links are not replaced.
_SUCCESSORS = """
SELECT target_id, source_id FROM memories_memorylink
WHERE tenant_id = %(tenant)s AND kind = %(kind)s
    AND target_id = ANY(%(ids)s::uuid[]) AND source_id = ANY(%(ids)s::uuid[])
    AND (recorded_to IS NULL OR recorded_to > %(at)s)
    AND (%(at)s::timestamptz IS NULL OR recorded_from <= %(at)s)
"""


def send_superseding_links(tenant_id: UUID, ids: Iterable[int], at: datetime | None) -> SentStatement:
    """Send the query for the links by which one of these memories supersedes another: older and newer id."""
    return send_prepared(_SUCCESSORS, {"tenant": tenant_id, "kind": SUPERSEDES, "ids": _ids_text(ids), "at": at})


def send_plain_candidates(scope: PlainScope, ids: Sequence[int], **compared: Any) -> SentStatement:
    """Send the query for the values of each memory of `ids` (the integers of UUIDs) in scope, in any order.

    `compared` are the further arguments of `_send`.
    """
    return _send(scope, _OF_IDS, {"ids": _ids_text(ids)}, **compared)


def send_plain_neighbours(
    scope: PlainScope, spans: Sequence[PositionSpan], known: Sequence[int], **compared: Any
) -> SentStatement:
    """Send the same query for other memories than the `known` ones in any of these spans, in order of position."""
    # as one text, because the client converts a list one by one
    names = ("path", "session", "first", "last")
    values = {"spans": json.dumps([dict(zip(names, span, strict=True)) for span in spans]), "known": _ids_text(known)}
    return _send(scope, _IN_SPANS, values, **compared)


def _ids_text(ids: Iterable[int]) -> str:
    """Return ids as one text, because the client converts a list one by one."""
    digits = b"".join([key.to_bytes(16) for key in ids]).hex(",", 16)  # with a comma between ids
    return "{" + digits + "}"


def _send(
    scope: PlainScope,
    chosen: str,
    chosen_values: Mapping[str, Any],
    *,
    vector: Vector | None,
    model: str,
    lexemes: Sequence[str],
    with_vectors: bool,
) -> SentStatement:
    """Send the query for the values of the chosen memories in scope.

    The similarity is None without a vector; the vector, `with_vectors`, the bytes that Postgres sends for a `halfvec`.
    """
    values: dict[str, Any] = {**scope.values, **chosen_values}
    similarity = sent = "NULL"
    if vector is not None:
        values |= {"vector": half_vector(vector), "model": model}
        similarity = "1.0 - (own.vector <=> %(vector)s)"
        sent = "halfvec_send(own.vector)" if with_vectors else sent
    holds, queries = _lexemes_held(lexemes)
    values |= queries
    statement = _READ.format(
        holds=holds,
        similarity=similarity,
        vector=sent,
        vectors="" if vector is None else _VECTORS,
        live=scope.has_live("memory"),
        chosen=chosen,
    )
    return send_prepared(statement, values)


def _lexemes_held(lexemes: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    """Return SQL for the lexemes that a text contains, and its values."""
    queries = [any_lexeme([lexeme]) for lexeme in lexemes]
    if not queries:
        return "NULL", {}
    places = next((count for count in _LEXEME_PLACES if count >= len(queries)), None)
    if places is None:
        return _HOLDS, {"lexemes": queries}
    named = {f"lexeme{place}": queries[place % len(queries)] for place in range(places)}
    return matched_bits("memory.search_vector", [f"%({name})s" for name in named]), named
