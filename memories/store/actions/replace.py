"""Replace memories: a newer one ends the valid interval of an older one and links to it (ADR-0103)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memories.models import HygieneAct, Memory, MemoryLink, MemoryPair
from memories.services.hygiene.rules import REPLACED, replacement_hash
from memories.services.partitions.paths import is_within
from memories.services.store.content import content_hash
from memories.services.store.drafts import MAX_SUPERSEDED, SUPERSEDES, FieldProblem, NewMemory
from memories.store.bulk_rows import close_rows, undo_values
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import Conflict


@dataclass(frozen=True)
class ReplaceableMemories:
    """The memories that rows of a request name in `supersedes`, and the keys of what replaced them before.

    Keys are partition path, content hash and `source_id`: a repeated request is no error.
    """

    rows: Mapping[UUID, Memory]
    successors: Mapping[UUID, Collection[tuple[str, str, str]]]
    now: datetime
    #: The index of the row that replaces a memory, so that it is replaced once.
    claimed: dict[UUID, int] = field(default_factory=dict)

    def problems(self, index: int, row: NewMemory) -> list[FieldProblem]:
        """Return why the row cannot replace what it names."""
        found = ((memory_id, self._problem(index, row, memory_id)) for memory_id in dict.fromkeys(row.supersedes))
        return [FieldProblem(SUPERSEDES, *problem) for _, problem in found if problem]

    def of(self, row: NewMemory) -> list[UUID]:
        """Return the live memories that the row replaces."""
        return [pk for pk in dict.fromkeys(row.supersedes) if self.rows[pk].archived_at is None]

    def _problem(self, index: int, row: NewMemory, memory_id: UUID) -> tuple[str, str] | None:
        memory = self.rows.get(memory_id)
        if memory is None:
            return "unknown_memory", f"There is no memory {memory_id}."
        key = (row.partition.path, content_hash(row.content), row.source_id)
        if memory.archived_at is not None and key in self.successors.get(memory_id, ()):
            return None
        if memory.archived_at is not None or (memory.expires_at is not None and memory.expires_at <= self.now):
            return "archived", f"The memory {memory_id} is not live."
        paths = (memory.partition_path, row.partition.path)
        if not (is_within(*paths) or is_within(*paths[::-1])):
            return "other_partition", f"The memory {memory_id} is neither in the same partition, nor above or below it."
        is_source = bool(row.source_id) and (memory.partition_path, memory.source_id) == (key[0], key[2])
        if is_source or (memory.partition_path, memory.content_hash, memory.source_id) == key:
            return "same_memory", "A memory does not replace itself."
        if self.claimed.setdefault(memory_id, index) != index:
            return "already_replaced", f"Another row of the request replaces the memory {memory_id}."
        return None


def replaceable_memories(tenant_id: UUID, rows: Iterable[NewMemory], reach: str, now: datetime) -> ReplaceableMemories:
    """Return the memories within `reach` that the rows name. Two queries at most."""
    wanted = {memory_id for row in rows for memory_id in row.supersedes[:MAX_SUPERSEDED]}
    found = Memory.objects.for_tenant(tenant_id).within(reach).in_bulk(wanted) if wanted else {}
    successors = defaultdict[UUID, set[tuple[str, str, str]]](set)
    if archived := [pk for pk, memory in found.items() if memory.archived_at is not None]:
        links = MemoryLink.objects.for_tenant(tenant_id).current().of_kind(SUPERSEDES).filter(target_id__in=archived)
        columns = ("source__partition_path", "source__content_hash", "source__source_id")
        for target, *key in links.filter(source__archived_at__isnull=True).values_list("target_id", *columns):
            successors[target].add((key[0], key[1], key[2]))
    return ReplaceableMemories(found, successors, now)


@transaction.atomic
def replace_memories(
    *, tenant_id: UUID, replaced: Mapping[UUID, Collection[UUID]], by: Actor, now: datetime
) -> list[HygieneAct]:
    """End the older memories of each newer one (newer -> older), link the newer to them; one act per older memory.

    An older memory is not true from the time from which the newer one is, and no longer live. A constant number of
    queries. Raises `Conflict` `archived` if an older memory is not live any more.
    """
    successors = {older: newer for newer, ids in replaced.items() for older in ids if older != newer}
    if not successors:
        return []
    rows = list(Memory.objects.for_tenant(tenant_id).with_ids(successors).locked())
    if len(rows) < len(successors) or any(row.archived_at is not None for row in rows):
        raise Conflict("archived", "A memory to replace was archived at this moment. Read it again.", SUPERSEDES)
    newer = Memory.objects.for_tenant(tenant_id).in_bulk(set(successors.values()))
    acts = {
        row.pk: HygieneAct(
            tenant_id=tenant_id,
            act=HygieneAct.Act.REPLACE,
            at=now,
            archived_ids=[row.pk],
            changed=undo_values([row], "archived_at", after=now),
        )
        for row in rows
    }
    close_rows(rows, {older: newer[pk].valid_from for older, pk in successors.items()}, now)
    for (_, older_id), link_id in _link(tenant_id, successors, now).items():
        acts[older_id].link_ids = [link_id]
    for older_id, pair_id in _list(tenant_id, rows, successors, now).items():
        acts[older_id].pair_ids = [pair_id]
    ids = [*newer, *acts]
    record_audit("replace_memories", "memory", ids, tenant_id=tenant_id, fields=["valid_to"], by=by, now=now)
    return HygieneAct.objects.bulk_create(acts.values())


def _link(tenant_id: UUID, successors: Mapping[UUID, UUID], now: datetime) -> dict[tuple[UUID, UUID], int]:
    """Link each newer memory to the older one; return the links by their ends."""
    links = [
        MemoryLink(tenant_id=tenant_id, source_id=newer, target_id=older, kind=SUPERSEDES, recorded_from=now)
        for older, newer in successors.items()
    ]
    MemoryLink.objects.bulk_create(links, ignore_conflicts=True)
    stored = MemoryLink.objects.for_tenant(tenant_id).current().of_kind(SUPERSEDES)
    found = stored.filter(target_id__in=list(successors)).values_list("source_id", "target_id", "pk")
    return {(source, target): pk for source, target, pk in found if successors[target] == source}


def _list(tenant_id: UUID, rows: Sequence[Memory], successors: Mapping[UUID, UUID], now: datetime) -> dict[UUID, int]:
    """Add the pairs to the hygiene list; return their ids by that of the older memory."""
    pairs = [
        (REPLACED, row.pk, successors[row.pk], None, replacement_hash(row.pk, successors[row.pk], now)) for row in rows
    ]
    stored = MemoryPair.objects.for_tenant(tenant_id)
    stored.store(tenant_id, pairs, now)
    found = stored.of_kind(REPLACED).filter(older_id__in=list(successors)).values_list("older_id", "newer_id", "pk")
    return {older: pk for older, other, pk in found if other == successors[older]}
