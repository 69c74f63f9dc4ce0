"""Versions of profiles, and their assignments."""

from collections.abc import Iterable
from datetime import datetime
from typing import Self

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, Q, Value, When
from django.db.models.functions import JSONObject

from memories.services.partitions.paths import subtree_bounds
from memories.tenancy.queries.methods import rows_by, rows_ordered_by, rows_where, rows_with
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

    named = rows_by("name")
    numbered = rows_by("version")
    #: All versions, newest first.
    versions = rows_ordered_by("name", "-version")


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

    #: Drafts that no evaluation has proven.
    unpublished = rows_where(state="draft")
    #: Those that have never been published nor retired.
    publishable = rows_where(state__in=["draft", "evaluated"])
    #: Those with exactly these numbers.
    of_numbers = rows_by("numbers")
    with_runs = rows_with("evaluation_run")
    #: The active version of each name.
    active = rows_where(ACTIVE)

    def listed(self) -> Self:
        """The active version of each name, or the newest version if none is active."""
        place = Case(When(ACTIVE, then=Value(0)), default=Value(1))
        return self.alias(place=place).order_by("name", "place", "-version").distinct("name")

    def newest(self) -> Self:
        """The last version of each name, in any state."""
        return self.versions().distinct("name")


class ProfileAssignmentQuerySet(_ProfileRows):
    """Active and past assignments of the profiles of one kind."""

    ended = rows_where(recorded_to__isnull=False)
    of_profile = rows_by("profile_name")
    newest_first = rows_ordered_by("-recorded_from", "-pk")
    with_keys = rows_with("api_key")

    def active(self, at: datetime | None = None) -> Self:
        """Those that are active now, or were at a recorded time."""
        return self.current() if at is None else self.recorded_at(at)

    def for_targets(self, api_key_id: str | None, paths: Iterable[str]) -> Self:
        """Those of the key and of any of the partitions ("" is the tenant)."""
        return self.filter(Q(partition_path__in=list(paths)) | (Q(api_key_id=api_key_id) if api_key_id else Q()))

    def within(self, path: str) -> Self:
        """Those of partitions in `path` or below it, and of keys that reach nothing else."""
        if not path:
            return self
        low, high = subtree_bounds(path)
        columns = ("partition_path", "api_key__partition_prefix")
        there = (Q(**{name: path}) | Q(**{f"{name}__gte": low, f"{name}__lt": high}) for name in columns)
        return self.filter(next(there) | next(there))
