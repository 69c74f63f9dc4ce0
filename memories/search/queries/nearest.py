"""The nearest vectors first, then their memories: exactly, or along an HNSW index (ADR-0077)."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256

import numpy as np
from django.db.models.functions import Cast
from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.django import CosineDistance, HalfVectorField

from memories.tenancy.queries.prepared import send_prepared

#: Unit length, from an embedder.
Vector = Sequence[float] | NDArray[np.float32]
#: Maximum dimension of an index of halfvec.
MAX_INDEX_DIMENSION = 4_000

# Without sorting, only the index provides the order. Local to the transaction; sorting is enabled again afterwards.
# A strict order would drop rows that a later index read finds nearer; the rows are sorted afterwards anyway.
_ALONG_THE_INDEX = (
    "SELECT set_config('hnsw.iterative_scan', %(iterative)s, true),"
    " set_config('hnsw.ef_search', %(ef_search)s, true),"
    " set_config('hnsw.max_scan_tuples', %(max_scan_tuples)s, true),"
    " set_config('enable_sort', 'off', true)"
)
_ANY_WAY = "SELECT set_config('enable_sort', 'on', true)"
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


def half_vector(vector: Vector) -> HalfVector:
    """Return the value that `execute_prepared` sends for a vector."""
    return HalfVector(np.asarray(vector, dtype=np.float32))


@contextmanager
def force_index_scan(*, ef_search: int, max_scan_tuples: int, is_one_look: bool = False) -> Iterator[None]:
    """Read rows ordered by the indexed distance only along the index. Call in a transaction."""
    values = {"ef_search": str(ef_search), "max_scan_tuples": str(max_scan_tuples)}
    send_prepared(_ALONG_THE_INDEX, {**values, "iterative": "off" if is_one_look else "relaxed_order"})
    yield
    send_prepared(_ANY_WAY, {})
