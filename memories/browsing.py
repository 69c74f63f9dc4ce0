"""Reading memories page by page, as operators and lists want them: filtered, newest first or by a search."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memories.models import AuditEntry, Memory, MemoryEmbedding, MemoryLink, MemoryVersion
from memories.querysets import MemoryQuerySet
from memories.retrieval import retrieve
from memories.scopes import tenant_scope

PAGE_SIZE = 50
NEWEST_FIRST = "-created_at"
HISTORY_MAX = 50


@dataclass(frozen=True)
class MemoryFilter:
    """How a list is narrowed. `state` is live (""), archived, expired or failed."""

    partition: str = ""
    kind: str = ""
    state: str = ""
    pinned: bool = False

    def apply(self, memories: MemoryQuerySet, now: datetime) -> MemoryQuerySet:
        rows = self._in_state(memories, now).within(self.partition)
        rows = rows.of_kind(self.kind) if self.kind else rows
        return rows.pinned() if self.pinned else rows

    def _in_state(self, memories: MemoryQuerySet, now: datetime) -> MemoryQuerySet:
        match self.state:
            case "archived":
                return memories.archived()
            case "expired":
                return memories.expired(now)
            case "failed":
                return memories.with_failed_embedding()
            case _:
                return memories.live(now)


@dataclass(frozen=True)
class Hit:
    """A memory in a list, and how the search found it: its place in each arm, from 1."""

    memory: Memory
    vector_rank: int | None = None
    text_rank: int | None = None
    similarity: float | None = None


@dataclass(frozen=True)
class MemoryPage:
    """One page of a list; `last` is set where rows follow behind it."""

    hits: Sequence[Hit]
    last: Memory | None = None
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class MemoryDossier:
    """One memory with everything its page shows: earlier versions, links both ways, who did what."""

    memory: Memory
    versions: Sequence[MemoryVersion]
    links_out: Sequence[MemoryLink]
    links_in: Sequence[MemoryLink]
    embeddings: Sequence[MemoryEmbedding]
    audit: Sequence[AuditEntry]


def browse_memories(
    tenant_id: UUID, wanted: MemoryFilter, *, behind: tuple[datetime, UUID] | None, now: datetime
) -> MemoryPage:
    """One page, newest first, behind the given place; inside a scope. One query."""
    rows = wanted.apply(Memory.objects.for_tenant(tenant_id), now)
    found = list(rows.page(NEWEST_FIRST, after=behind, count=PAGE_SIZE + 1))
    hits = [Hit(memory) for memory in found[:PAGE_SIZE]]
    return MemoryPage(hits, last=found[PAGE_SIZE - 1] if len(found) > PAGE_SIZE else None)


def search_memories(tenant_id: UUID, text: str, wanted: MemoryFilter, *, now: datetime) -> MemoryPage:
    """The best finds of a search by meaning and words; rows that no agent reads are searched by words alone.

    Called with no scope open.
    """
    if wanted.state:
        with tenant_scope(tenant_id):
            rows = list(wanted.apply(Memory.objects.for_tenant(tenant_id), now).matching(text)[:PAGE_SIZE])
        return MemoryPage([Hit(memory, text_rank=rank) for rank, memory in enumerate(rows, start=1)])
    filters = {name: value for name, value in (("kind", wanted.kind), ("pinned", wanted.pinned)) if value}
    found = retrieve(
        tenant_id=tenant_id,
        query=text,
        partition=wanted.partition,
        filters=filters,
        limit=PAGE_SIZE,
        token_budget=0,
        overfetch_ratio=1.0,
        now=now,
    )
    with tenant_scope(tenant_id):
        live = Memory.objects.for_tenant(tenant_id).live(now)
        memories = {memory.pk: memory for memory in live.with_ids([row.id for row in found.candidates])}
    hits = [
        Hit(memories[row.id], row.vector_rank, row.text_rank, row.similarity)
        for row in found.candidates
        if row.id in memories
    ]
    return MemoryPage(hits, warnings=[warning.detail for warning in found.warnings])


def memory_dossier(tenant_id: UUID, memory_id: UUID) -> MemoryDossier | None:
    """A memory of the tenant with what belongs to it, None where there is none; inside a scope. Five queries."""
    memory = Memory.objects.for_tenant(tenant_id).with_ids([memory_id]).first()
    if memory is None:
        return None
    links = list(MemoryLink.objects.for_tenant(tenant_id).current().touching(memory_id).with_ends())
    return MemoryDossier(
        memory,
        versions=list(MemoryVersion.objects.for_tenant(tenant_id).of_memory(memory_id)[:HISTORY_MAX]),
        links_out=[link for link in links if link.source_id == memory_id],
        links_in=[link for link in links if link.target_id == memory_id],
        embeddings=list(MemoryEmbedding.objects.for_tenant(tenant_id).of_version(memory_id, memory.version)),
        audit=list(AuditEntry.objects.for_tenant(tenant_id).about(memory_id).newest_first()[:HISTORY_MAX]),
    )
