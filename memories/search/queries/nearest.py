"""The nearest vectors first, then their memories: exactly, or along an HNSW index (ADR-0077)."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Cast
from numpy.typing import NDArray
from pgvector.django import CosineDistance, HalfVectorField

#: Unit length, as embedders give it.
Vector = Sequence[float] | NDArray[np.float32]
#: What a vector may have at most to stand in an index of halfvec.
MAX_INDEX_DIMENSION = 4_000

# Without sorting only the index gives the order that is asked for. Local to the transaction; sorting comes back after.
# A strict order would drop what a later look at the index finds nearer; what is found is sorted afterwards anyway.
_ALONG_THE_INDEX = (
    "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', %s, true),"
    " set_config('hnsw.max_scan_tuples', %s, true), set_config('enable_sort', 'off', true)"
)
_ANY_WAY = "SELECT set_config('enable_sort', 'on', true)"
# The memories of the nearest vectors alone are read.
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


@dataclass(frozen=True)
class IndexedNearestRows:
    """(id, tokens) of memories, nearest first, and how many vectors were looked at for them."""

    rows: list[tuple[UUID, int]]
    vectors: int


def index_name(model: str) -> str:
    """Of the HNSW index over the current vectors of a model: readable, and never the same for two models."""
    readable = re.sub(r"[^a-z0-9]+", "_", model.lower()).strip("_")[:30]
    return f"embedding_near_{readable}_{sha256(model.encode()).hexdigest()[:8]}"


def indexed_distance(column: str, vector: Vector) -> CosineDistance:
    """1 - cosine, spelled as the index spells it: vectors of one dimension."""
    return CosineDistance(Cast(column, HalfVectorField(dimensions=len(vector))), vector)


def nearest_memories(vectors: QuerySet[Any], memories: QuerySet[Any], tokens: str) -> IndexedNearestRows:
    """The memories (current rows, already narrowed) of the given vectors, which are ordered and limited."""
    near, near_values = vectors.values_list("memory_id", "version", "distance").query.sql_with_params()
    rows, row_values = memories.order_by().values_list("id", "version", "created_at", tokens).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(_NEAREST.format(vectors=near, memories=rows), [*near_values, *row_values])
        found = cursor.fetchall()
    return IndexedNearestRows([(pk, count) for pk, count, _ in found], found[0][2] if found else 0)


@contextmanager
def force_index_scan(*, ef_search: int, max_scan_tuples: int) -> Iterator[None]:
    """Let what is ordered by the indexed distance be read along the index and in no other way. In a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_ALONG_THE_INDEX, [str(ef_search), str(max_scan_tuples)])
        yield
        cursor.execute(_ANY_WAY)
