"""What stands beside memories: versions, vectors, links, the memo, what was recalled, answered and done."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.db.models import Q

from memories.querysets.rows import TenantRows, VersionedByRecordedTime


class MemoryVersionQuerySet(TenantRows):
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
        """The row of one version, None where there is none."""
        return self.filter(version=version).first()


class MemoryEmbeddingQuerySet(TenantRows):
    def of_version(self, memory_id: UUID, version: int) -> Self:
        return self.filter(memory_id=memory_id, version=version)


class MemoryLinkQuerySet(VersionedByRecordedTime):
    def from_memory(self, memory_id: UUID) -> Self:
        return self.filter(source_id=memory_id)

    def touching(self, memory_id: UUID) -> Self:
        return self.filter(Q(source_id=memory_id) | Q(target_id=memory_id))

    def with_ends(self) -> Self:
        """Both memories of each edge in the same query, the newest edge first."""
        return self.select_related("source", "target").order_by("-recorded_from", "pk")


class TenantMemoQuerySet(VersionedByRecordedTime):
    def texts_of(self, versions: Iterable[int]) -> list[tuple[int, str]]:
        """(version, content) of these versions."""
        return list(self.filter(version__in=list(versions)).order_by().values_list("version", "content"))


class PartitionSummaryQuerySet(VersionedByRecordedTime):
    pass


class SnapshotQuerySet(TenantRows):
    pass


class RetrievalTickQuerySet(TenantRows):
    pass


class RecalledTextQuerySet(TenantRows):
    def with_hashes(self, hashes: Iterable[str], *, since: datetime) -> Self:
        return self.filter(recalled_hash__in=list(hashes), recalled_at__gte=since)

    def recalled_before(self, moment: datetime) -> Self:
        return self.filter(recalled_at__lt=moment)


class IdempotencyRecordQuerySet(TenantRows):
    def created_before(self, moment: datetime) -> Self:
        return self.filter(created_at__lt=moment)


class AuditEntryQuerySet(TenantRows):
    def newest_first(self) -> Self:
        return self.order_by("-at", "id")

    def about(self, target_id: object) -> Self:
        return self.filter(target_ids__contains=[str(target_id)])
