"""Versions of the numbers that an operator tunes, and whom they are for."""

from collections.abc import Iterable
from datetime import datetime
from typing import Self

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Q
from django.db.models.functions import JSONObject

from memories.services.partitions.paths import subtree_bounds
from memories.tenancy.queries.rows import VersionedByRecordedTime

#: The profile that counts where nothing is assigned.
DEFAULT_NAME = "default"


class BudgetProfileQuerySet(VersionedByRecordedTime):
    """Versions of the numbers an operator tunes."""

    def named(self, name: str) -> Self:
        return self.filter(name=name)

    def in_force(self, at: datetime | None = None) -> Self:
        """The version of each profile that counts now, or counted at a recorded time."""
        return self.current() if at is None else self.recorded_at(at)

    def versions(self) -> Self:
        """All versions, newest first."""
        return self.order_by("name", "-version")

    def numbered(self, version: int) -> Self:
        return self.filter(version=version)

    def locked(self) -> Self:
        """Held until the transaction ends, so that two savers of one profile come one after the other."""
        return self.select_for_update()

    def assigned_by(self, assignments: "ProfileAssignmentQuerySet") -> Self:
        """Those that `assignments` name, and the default one; each row carries all `assignments` (name and path)."""
        every = assignments.order_by().values_list(JSONObject(name="profile_name", path="partition_path"))
        named = Q(name=DEFAULT_NAME) | Q(name__in=assignments.values("profile_name"))
        return self.filter(named).annotate(assignments=ArraySubquery(every))


class ProfileAssignmentQuerySet(VersionedByRecordedTime):
    """Whom a budget profile or a scoring profile is for, now and before."""

    def in_force(self, at: datetime | None = None) -> Self:
        """Those that count now, or counted at a recorded time."""
        return self.current() if at is None else self.recorded_at(at)

    def ended(self) -> Self:
        """Those that count no more."""
        return self.filter(recorded_to__isnull=False)

    def for_targets(self, api_key_id: str | None, paths: Iterable[str]) -> Self:
        """Those of the key and of any of the partitions ("" is the tenant)."""
        return self.filter(Q(partition_path__in=list(paths)) | (Q(api_key_id=api_key_id) if api_key_id else Q()))

    def of_profile(self, name: str) -> Self:
        return self.filter(profile_name=name)

    def newest_first(self) -> Self:
        return self.order_by("-recorded_from", "-pk")

    def within(self, path: str) -> Self:
        """Those of partitions in `path` or below it, and of keys that reach nothing else."""
        if not path:
            return self
        low, high = subtree_bounds(path)
        columns = ("partition_path", "api_key__partition_prefix")
        there = (Q(**{name: path}) | Q(**{f"{name}__gte": low, f"{name}__lt": high}) for name in columns)
        return self.filter(next(there) | next(there))

    def with_keys(self) -> Self:
        """The keys' names in the same query."""
        return self.select_related("api_key")

    def locked(self) -> Self:
        """Held until the transaction ends, so that two who assign one target come one after the other."""
        return self.select_for_update(of=("self",))
