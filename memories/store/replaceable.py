"""The memories that new ones name in `supersedes`, and the reasons why one cannot be replaced."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memories.models import Memory, MemoryLink
from memories.services.partitions.paths import is_within
from memories.services.store.content import content_hash
from memories.services.store.drafts import MAX_SUPERSEDED, STALE_VERSION, SUPERSEDES, FieldProblem, NewMemory


@dataclass(frozen=True)
class ReplaceableMemories:
    """The memories that rows of a request name in `supersedes`, and the keys of what replaced them before.

    Keys are partition path, content hash and `source_id`: a repeated request is not an error.
    """

    rows: Mapping[UUID, Memory]
    successors: Mapping[UUID, Collection[tuple[str, str, str]]]
    now: datetime
    #: The index of the row that replaces a memory, so that it is replaced once.
    claimed: dict[UUID, int] = field(default_factory=dict)

    def problems(self, index: int, row: NewMemory) -> list[FieldProblem]:
        """Return the reasons why the row cannot replace the memories it names."""
        found = ((memory_id, self._problem(index, row, memory_id)) for memory_id in dict.fromkeys(row.supersedes))
        return [FieldProblem(SUPERSEDES, *problem) for _, problem in found if problem]

    def of(self, row: NewMemory) -> list[UUID]:
        """Return the live memories that the row replaces."""
        return [pk for pk in dict.fromkeys(row.supersedes) if self.rows[pk].archived_at is None]

    def versions(self, row: NewMemory) -> tuple[int, ...]:
        """Return the versions of the memories that the row names, in the same order; 0 for an unknown one."""
        return tuple(self.rows[pk].version if pk in self.rows else 0 for pk in row.supersedes)

    def _problem(self, index: int, row: NewMemory, memory_id: UUID) -> tuple[str, str] | None:
        memory = self.rows.get(memory_id)
        if memory is None:
            return "unknown_memory", f"There is no memory {memory_id}."
        key = (row.partition.path, content_hash(row.content), row.source_id)
        if memory.archived_at is not None and key in self.successors.get(memory_id, ()):
            return None
        if memory.archived_at is not None or (memory.expires_at is not None and memory.expires_at <= self.now):
            return "archived", f"The memory {memory_id} is not live."
        required = dict(zip(row.supersedes, row.superseded_versions, strict=False))
        if required.get(memory_id, memory.version) != memory.version:
            return STALE_VERSION, f"The memory {memory_id} has another version."
        paths = (memory.partition_path, row.partition.path)
        if not (is_within(*paths) or is_within(*paths[::-1])):
            return "other_partition", f"The memory {memory_id} is neither in the same partition, nor above or below it."
        is_source = bool(row.source_id) and (memory.partition_path, memory.source_id) == (key[0], key[2])
        if is_source or (memory.partition_path, memory.content_hash, memory.source_id) == key:
            return "same_memory", "A memory cannot replace itself."
        if self.claimed.setdefault(memory_id, index) != index:
            return "already_replaced", f"Another row of the request replaces the memory {memory_id}."
        return None


def replaceable_memories(tenant_id: UUID, rows: Sequence[NewMemory], reach: str, now: datetime) -> ReplaceableMemories:
    """Return the memories within `reach` that the rows name, locked if a row requires versions. Two queries at most."""
    ids = {memory_id for row in rows for memory_id in row.supersedes[:MAX_SUPERSEDED]}
    named = Memory.objects.for_tenant(tenant_id).within(reach)
    named = named.locked() if any(row.superseded_versions for row in rows) else named
    found = named.in_bulk(ids) if ids else {}
    successors = defaultdict[UUID, set[tuple[str, str, str]]](set)
    if archived := [pk for pk, memory in found.items() if memory.archived_at is not None]:
        links = MemoryLink.objects.for_tenant(tenant_id).current().of_kind(SUPERSEDES).filter(target_id__in=archived)
        columns = ("source__partition_path", "source__content_hash", "source__source_id")
        for target, *key in links.filter(source__archived_at__isnull=True).values_list("target_id", *columns):
            successors[target].add((key[0], key[1], key[2]))
    return ReplaceableMemories(found, successors, now)
