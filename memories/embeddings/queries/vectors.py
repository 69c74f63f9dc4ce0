"""Vectors of memories: stored, carried to new versions, and counted."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Self
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import BinaryField, Count, F, Func, Max
from numpy.typing import NDArray
from pgvector import HalfVector

from memories.tenancy.queries.insertions import array_text, execute
from memories.tenancy.queries.methods import rows_among, rows_by
from memories.tenancy.queries.prepared import execute_prepared, send_prepared
from memories.tenancy.queries.rows import TenantRows
from memory_platform.postgres.base import HalfVectors

_CARRY = """
INSERT INTO memories_memoryembedding
    (tenant_id, memory_id, version, model, dimension, vector, is_current, partition_path)
SELECT former.tenant_id, former.memory_id, head.version, former.model, former.dimension, former.vector, TRUE, ''
FROM memories_memoryembedding AS former
    JOIN memories_memory AS head ON head.id = former.memory_id AND head.version = former.version + 1
WHERE former.tenant_id = %s AND former.memory_id = ANY (%s::uuid[])
ORDER BY former.memory_id
ON CONFLICT DO NOTHING
RETURNING memory_id
"""
# The columns by which a search finds a vector have the values to which a trigger would correct them (ADR-0077).
_INSERT_VECTORS = """
INSERT INTO memories_memoryembedding
    (tenant_id, memory_id, version, model, dimension, vector, is_current, partition_path)
SELECT head.tenant_id, head.id, item.version, %(model)s, %(dimension)s, item.vector,
    head.version = item.version AND head.archived_at IS NULL, head.partition_path
FROM unnest(%(ids)s::uuid[], %(versions)s::int[], %(vectors)s::halfvec[]) AS item (memory_id, version, vector)
    JOIN memories_memory AS head ON head.id = item.memory_id AND head.tenant_id = %(tenant)s
ON CONFLICT (memory_id, version, model, tenant_id)
    DO UPDATE SET vector = excluded.vector, dimension = excluded.dimension
