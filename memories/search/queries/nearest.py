"""The nearest vectors first, then their memories: exactly, or along an HNSW index (ADR-0077)."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Cast
from numpy.typing import NDArray
from pgvector.django import CosineDistance, HalfVectorField

#: Unit length, from an embedder.
Vector = Sequence[float] | NDArray[np.float32]
#: Maximum dimension of an index of halfvec.
MAX_INDEX_DIMENSION = 4_000

# Without sorting, only the index provides the order. Local to the transaction; sorting is enabled again afterwards.
# A strict order would drop rows that a later index read finds nearer; the rows are sorted afterwards anyway.
_ALONG_THE_INDEX = (
    "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', %s, true),"
    " set_config('hnsw.max_scan_tuples', %s, true), set_config('enable_sort', 'off', true)"
)
_ANY_WAY = "SELECT set_config('enable_sort', 'on', true)"
# Reads only the memories of the nearest vectors.
_NEAREST = """
WITH near AS MATERIALIZED ({vectors})
SELECT memory.id, memory.tokens, (SELECT count(*) FROM near)
FROM near JOIN ({memories}) AS memory (id, version, created_at, tokens)
ON memory.id = near.memory_id AND memory.version = near.version
ORDER BY near.distance, memory.created_at DESC, memory.id
"""
#: An estimate, of the last vacuum or analysis.
INDEX_ROWS = (
    "SELECT kept.reltuples FROM pg_class AS kept JOIN pg_index AS info ON info.indexrelid = kept.oid"
    " WHERE kept.oid = to_regclass(%(index)s) AND info.indisvalid"
)


def index_name(model: str) -> str:
    """Return the name of the HNSW index of a model: readable, and never the same for two models."""
    readable = re.sub(r"[^a-z0-9]+", "_", model.lower()).strip("_")[:30]
    return f"embedding_near_{readable}_{sha256(model.encode()).hexdigest()[:8]}"


def indexed_distance(column: str, vector: Vector) -> CosineDistance:
    """Return 1 - cosine, written as in the index: vectors of one dimension."""
    return CosineDistance(Cast(column, HalfVectorField(dimensions=len(vector))), vector)


def nearest_memories(
    vectors: QuerySet[Any], memories: QuerySet[Any], tokens: str
) -> tuple[list[tuple[UUID, int]], int]:
    """Return (id, tokens) of the memories (current rows) of ordered and limited vectors, and the vectors read."""
    near, near_values = vectors.values_list("memory_id", "version", "distance").query.sql_with_params()
    rows, row_values = memories.order_by().values_list("id", "version", "created_at", tokens).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(_NEAREST.format(vectors=near, memories=rows), [*near_values, *row_values])
        found = cursor.fetchall()
    return [(pk, count) for pk, count, _ in found], found[0][2] if found else 0


@contextmanager
def force_index_scan(*, ef_search: int, max_scan_tuples: int) -> Iterator[None]:
    """Read rows ordered by the indexed distance only along the index. Call in a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_ALONG_THE_INDEX, [str(ef_search), str(max_scan_tuples)])
        yield
        cursor.execute(_ANY_WAY)
