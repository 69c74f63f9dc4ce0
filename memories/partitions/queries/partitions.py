"""Partitions by path, page and state."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, Self

from django.contrib.postgres.expressions import ArraySubquery
from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Subquery, Value, Window
from django.db.models.functions import Coalesce, RowNumber

from memories.tenancy.queries.conditions import live_condition, path_condition
from memories.tenancy.queries.rows import TenantRows
from memories.tenancy.queries.tenants import PATHS_OFFERED_MAX


class PartitionQuerySet(TenantRows):
    def at(self, paths: Iterable[str]) -> Self:
        return self.filter(path__in=list(paths))

    def within(self, path: str, *, exact: bool = False) -> Self:
        return self.filter(path_condition("path", path, exact=exact))

    def one_each(self) -> Any:
        """Rows of (path, 1), to be summed along the tree."""
        return self.order_by().values_list("path", Value(1))

    def holding(self, text: str) -> Self:
        """Partitions whose path contains `text`, ignoring case."""
        return self.filter(path__icontains=text)

    def page_by_path(self, after: int | None = None, *, is_backward: bool = False, count: int) -> Self:
        """`count` rows in the order of paths after (backward: before) the row with the id `after`."""
        rows = self
        if after is not None:
            place = self.model.objects.filter(pk=after).values("path")
            rows = rows.filter(**{"path__lt" if is_backward else "path__gt": Subquery(place)})
        return rows.order_by("-path" if is_backward else "path")[:count]

    def with_contents(self, now: datetime) -> Self:
        """Adds `memory_count` (live memories, without those below) and `summary_styles` in the same query."""
        memories = self.model._meta.get_field("memories").related_model._base_manager
        summaries = self.model._meta.get_field("summaries").related_model._base_manager
        live = memories.filter(live_condition(now), partition=OuterRef("pk")).order_by().values("partition")
        styles = summaries.filter(partition=OuterRef("pk"), recorded_to__isnull=True).order_by("style")
        return self.annotate(
            memory_count=Coalesce(Subquery(live.annotate(count=models.Count("pk")).values("count")), 0),
            summary_styles=ArraySubquery(styles.values("style")),
        )

    def wanting_summary(self, style: str, now: datetime, *, memories_min: int) -> Self:
        """Partitions that a roll-up would change, the deepest first, without the root.

        Without an active summary of `style`: those with at least `memories_min` live memories. With one of a roll-up:
        those with a memory stored, changed or archived since. Summaries by people and agents stay.
        """
        memories = self.model._meta.get_field("memories").related_model._base_manager
        summaries = self.model._meta.get_field("summaries").related_model._base_manager
        own = memories.filter(partition=OuterRef("pk"))
        enough = own.filter(live_condition(now)).order_by("pk")[memories_min - 1 : memories_min]
        since = OuterRef("summarised_at")
        current = summaries.filter(partition=OuterRef("pk"), style=style, recorded_to__isnull=True)
        return (
            self.exclude(path="")
            .annotate(
                summarised_at=Subquery(current.values("recorded_from")[:1]),
                summarised_by=Subquery(current.values("origin")[:1]),
            )
            .filter(
                Q(summarised_at__isnull=True) & Exists(enough)
                | Q(summarised_by="rollup") & Exists(own.filter(Q(recorded_from__gt=since) | Q(archived_at__gt=since)))
            )
            .order_by("-depth", "path")
        )

    def branches(self, lineage: Sequence[str], *, after: str, count: int) -> list[Any]:
        """The first `count` children of each partition of `lineage` (from the root down), by path. One query.

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
        """In the order of paths."""
        return self.exclude(path="").order_by("path")

    def behind_path(self, path: str) -> Self:
        return self.filter(path__gt=path) if path else self

    def right_below(self, depth: int, *, after: str, count: int) -> Self:
        """The first `count` partitions of the next level after the path `after`."""
        return self.filter(depth=depth + 1).behind_path(after)[:count]

    def children_of(self, path: str, depth: int) -> Self:
        """The partitions one level below."""
        return self.within(path).filter(depth=depth + 1)

    def offered_paths(self) -> list[str]:
        """The paths that a form offers."""
        return self.paths(PATHS_OFFERED_MAX)

    def paths(self, limit: int) -> list[str]:
        """The first paths in order, without the root."""
        return list(self.exclude(path="").order_by("path").values_list("path", flat=True)[:limit])
