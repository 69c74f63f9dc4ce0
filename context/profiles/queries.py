"""Versions of profiles, and their assignments."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, Q, Value, When
from django.db.models.functions import JSONObject

from memories.services.partitions.paths import subtree_bounds
from memories.tenancy.queries.rows import VersionedByRecordedTime

#: The profile of targets without an assignment.
DEFAULT_NAME = "default"
#: Published, and not superseded by a later or an earlier one.
ACTIVE = Q(state="published", recorded_to__isnull=True)


class _ProfileRows(VersionedByRecordedTime):
    """Versions and assignments of profiles."""

    def locked(self) -> Self:
        """Locked until the transaction ends, so that two changes of the same rows come one after the other."""
        return self.select_for_update(of=("self",))


class ProfileVersionRows(_ProfileRows):
    """Versions of the profiles of one kind."""

    def named(self, name: str) -> Self:
        return self.filter(name=name)

    def numbered(self, version: int) -> Self:
        return self.filter(version=version)

    def versions(self) -> Self:
        """All versions, newest first."""
        return self.order_by("name", "-version")


class BudgetProfileQuerySet(ProfileVersionRows):
    """Versions of the numbers that contexts are built with."""

    def active(self, at: datetime | None = None) -> Self:
        """Those that are active now, or were at a recorded time."""
        return self.current() if at is None else self.recorded_at(at)

    def assigned_by(self, assignments: "ProfileAssignmentQuerySet") -> Self:
        """Those that `assignments` name, and the default one; each row contains all `assignments` (name and path)."""
        every = assignments.order_by().values_list(JSONObject(name="profile_name", path="partition_path"))
        named = Q(name=DEFAULT_NAME) | Q(name__in=assignments.values("profile_name"))
        return self.filter(named).annotate(assignments=ArraySubquery(every))


class ScoringProfileVersionQuerySet(ProfileVersionRows):
    """Versions of the numbers that memories are ranked by, in any state."""

    def active(self) -> Self:
        """The active version of each name."""
        return self.filter(ACTIVE)

    def unpublished(self) -> Self:
        """Drafts that no evaluation has proven."""
        return self.filter(state="draft")

    def publishable(self) -> Self:
        """Those that have never been published nor retired."""
        return self.filter(state__in=["draft", "evaluated"])

    def of_numbers(self, numbers: dict[str, Any]) -> Self:
        """Those with exactly these numbers."""
        return self.filter(numbers=numbers)

    def listed(self) -> Self:
        """The active version of each name, or the newest version if none is active."""
        place = Case(When(ACTIVE, then=Value(0)), default=Value(1))
        return self.alias(place=place).order_by("name", "place", "-version").distinct("name")

    def newest(self) -> Self:
        """The last version of each name, whatever its state."""
        return self.versions().distinct("name")

    def with_runs(self) -> Self:
        """The evaluations in the same query."""
        return self.select_related("evaluation_run")


class ProfileAssignmentQuerySet(_ProfileRows):
    """Active and past assignments of the profiles of one kind."""

    def active(self, at: datetime | None = None) -> Self:
        """Those that are active now, or were at a recorded time."""
        return self.current() if at is None else self.recorded_at(at)

    def ended(self) -> Self:
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
