"""Compare the memories of a tenant at two points in time, in a constant number of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memories.models import Memory, MemoryVersion
from memories.models.memory import VERSION_COLUMNS
from memories.partitions.queries.changes import CHANGE_ADDED, CHANGE_KINDS, REMOVED, ChangeTally, read_changes
from memories.services.store.moments import PointInTime
from memories.services.store.text_diff import DiffPiece, diff_words
from memories.store.queries.memories import MemoryVersionQuerySet
from memories.store.search_scope import SearchScope

_PAGE_SIZE = 50


@dataclass(frozen=True)
class MemoryChange:
    """One memory before and after; None at a time when it was not live."""

    memory_id: UUID
    before: Memory | None
    after: Memory | None

    @property
    def pieces(self) -> Sequence[DiffPiece]:
        """The word differences; none for an added or removed memory."""
        if self.before is None or self.after is None:
            return ()
        return diff_words(self.before.content, self.after.content)


@dataclass(frozen=True)
class SnapshotDiff:
    """The number of `added`, `changed` (another version) and `removed` memories, and the first ones of each kind.

    `tallies` also have tokens and the unchanged memories (`same`). `follows` names the kinds with more; read one
    `behind` the last id of its list.
    """

    counts: Mapping[str, int]
    changes: Mapping[str, Sequence[MemoryChange]]
    tallies: Mapping[str, ChangeTally]
    follows: Sequence[str] = ()

    @property
    def memories_before(self) -> int:
        return sum(tally.memories for kind, tally in self.tallies.items() if kind != CHANGE_ADDED)

    @property
    def memories_after(self) -> int:
        return sum(tally.memories for kind, tally in self.tallies.items() if kind != REMOVED)

    @property
    def tokens_before(self) -> int:
        return sum(tally.tokens_before for tally in self.tallies.values())

    @property
    def tokens_after(self) -> int:
        return sum(tally.tokens_after for tally in self.tallies.values())


def diff_points_in_time(
    *,
    tenant_id: UUID,
    before: PointInTime,
    after: PointInTime,
    reach: str,
    kind: str | None = None,
    behind: UUID | None = None,
    limit: int = _PAGE_SIZE,
) -> SnapshotDiff:
    """Return the differences within `reach`; inside a scope, five queries at most.

    A memory moved out of `reach` counts as removed, a restored one as changed. With a `kind` only that list is read.
    """
    former, latter = SearchScope(tenant_id, reach, before), SearchScope(tenant_id, reach, after)
    current = Memory.objects.for_tenant(tenant_id).within(reach).with_current_at(was=before, still=after)
    kinds = [name for name in CHANGE_KINDS if kind in (None, name)]
    tallies, listed = read_changes(
        current, former.superseded(), latter.superseded(), kinds, behind=behind, limit=limit + 1
    )
    counts = {name: tallies[name].memories for name in CHANGE_KINDS}
    pages = {name: ids[:limit] for name, ids in listed.items()}
    ids = [memory_id for page in pages.values() for memory_id in page]
    was, became = _memories(former, ids), _memories(latter, ids)
    changes = {
        name: [MemoryChange(pk, was.get(pk), became.get(pk)) for pk in pages.get(name, [])] for name in CHANGE_KINDS
    }
    return SnapshotDiff(counts, changes, tallies, [name for name, ids in listed.items() if len(ids) > limit])


def _memories(scope: SearchScope, ids: Sequence[UUID]) -> dict[UUID, Memory]:
    """Return the memories of a point in time, with today's counters; one query per table."""
    found: list[Memory] = []
    for rows in scope.sources() if ids else ():
        own = rows.of_memories(ids)
        found += map(_with_version, own.with_current_rows()) if isinstance(own, MemoryVersionQuerySet) else own
    for memory in found:
        memory.archived_at = None  # It was not archived at that time.
    return {memory.pk: memory for memory in found}


def _with_version(version: MemoryVersion) -> Memory:
    memory = version.memory
    for name in VERSION_COLUMNS:
        setattr(memory, name, getattr(version, name))
    return memory
