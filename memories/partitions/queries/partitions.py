"""Queries for partitions, their summaries, links, the tenant memo and snapshots."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, Self
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db import models
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Coalesce, Greatest, RowNumber

from memories.store.queries.texts import SEARCH_COLUMNS
from memories.tenancy.queries.conditions import live_condition, path_condition, session_summary_condition
from memories.tenancy.queries.methods import rows_among, rows_by, rows_ordered_by, rows_where, rows_within, rows_without
from memories.tenancy.queries.rows import TenantRows, VersionedByRecordedTime
from memories.tenancy.queries.tenants import PATHS_OFFERED_MAX


class PartitionQuerySet(TenantRows):
    #: Partitions whose path contains `text`, ignoring case.
    path_containing = rows_by("path__icontains")
    at = rows_among("path")

    def found_at(self, tenant_id: UUID, paths: Collection[str]) -> list[Any]:
        """Return the partitions of a tenant at these paths by a prepared statement."""
        values = {"tenant": tenant_id, "paths": list(paths)}
        return self.send_select("tenant_id = %(tenant)s AND path = ANY(%(paths)s)", values)()

    within = rows_within("path")

    def lock(self) -> None:
        """Lock the rows against other callers of this method, in one order so that two cannot deadlock."""
        list(self.select_for_update(no_key=True).order_by("pk").values_list("pk"))

    def page_by_path(self, after: int | None = None, *, is_backward: bool = False, count: int) -> Self:
        """Return `count` rows in the order of paths after (backward: before) the row with the id `after`."""
        rows = self
        if after is not None:
            place = self.model.objects.filter(pk=after).values("path")
            rows = rows.filter(**{"path__lt" if is_backward else "path__gt": Subquery(place)})
        return rows.order_by("-path" if is_backward else "path")[:count]

    def _related(self, name: str) -> Any:
        """Return the rows of a related table that belong to the partition of the outer query."""
        rows = self.model._meta.get_field(name).related_model._base_manager
        return rows.filter(partition=OuterRef("pk"))

    def with_contents(self, now: datetime) -> Self:
        """Add `memory_count` (live memories, without those below) and `summary_styles` in the same query."""
        live = self._related("memories").filter(live_condition(now)).order_by().values("partition")
        styles = self._related("summaries").filter(recorded_to__isnull=True).order_by("style")
        return self.annotate(
            memory_count=Coalesce(Subquery(live.annotate(count=models.Count("pk")).values("count")), 0),
            summary_styles=ArraySubquery(styles.values("style")),
        )

    def needing_summary(self, style: str, now: datetime, *, checked: QuerySet[Any]) -> Self:
        """Partitions that a roll-up may change, the deepest first, without the root.

        Without an active summary of `style`: partitions with a live memory that is not a session summary. With one of a
        roll-up: partitions with a memory stored, changed, archived or moved to another partition since, and since the
        time that the query `checked` returns for the outer partition, when a roll-up last made the same text. Summaries
        by people and agents are kept.
        """
        own = self._related("memories")
        sources = own.filter(live_condition(now)).exclude(session_summary_condition())
        since = Greatest(OuterRef("summarised_at"), OuterRef("checked_at"))  # Postgres ignores nulls
        current = self._related("summaries").filter(style=style, recorded_to__isnull=True)
        versions = self.model._meta.get_field("memories").related_model._meta.get_field("versions").related_model
        # a memory that left is known by its last version here
        ended = versions._base_manager.filter(tenant=OuterRef("tenant"), partition_path=OuterRef("path"))
        changed = Exists(own.filter(Q(recorded_from__gt=since) | Q(archived_at__gt=since)))
        return (
            self.exclude(path="")
            .annotate(
                summarised_at=Subquery(current.values("recorded_from")[:1]),
                summarised_by=Subquery(current.values("origin")[:1]),
                checked_at=Subquery(checked),
            )
            .filter(
                Q(summarised_at__isnull=True) & Exists(sources)
                | Q(summarised_by="rollup") & (changed | Exists(ended.filter(recorded_to__gt=since)))
            )
            .order_by("-depth", "path")
        )

    def branches(self, lineage: Sequence[str], *, after: str, count: int) -> list[Any]:
        """Return the first `count` children of each partition of `lineage` (from the root down), by path. One query.

        Children of the last one start after `after`. Partitions of the lineage are always included.
        """
        last = len(lineage) - 1
        levels = [Q(depth=depth + 1) & path_condition("path", path, exact=False) for depth, path in enumerate(lineage)]
        if after:
            levels[last] &= Q(path__gt=after)
        place = Window(RowNumber(), partition_by=[F("depth")], order_by=F("path").asc())
        rows = self.filter(reduce(or_, levels)).annotate(place=place)
        is_among = Q(place__lte=count) | Q(path__in=[path for path in lineage if path])
        return list(rows.filter(is_among).order_by("depth", "path"))

    def without_root(self) -> Self:
        """Partitions except the root, in the order of paths."""
        return self.exclude(path="").order_by("path")

    def after_path(self, path: str) -> Self:
        return self.filter(path__gt=path) if path else self

    def children_of(self, path: str, depth: int) -> Self:
        """The partitions one level below."""
        return self.within(path).filter(depth=depth + 1)

    def offered_paths(self) -> list[str]:
        return self.paths(PATHS_OFFERED_MAX)

    def paths(self, limit: int) -> list[str]:
        """Return the first `limit` paths in order, without the root."""
        return list(self.without_root().values_list("path", flat=True)[:limit])


class MemoryLinkQuerySet(VersionedByRecordedTime):
    began_at = rows_by("recorded_from")
    ended_at = rows_by("recorded_to")
    from_memory = rows_by("source_id")
    #: Links in the order of their time, then id.
    in_order = rows_ordered_by("recorded_from", "pk")
    to_memory = rows_by("target_id")
    of_kind = rows_by("kind")

    def targets(self, count: int) -> list[UUID]:
        """Return the targets of the first `count` links."""
        return list(self.values_list("target_id", flat=True)[:count])

    def sources(self, count: int) -> list[UUID]:
        """Return the sources of the first `count` links."""
        return list(self.values_list("source_id", flat=True)[:count])

    def touching(self, *memory_ids: UUID) -> Self:
        """Links from or to any of these memories."""
        return self.filter(Q(source_id__in=memory_ids) | Q(target_id__in=memory_ids))

    #: Links with both ends in `path` or below it.
    within = rows_within("source__partition_path", "target__partition_path")

    def with_ends(self) -> Self:
        """Load both memories in the same query, newest links first."""
        derived = [f"{end}__{name}" for end in ("source", "target") for name in ("search_vector", *SEARCH_COLUMNS)]
        return self.select_related("source", "target").defer(*derived).order_by("-recorded_from", "pk")


class TenantMemoQuerySet(VersionedByRecordedTime):
    newest_first = rows_ordered_by("-version")

    def texts_of(self, versions: Iterable[int]) -> list[tuple[int, str, datetime]]:
        """Return (version, content, time written) of these versions."""
        rows = self.filter(version__in=list(versions)).order_by()
        return list(rows.values_list("version", "content", "recorded_from"))


class PartitionSummaryQuerySet(VersionedByRecordedTime):
    of_style = rows_by("style")
    #: Summaries by people and agents, not by roll-ups.
    written = rows_where(~Q(origin="rollup"))
    without_texts = rows_without("content")
    newest_first = rows_ordered_by("style", "-version")

    def of_partition(self, path: str) -> Self:
        return self.filter(partition__path=path).select_related("partition")

    def of_partitions(self, partitions: QuerySet[Any]) -> Self:
        """Summaries of the partitions of another query, in the order of paths."""
        return self.filter(partition__in=partitions).select_related("partition").order_by("partition__path")

    def in_partitions(self, paths: Iterable[str]) -> Self:
        """Summaries of these partitions, from the root down, with the partition in the same query."""
        rows = self.filter(partition__path__in=list(paths)).select_related("partition")
        return rows.order_by("partition__depth", "partition__path", "style", "version")

    within = rows_within("partition__path")

    def of_summary(self, summary_id: UUID) -> Self:
        """All versions of one summary, newest first, with the partition in the same query."""
        return self.filter(summary_id=summary_id).select_related("partition").order_by("-version")

    def latest_of(self, ids: Iterable[object]) -> Self:
        """The last version of each of these summaries, with its partition in the same query."""
        rows = self.filter(summary_id__in=list(ids)).select_related("partition")
        return rows.order_by("summary_id", "-version").distinct("summary_id")

    def texts_of(self, ids: Iterable[object], versions: Iterable[int]) -> list[tuple[UUID, int, str, datetime]]:
        """Return (summary id, version, content, time written) of these summaries in any of these versions."""
        rows = self.filter(summary_id__in=list(ids), version__in=list(versions))
        return list(rows.order_by().values_list("summary_id", "version", "content", "recorded_from"))


class SnapshotQuerySet(TenantRows):
    named = rows_by("name")
    newest_first = rows_ordered_by("-recorded_at", "name")