WHERE memories_memoryembedding.vector IS DISTINCT FROM excluded.vector
"""
_TYPE_OF_VECTORS = "SELECT 'halfvec'::regtype::oid::bigint"
# Another writer of a row, such as one that archives it, is waited for.
_MARK_INDEXED = """
UPDATE memories_memoryembedding SET is_indexed = TRUE WHERE tenant_id = %(tenant)s AND id IN (
    SELECT id FROM memories_memoryembedding
    WHERE tenant_id = %(tenant)s AND model = %(model)s AND is_current AND NOT is_indexed AND id > %(bound)s
    ORDER BY id LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED
) RETURNING id
"""


@cache
def _type_of_vectors(_database: str) -> int:
    ((type_oid,),) = execute_prepared(_TYPE_OF_VECTORS, ())
    return int(type_oid)


def half_vectors(sent: Sequence[bytes | memoryview]) -> NDArray[np.float32]:
    """Return vectors of one dimension as rows, from the bytes of `halfvec_send`."""
    # two bytes of dimension, two unused, then half floats, the high byte first
    return np.frombuffer(b"".join(sent), dtype=">f2").reshape(len(sent), -1)[:, 2:].astype(np.float32)


class MemoryEmbeddingQuerySet(TenantRows):
    of_model = rows_by("model")
    of_version = rows_by("memory_id", "version")
    of_memories = rows_among("memory_id")

    def copy_to_current(self, tenant_id: UUID, memory_ids: Iterable[UUID]) -> set[UUID]:
        """Copy the vectors of the previous versions to the current ones; return the memories that had any."""
        return {pk for (pk,) in execute(_CARRY, [tenant_id, array_text(memory_ids)])}

    def insert_vectors(
        self,
        tenant_id: UUID,
        model: str,
        versions: Sequence[tuple[UUID, int]],
        vectors: NDArray[np.float32],
    ) -> None:
        """Insert the vectors of versions of memories in one statement, or replace those that are there."""
        type_oid = _type_of_vectors(connection.settings_dict["NAME"])
        values = {"tenant": tenant_id, "model": model, "dimension": vectors.shape[1]}
        values |= {"ids": [pk for pk, _ in versions], "versions": [number for _, number in versions]}
        send_prepared(_INSERT_VECTORS, {**values, "vectors": HalfVectors(vectors, type_oid)})

    def last_id(self) -> int:
        """Return the highest id, 0 without a row."""
        return int(self.aggregate(last=Max("id"))["last"] or 0)

    def tails(self, model: str, bound: int) -> dict[UUID, int]:
        """Return by tenant the number of current vectors of a model that an index with this bound lacks."""
        rows = self.filter(model=model, is_current=True, is_indexed=False, id__gt=bound).order_by()
        return dict(rows.values_list("tenant_id").annotate(count=Count("*")))

    def mark_indexed(self, tenant_id: UUID, model: str, bound: int, limit: int) -> int:
        """Add the oldest vectors of a tenant's tail to the index; return how many."""
        values = {"tenant": tenant_id, "model": model, "bound": bound, "limit": limit}
        return len(execute(_MARK_INDEXED, values))

    def of_versions(self, versions: Collection[tuple[UUID, int]], model: str = "") -> Self:
        """Vectors of one model ("" for any) of any of these memories in any of these versions."""
        ids, numbers = {pk for pk, _ in versions}, {number for _, number in versions}
        rows = self.filter(memory_id__in=ids, version__in=numbers)
        return rows.filter(model=model) if model else rows

    def of_partition(self, path: str, model: str) -> Self:
        """Vectors of one model of the unarchived memories in exactly this partition, including expired ones.

        Read without their memories (ADR-0316): the plan of a join depends on counts that are out of date after a load.
        """
        return self.filter(model=model, is_current=True, partition_path=path)

    def matrices(self, rows: int) -> Iterator[tuple[list[UUID], NDArray[np.float32]]]:
        """Yield (memory ids, vectors as rows) in chunks of `rows`, by a server-side cursor within a transaction."""
        sent = self.order_by().annotate(sent=Func(F("vector"), function="halfvec_send", output_field=BinaryField()))
        found = sent.values_list("memory_id", "sent").iterator(chunk_size=rows)
        while chunk := list(islice(found, rows)):
            yield [pk for pk, _ in chunk], half_vectors([vector for _, vector in chunk])

    def current_matrices(
        self, memory_ids: Sequence[UUID], model: str, rows: int
    ) -> Iterator[tuple[list[UUID], NDArray[np.float32]]]:
        """Yield vectors of one model of those of the memories that are not archived, as `matrices` does.

        Each chunk has its own statement, which names its memories: see `of_partition`.
        """
        current = self.filter(model=model, is_current=True)
        for start in range(0, len(memory_ids), rows):
            yield from current.of_memories(memory_ids[start : start + rows]).matrices(rows)

    def count_live_by_model(self, now: datetime) -> dict[str, int]:
        """Return the number of live memories with a current vector by model: all by an index, minus expired ones."""
        current = self.filter(is_current=True).order_by().values_list("model")
        counts = dict(current.annotate(count=Count("*")))
        expired = current.filter(memory__archived_at__isnull=True, memory__expires_at__lte=now)
        return counts | {model: counts[model] - count for model, count in expired.annotate(count=Count("*"))}

    def vectors(self) -> Iterator[tuple[UUID, int, NDArray[np.float32]]]:
        """Yield (memory id, version, vector), read as bytes because parsing text takes ten times as long."""
        sent = self.order_by().annotate(sent=Func(F("vector"), function="halfvec_send", output_field=BinaryField()))
        for memory_id, version, vector in sent.values_list("memory_id", "version", "sent"):
            yield memory_id, version, HalfVector.from_binary(bytes(vector)).to_numpy().astype(np.float32)
