"""Find the nearest vectors, then their memories: exactly, or with an HNSW index (ADR-0077, ADR-0123)."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from django.db.models.functions import Cast
from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.django import CosineDistance, HalfVectorField

from memories.tenancy.queries.prepared import set_locally

#: A vector of unit length, from an embedder.
Vector = Sequence[float] | NDArray[np.float32]
#: Maximum dimension of an index of halfvec.
MAX_INDEX_DIMENSION = 4_000

#: Columns that reset the settings of `begin_index_scan`, in the statement that reads along the index: it is planned
#: before.
INDEX_SCAN_ENDS = "set_config('enable_sort', 'on', true), set_config('plan_cache_mode', 'auto', true)"
#: The newest valid index whose name begins with the prefix. The rows are an estimate of the last VACUUM or ANALYZE.
INDEX_FOUND = """
SELECT kept.reltuples AS index_rows, kept.relname AS index_name
FROM pg_index AS info JOIN pg_class AS kept ON kept.oid = info.indexrelid
WHERE info.indrelid = 'memories_memoryembedding'::regclass AND info.indisvalid
    AND starts_with(kept.relname, %(index)s)
ORDER BY length(kept.relname) DESC, kept.relname DESC LIMIT 1
"""


@dataclass(frozen=True)
class VectorIndex:
    """An HNSW index of a model. It contains the vectors up to the id `bound` and those marked as indexed since.

    The other vectors, the tail, are searched exactly (ADR-0123).
    """

    rows: int
    bound: int

    @classmethod
    def found(cls, prefix: str, rows: float | None, name: str | None) -> "VectorIndex | None":
        """Return the index of a row of `INDEX_FOUND`."""
        return None if name is None else cls(max(int(rows or 0), 0), int(name.removeprefix(prefix)))

    def contains(self, row: str) -> str:
        """Return the condition that the index contains a vector (a table's alias), as written in the index."""
        return f"({row}id <= {self.bound} OR {row}is_indexed)"

    def lacks(self, row: str) -> str:
        """Return the condition that a vector is in the tail."""
        return f"{row}id > {self.bound} AND NOT {row}is_indexed"


def index_prefix(model: str) -> str:
    """Return the prefix of the names of a model's HNSW indexes: readable and unique to the model."""
    readable = re.sub(r"[^a-z0-9]+", "_", model.lower()).strip("_")[:18]
    return f"embedding_near_{readable}_{sha256(model.encode()).hexdigest()[:8]}_"


def indexed_distance(column: str, vector: Vector) -> CosineDistance:
    """Return 1 - cosine, written as in the index: vectors of one dimension."""
    return CosineDistance(Cast(column, HalfVectorField(dimensions=len(vector))), vector)


def half_vector(vector: Vector) -> HalfVector:
    """Return the value that `execute_prepared` sends for a vector."""
    return HalfVector(np.asarray(vector, dtype=np.float32))


def begin_index_scan(*, ef_search: int, max_scan_tuples: int, is_single_scan: bool = False) -> None:
    """Read rows ordered by the indexed distance only along the index until `INDEX_SCAN_ENDS`, in a transaction."""
    # Without sorting, only the index provides the order, regardless of the values, so all searches share one plan
    # (ADR-0223). A strict order would drop rows that a later index read finds to be nearer; the rows are sorted
    # afterwards anyway.
    set_locally(
        {
            "hnsw.iterative_scan": "off" if is_single_scan else "relaxed_order",
            "hnsw.ef_search": str(ef_search),
            "hnsw.max_scan_tuples": str(max_scan_tuples),
            "enable_sort": "off",
            "plan_cache_mode": "force_generic_plan",
        }
    )


def plan_by_values() -> None:
    """Plan each of the next statements of a transaction for its values.

    A plan for any tenant finds the words of all tenants first, which takes a small one ten times as long (ADR-0224).
    """
    set_locally({"plan_cache_mode": "force_custom_plan"})


@contextmanager
def force_index_scan(*, ef_search: int, max_scan_tuples: int, is_single_scan: bool = False) -> Iterator[None]:
    """Call `begin_index_scan` for the statements of the block."""
    begin_index_scan(ef_search=ef_search, max_scan_tuples=max_scan_tuples, is_single_scan=is_single_scan)
    yield
    set_locally({"enable_sort": "on", "plan_cache_mode": "auto"})
