"""Vectors of memories: stored, carried to new versions, and counted."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Self
from uuid import UUID

import numpy as np
from django.db.models import BinaryField, Count, F, Func, QuerySet
from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.django import CosineDistance

from memories.search.queries.nearest import Vector, indexed_distance
from memories.tenancy.queries.conditions import path_condition, segments_condition
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
            # two bytes of dimension, two unused, then half floats, the high byte first
            halves = np.frombuffer(b"".join(bytes(vector)[4:] for _, vector in chunk), dtype=">f2")
            yield [pk for pk, _ in chunk], halves.reshape(len(chunk), -1).astype(np.float32)

    def count_live_by_model(self, now: datetime) -> dict[str, int]:
        """By model: the live memories with a current vector. An index counts all; expired ones are subtracted."""
        current = self.filter(is_current=True).order_by().values_list("model")
        counts = dict(current.annotate(count=Count("*")))
        expired = current.filter(memory__archived_at__isnull=True, memory__expires_at__lte=now)
        return counts | {model: counts[model] - count for model, count in expired.annotate(count=Count("*"))}

    def current_of(self, model: str) -> Self:
        """Vectors of one model of current versions of unarchived memories; concurrent edits may add others."""
        return self.filter(model=model, is_current=True)

    def within(self, path: str, *, exact: bool = False) -> Self:
        """Current vectors in the partition `path` or below it."""
        return self.filter(path_condition("partition_path", path, exact=exact))

    def with_segments(self, segments: Mapping[str, str]) -> Self:
        """Current vectors in partitions that contain every given `key=value` segment at any depth."""
        return self.filter(segments_condition(self.model, segments))

    def nearest_to(self, vector: Vector) -> Self:
        """All rows, nearest first, by exact comparison; adds `distance` (1 - cosine)."""
        return self.annotate(distance=CosineDistance("vector", vector)).order_by("distance", "memory_id")

    def nearest_by_index(self, vector: Vector) -> Self:
        """The same by the model's vector index."""
        return self.annotate(distance=indexed_distance("vector", vector)).order_by("distance")

    def vectors(self) -> Iterator[tuple[UUID, int, NDArray[np.float32]]]:
        """Yield (memory id, version, vector), read as bytes because parsing text takes ten times as long."""
        sent = self.order_by().annotate(sent=Func(F("vector"), function="halfvec_send", output_field=BinaryField()))
        for memory_id, version, vector in sent.values_list("memory_id", "version", "sent"):
            yield memory_id, version, HalfVector.from_binary(bytes(vector)).to_numpy().astype(np.float32)
