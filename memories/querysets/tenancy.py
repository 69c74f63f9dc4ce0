"""Tenants, who may reach them, and where in them rows stand."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, Self
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.postgres.expressions import ArraySubquery
from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Subquery, Value, Window
from django.db.models.functions import Coalesce, RowNumber
from rest_framework_api_key.models import BaseAPIKeyManager

from memories.querysets.conditions import live_condition, path_condition
from memories.querysets.records import AuditEntryQuerySet
from memories.querysets.rows import TenantRows
from memories.services.hidden_tenants import HIDDEN_PREFIX


class TenantQuerySet(models.QuerySet[Any]):
    def named(self, name: str) -> Self:
        return self.filter(name=name)

    def leaving_a_language(self) -> Self:
        """Those whose rows may not all be in their language yet."""
        return self.exclude(former_text_search_configs=[])

    def with_language_older_than(self, moment: datetime) -> Self:
        """Those that left a language before `moment`."""
        return self.leaving_a_language().filter(text_search_changed_at__lt=moment)

    def of_member(self, user_id: int) -> Self:
        return self.filter(memberships__user_id=user_id)

    def visible(self) -> Self:
        """Those that somebody may look after."""
        return self.exclude(name__startswith=HIDDEN_PREFIX)

    def hidden(self) -> Self:
        """Those made for a purpose of the program's own."""
        return self.filter(name__startswith=HIDDEN_PREFIX)

    def older_than(self, moment: datetime) -> Self:
        return self.filter(created_at__lt=moment)

    def names(self, prefix: str) -> list[str]:
        """The names that begin with `prefix`."""
        return list(self.filter(name__startswith=prefix).values_list("name", flat=True))


class MembershipQuerySet(TenantRows):
    def of_user(self, user_id: int) -> Self:
        return self.filter(user_id=user_id)

    def of_username(self, username: str) -> Self:
        return self.filter(user__username=username)

    def with_roles(self) -> Self:
        """By user name, each with the user and the names of the user's groups at hand."""
        return self.select_related("user").prefetch_related("user__groups").order_by("user__username")


def superusers() -> models.QuerySet[Any]:
    """Who sees every tenant, by name."""
    rows = get_user_model()._default_manager.filter(is_superuser=True, is_staff=True, is_active=True)
    return rows.order_by("username")


def users_named(username: str) -> models.QuerySet[Any]:
    """The one who signs in by that name."""
    return get_user_model()._default_manager.filter(username=username)


def usernames_of(user_ids: Collection[str]) -> dict[str, str]:
    """What people sign in by, by their ids as texts; whoever was deleted is missing."""
    rows = get_user_model()._default_manager.filter(pk__in=[each for each in user_ids if each.isdecimal()])
    return {str(pk): name for pk, name in rows.values_list("pk", "username")}


class ApiKeyQuerySet(TenantRows):
    """Keys; outside they are named by their visible prefix, because the primary key holds the hash."""

    def with_prefix(self, prefix: str) -> Self:
        return self.filter(prefix=prefix)

    def by_name(self) -> Self:
        return self.order_by("name", "prefix")

    def usable_first(self) -> Self:
        """Those that were not revoked before those that were, each by name."""
        return self.order_by("revoked", "name", "prefix")

    def with_last_change(self, entries: AuditEntryQuerySet) -> Self:
        """With `last_change`, the time of the key's newest among these entries of the audit log, if any."""
        return self.annotate(last_change=Subquery(entries.last_of_outer_key()))

    def within(self, path: str) -> Self:
        """Keys that reach nothing outside of `path`."""
        return self.filter(path_condition("partition_prefix", path, exact=False))


class ApiKeyManager(BaseAPIKeyManager):
    """Keys by their visible prefix, as the package does it, and by tenant."""

    def get_usable_keys(self) -> models.QuerySet[Any]:
        """With their tenants, which can be read before one is known only in the scope of the look-up."""
        return super().get_usable_keys().select_related("tenant")

    def for_tenant(self, tenant_id: UUID) -> ApiKeyQuerySet:
        return ApiKeyQuerySet(self.model, using=self._db).for_tenant(tenant_id)


class PartitionQuerySet(TenantRows):
    def at(self, paths: Iterable[str]) -> Self:
        return self.filter(path__in=list(paths))

    def within(self, path: str, *, exact: bool = False) -> Self:
        return self.filter(path_condition("path", path, exact=exact))

    def one_each(self) -> Any:
        """Rows of (path, 1), to be added up along the tree."""
        return self.order_by().values_list("path", Value(1))

    def holding(self, text: str) -> Self:
        """Those whose path holds `text`, whatever its case."""
        return self.filter(path__icontains=text)

    def page_by_path(self, after: int | None = None, *, is_backward: bool = False, count: int) -> Self:
        """`count` rows in the order of paths, after the row with the id `after`; backward those before it."""
        rows = self
        if after is not None:
            place = self.model.objects.filter(pk=after).values("path")
            rows = rows.filter(**{"path__lt" if is_backward else "path__gt": Subquery(place)})
        return rows.order_by("-path" if is_backward else "path")[:count]

    def with_contents(self, now: datetime) -> Self:
        """Adds `memory_count` (live, those below not counted) and `summary_styles`, both in the same query."""
        memories = self.model._meta.get_field("memories").related_model._base_manager
        summaries = self.model._meta.get_field("summaries").related_model._base_manager
        live = memories.filter(live_condition(now), partition=OuterRef("pk")).order_by().values("partition")
        styles = summaries.filter(partition=OuterRef("pk"), recorded_to__isnull=True).order_by("style")
        return self.annotate(
            memory_count=Coalesce(Subquery(live.annotate(count=models.Count("pk")).values("count")), 0),
            summary_styles=ArraySubquery(styles.values("style")),
        )

    def wanting_summary(self, style: str, now: datetime, *, memories_min: int) -> Self:
        """Those that a roll-up would change, the deepest first; the root has none.

        Where no summary of `style` is current: those with at least `memories_min` live memories. Where one is that a
        roll-up made: those with a memory stored, changed or archived after it. What people and agents wrote stays.
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
        """Those right below each of `lineage`, which leads from the root down: the first `count` of each, by path.

        Below the last of it, those behind `after`. What leads on is there at any place. One query.
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
        """The first `count` of the next level, behind the path `after`."""
        return self.filter(depth=depth + 1).behind_path(after)[:count]

    def children_of(self, path: str, depth: int) -> Self:
        """The partitions one level below."""
        return self.within(path).filter(depth=depth + 1)

    def how_many(self) -> int:
        return self.count()

    def paths(self, limit: int) -> list[str]:
        """The first paths in order, without the root."""
        return list(self.exclude(path="").order_by("path").values_list("path", flat=True)[:limit])
