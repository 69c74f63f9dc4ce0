"""The memories that a search or reading covers: a part of the partition tree at a point in time, with filters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from memories.models import Memory, MemoryVersion
from memories.services.search.filters import FilterCondition
from memories.services.store.moments import PointInTime
from memories.store.queries.memories import MemoryQuerySet, MemoryVersionQuerySet
from memories.tenancy.queries.plain_scope import PlainScope

#: The rows of one table; both query sets share `MemoryTextQuerySet`.
CandidateRows = MemoryQuerySet | MemoryVersionQuerySet


@dataclass(frozen=True)
class SearchScope:
    """Where and when to search: `path` is a subtree unless `is_exact`; `segments` match at any depth."""

    tenant_id: UUID
    path: str
    moment: PointInTime
    is_exact: bool = False
    segments: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[FilterCondition] = ()

    @property
    def is_whole_tenant(self) -> bool:
        return not (self.path or self.is_exact or self.segments or self.conditions or self.moment.reads_history)

    def plain(self) -> PlainScope | None:
        """Return the scope for hand-written statements; None with filters or for a past time."""
        return None if self.conditions or self.moment.reads_history else self.present()

    def present(self) -> PlainScope:
        """Return the scope without its filters and its time."""
        return PlainScope(self.tenant_id, self.path, self.moment.at, self.is_exact, self.segments)

    def sources(self) -> list[CandidateRows]:
        """Return the current rows and, for a past time, the rows superseded since; no memory is in both."""
        superseded = self.superseded()
        current = self._narrowed(Memory.objects.for_tenant(self.tenant_id))
        return [current] if superseded is None else [current, superseded]

    def superseded(self) -> CandidateRows | None:
        """Return the rows of a past time that are no longer current; None for the present, which has none."""
        is_past = self.moment.reads_history
        return self._narrowed(MemoryVersion.objects.for_tenant(self.tenant_id)) if is_past else None

    def _narrowed(self, rows: CandidateRows) -> CandidateRows:
        here = rows.at(self.moment).within(self.path, exact=self.is_exact)
        return here.with_segments(self.segments).matching_conditions(self.conditions)
