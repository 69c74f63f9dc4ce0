"""Versions of scoring profiles."""

from typing import Any, Self

from django.db.models import Case, Q, Value, When

from memories.tenancy.queries.rows import TenantRows

_DRAFT, EVALUATED, PUBLISHED, RETIRED = "draft", "evaluated", "published", "retired"
#: Published, and not superseded by a later or an earlier one.
IN_FORCE = Q(state=PUBLISHED, recorded_to__isnull=True)


class ScoringProfileVersionQuerySet(TenantRows):
    """What a scoring profile was, is and may become."""

    def named(self, name: str) -> Self:
        return self.filter(name=name)

    def numbered(self, version: int) -> Self:
        return self.filter(version=version)

    def in_force(self) -> Self:
        """The one published version of each name that counts."""
        return self.filter(IN_FORCE)

    def waiting(self) -> Self:
        """Drafts, which an evaluation may prove."""
        return self.filter(state=_DRAFT)

    def of_numbers(self, numbers: dict[str, Any]) -> Self:
        """Those that rank by exactly these numbers."""
        return self.filter(numbers=numbers)

    def versions(self) -> Self:
        """All versions, newest first."""
        return self.order_by("name", "-version")

    def shown(self) -> Self:
        """One version of each name: the one in force, else the newest."""
        place = Case(When(IN_FORCE, then=Value(0)), default=Value(1))
        return self.alias(place=place).order_by("name", "place", "-version").distinct("name")

    def newest(self) -> Self:
        """The last version of each name, whatever its state."""
        return self.order_by("name", "-version").distinct("name")

    def with_runs(self) -> Self:
        """The evaluations in the same query."""
        return self.select_related("evaluation_run")

    def locked(self) -> Self:
        """Held until the transaction ends, so that two who publish one profile come one after the other."""
        return self.select_for_update(of=("self",))
