"""Superseded versions of memories."""

from collections.abc import Iterable, Mapping
from typing import Any, Self
from uuid import UUID

from django.db.models import FloatField, OuterRef, Subquery, Value
from pgvector.django import CosineDistance

from memories.search.queries.nearest import Vector
from memories.services.store.moments import PointInTime
from memories.store.queries.texts import SEARCH_COLUMNS, MemoryTextQuerySet
from memories.tenancy.queries.conditions import segments_condition, version_condition


class MemoryVersionQuerySet(MemoryTextQuerySet):
    """Superseded versions; their counters and vectors belong to the memory."""

    identity = "memory_id"
    head = "memory__"

    def at(self, moment: PointInTime) -> Self:
        """The versions of `moment`; none for the present."""
        return self.filter(version_condition(moment)) if moment.reads_history else self.none()

    def with_segments(self, segments: Mapping[str, str]) -> Self:
        """In partitions that contain every given `key=value` segment at any depth."""
        return self.filter(segments_condition(self.model, segments))

    def with_similarity_to(self, vector: Vector, model: str) -> Self:
        """Adds `similarity` as `nearest_to` does, None for a version that never had a vector of `model`."""
        embeddings = self.model._meta.get_field("memory").related_model._meta.get_field("embeddings").related_model
        own = embeddings.objects.filter(memory_id=OuterRef("memory_id"), version=OuterRef("version"), model=model)
        similarity = own.annotate(similarity=Value(1.0) - CosineDistance("vector", vector)).values("similarity")
        return self.annotate(similarity=Subquery(similarity, output_field=FloatField()))

    def with_heads(self) -> Self:
        """With their memories in the same query."""
        derived = ("search_vector", *SEARCH_COLUMNS)
        return self.select_related("memory").defer(*derived, *(f"memory__{name}" for name in derived))

    def older_than(self, version: int) -> Self:
        return self.filter(version__lt=version)

    def newer_than(self, version: int) -> Self:
        """The nearest first."""
        return self.filter(version__gt=version).order_by("version")

    def texts_of(self, ids: Iterable[object], versions: Iterable[int]) -> list[tuple[UUID, int, str]]:
        """(memory id, version, content) of rows of these memories in any of these versions."""
        rows = self.filter(memory_id__in=list(ids), version__in=list(versions))
        return list(rows.order_by().values_list("memory_id", "version", "content"))

    def of_memory(self, memory_id: UUID) -> Self:
        return self.filter(memory_id=memory_id).order_by("-version")

    def numbered(self, version: int) -> Any:
        """The row of one version, or None."""
        return self.filter(version=version).first()
