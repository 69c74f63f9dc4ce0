"""Vectors of memories: stored, carried to new versions, and counted."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Self
from uuid import UUID

import numpy as np
from django.db.models import BinaryField, Count, F, Func, QuerySet
from numpy.typing import NDArray
from pgvector import HalfVector

from memories.tenancy.queries.insertions import array_text, execute
from memories.tenancy.queries.rows import TenantRows

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


def halves_of(sent: Sequence[bytes | memoryview]) -> NDArray[np.float32]:
    """Return vectors of one dimension as rows, from the bytes of `halfvec_send`."""
    # two bytes of dimension, two unused, then half floats, the high byte first
    return np.frombuffer(b"".join(sent), dtype=">f2").reshape(len(sent), -1)[:, 2:].astype(np.float32)


class MemoryEmbeddingQuerySet(TenantRows):
    def carry(self, tenant_id: UUID, memory_ids: Iterable[UUID]) -> set[UUID]:
        """Copy the vectors of the previous versions to the current ones; return the memories that had any."""
        return {pk for (pk,) in execute(_CARRY, [tenant_id, array_text(memory_ids)])}

    def of_model(self, name: str) -> Self:
        return self.filter(model=name)

    def of_version(self, memory_id: UUID, version: int) -> Self:
        return self.filter(memory_id=memory_id, version=version)

    def of_versions(self, versions: Collection[tuple[UUID, int]], model: str = "") -> Self:
        """Vectors of one model ("" for any) of any of these memories in any of these versions."""
        ids, numbers = {pk for pk, _ in versions}, {number for _, number in versions}
        rows = self.filter(memory_id__in=ids, version__in=numbers)
        return rows.filter(model=model) if model else rows

    def of_newest(self, memories: QuerySet[Any], model: str, count: int) -> Self:
        """Vectors of one model of the current versions of the newest `count` memories."""
        newest = memories.order_by("-created_at", "pk").values("pk")[:count]
        return self.filter(memory_id__in=newest, version=F("memory__version"), model=model)

    def current_in(self, memories: QuerySet[Any], model: str) -> Self:
        """Vectors of one model of the current versions of these memories."""
        return self.filter(memory__in=memories.order_by().values("pk"), version=F("memory__version"), model=model)

    def matrices(self, rows: int) -> Iterator[tuple[list[UUID], NDArray[np.float32]]]:
        """Yield (memory ids, vectors as rows) in chunks of `rows`, by a server-side cursor within a transaction."""
        sent = self.order_by().annotate(sent=Func(F("vector"), function="halfvec_send", output_field=BinaryField()))
        found = sent.values_list("memory_id", "sent").iterator(chunk_size=rows)
        while chunk := list(islice(found, rows)):
            yield [pk for pk, _ in chunk], halves_of([vector for _, vector in chunk])

    def count_live_by_model(self, now: datetime) -> dict[str, int]:
        """By model: the live memories with a current vector. An index counts all; expired ones are subtracted."""
        current = self.filter(is_current=True).order_by().values_list("model")
        counts = dict(current.annotate(count=Count("*")))
        expired = current.filter(memory__archived_at__isnull=True, memory__expires_at__lte=now)
        return counts | {model: counts[model] - count for model, count in expired.annotate(count=Count("*"))}

    def vectors(self) -> Iterator[tuple[UUID, int, NDArray[np.float32]]]:
        """Yield (memory id, version, vector), read as bytes because parsing text takes ten times as long."""
        sent = self.order_by().annotate(sent=Func(F("vector"), function="halfvec_send", output_field=BinaryField()))
        for memory_id, version, vector in sent.values_list("memory_id", "version", "sent"):
            yield memory_id, version, HalfVector.from_binary(bytes(vector)).to_numpy().astype(np.float32)
