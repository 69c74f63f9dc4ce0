"""Links, the tenant memo, partition summaries and snapshots."""

from collections.abc import Iterable
from typing import Any, Self
from uuid import UUID

from django.db.models import Q, QuerySet

from memories.store.queries.texts import SEARCH_COLUMNS
from memories.tenancy.queries.conditions import path_condition
from memories.tenancy.queries.rows import TenantRows, VersionedByRecordedTime


class MemoryLinkQuerySet(VersionedByRecordedTime):
    def from_memory(self, memory_id: UUID) -> Self:
        return self.filter(source_id=memory_id)

    def in_order(self) -> Self:
        """In the order of link time, then id."""
        return self.order_by("recorded_from", "pk")

    def targets(self, count: int) -> list[UUID]:
        """The targets of the first links."""
        return list(self.values_list("target_id", flat=True)[:count])

    def sources(self, count: int) -> list[UUID]:
        """The sources of the first links."""
        return list(self.values_list("source_id", flat=True)[:count])

    def touching(self, memory_id: UUID) -> Self:
        return self.filter(Q(source_id=memory_id) | Q(target_id=memory_id))

    def touching_any(self, memory_ids: Iterable[UUID]) -> Self:
        """Links from or to any of these memories, by id."""
        ids = list(memory_ids)
        return self.filter(Q(source_id__in=ids) | Q(target_id__in=ids)).order_by("pk")

    def numbered_any(self, ids: Iterable[int]) -> Self:
        return self.filter(pk__in=list(ids)).order_by("pk")

    def to_memory(self, memory_id: UUID) -> Self:
        return self.filter(target_id=memory_id)

    def of_kind(self, kind: str) -> Self:
        return self.filter(kind=kind)

    def numbered(self, link_id: int) -> Self:
        return self.filter(pk=link_id)

    def within(self, path: str) -> Self:
        """Links with both ends in `path` or below it."""
        ends = ("source__partition_path", "target__partition_path")
        return self.filter(*(path_condition(column, path, exact=False) for column in ends))

    def with_ends(self) -> Self:
        """With both memories in the same query, newest first."""
        derived = [f"{end}__{name}" for end in ("source", "target") for name in ("search_vector", *SEARCH_COLUMNS)]
        return self.select_related("source", "target").defer(*derived).order_by("-recorded_from", "pk")


class TenantMemoQuerySet(VersionedByRecordedTime):
    def newest_first(self) -> Self:
        return self.order_by("-version")

    def texts_of(self, versions: Iterable[int]) -> list[tuple[int, str]]:
        """(version, content) of these versions."""
        return list(self.filter(version__in=list(versions)).order_by().values_list("version", "content"))


class PartitionSummaryQuerySet(VersionedByRecordedTime):
    def of_style(self, style: str) -> Self:
        return self.filter(style=style)

    def of_partition(self, path: str) -> Self:
        return self.filter(partition__path=path).select_related("partition")

    def of_partitions(self, partitions: QuerySet[Any]) -> Self:
        """Summaries of the partitions of another query, in the order of paths."""
        return self.filter(partition__in=partitions).select_related("partition").order_by("partition__path")

    def in_partitions(self, paths: Iterable[str]) -> Self:
        """Summaries of these partitions, from the root down, with the partition in the same query."""
        rows = self.filter(partition__path__in=list(paths)).select_related("partition")
        return rows.order_by("partition__depth", "partition__path", "style", "version")

    def without_texts(self) -> Self:
        return self.defer("content")

    def within(self, path: str) -> Self:
        return self.filter(path_condition("partition__path", path, exact=False))

    def of_summary(self, summary_id: UUID) -> Self:
        """All versions of one summary, newest first, with the partition in the same query."""
        return self.filter(summary_id=summary_id).select_related("partition").order_by("-version")

    def latest_of(self, ids: Iterable[object]) -> Self:
        """The last version of each of these summaries, with its partition in the same query."""
        rows = self.filter(summary_id__in=list(ids)).select_related("partition")
        return rows.order_by("summary_id", "-version").distinct("summary_id")

    def newest_first(self) -> Self:
        return self.order_by("style", "-version")

    def texts_of(self, ids: Iterable[object], versions: Iterable[int]) -> list[tuple[UUID, int, str]]:
        """(summary id, version, content) of rows of these summaries in any of these versions."""
        rows = self.filter(summary_id__in=list(ids), version__in=list(versions))
        return list(rows.order_by().values_list("summary_id", "version", "content"))


class SnapshotQuerySet(TenantRows):
    def named(self, name: str) -> Self:
        return self.filter(name=name)

    def newest_first(self) -> Self:
        return self.order_by("-recorded_at", "name")
