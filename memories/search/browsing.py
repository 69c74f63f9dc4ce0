"""Reading memories as operators want them: lists that are filtered or searched, and one with all about it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.models import AuditEntry, Memory, MemoryEmbedding, MemoryLink, MemoryVersion
from memories.search.queries.lexemes import query_lexemes_in_scope, tenant_query_lexemes, word_lexemes
from memories.search.retrieval import CandidateGate, RetrievalRequest, retrieve, search_conditions
from memories.services.search.excerpts import ExcerptPart, candidate_match_words, excerpt, matched_words
from memories.services.search.plan import match_rarest
from memories.services.store.moments import PointInTime
from memories.services.store.version_steps import VersionStep, version_steps
from memories.services.tenancy.id_prefix import id_prefix_bounds
from memories.store.queries.memories import MemoryQuerySet
from memories.store.readings import SearchScope
from memories.tenancy.scopes import tenant_scope

MEMORY_LIST_PAGE_SIZE = 50
HISTORY_MAX = 50
LINKS_MAX = 100


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
class MemorySearchHit:
    """A memory that a search found: its place in each arm, from 1, the stretch of text and the words that matched."""

    memory: Memory
    vector_rank: int | None
    text_rank: int | None
    similarity: float | None
    stretches: Sequence[ExcerptPart]

    @property
    def words(self) -> list[str]:
        return matched_words(self.stretches)


@dataclass(frozen=True)
class MemorySearchResult:
    """The best finds of a search, and what made it worse than asked for."""

    hits: Sequence[MemorySearchHit]
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class MemoryDetail:
    """One memory with everything its page shows: versions, links in both directions, embeddings, audit rows."""

    memory: Memory
    steps: Sequence[VersionStep]
    links: Sequence[MemoryLink]
    embeddings: Sequence[MemoryEmbedding]
    audit: Sequence[AuditEntry]

    @property
    def links_out(self) -> list[MemoryLink]:
        return [link for link in self.links if link.source_id == self.memory.pk]

    @property
    def links_in(self) -> list[MemoryLink]:
        return [link for link in self.links if link.target_id == self.memory.pk]


def filtered_memories(tenant_id: UUID, wanted: MemoryFilter, now: datetime) -> MemoryQuerySet:
    """The rows of a list without a search, in no order yet; inside a scope."""
    return wanted.apply(Memory.objects.for_tenant(tenant_id), now)


def browse_memories(tenant_id: UUID, wanted: MemoryFilter, now: datetime, ordering: str, **place: Any) -> list[Memory]:
    """`filtered_memories` in an order, from a place on as `TenantRows.page` takes it; inside a scope."""
    return list(filtered_memories(tenant_id, wanted, now).page(ordering, **place))


def search_memory_list(tenant_id: UUID, text: str, wanted: MemoryFilter, *, now: datetime) -> MemorySearchResult:
    """The best finds of a search by meaning and words; rows that no agent reads are searched by words alone.

    Called with no scope open.
    """
    if wanted.state:
        return _found_by_words(tenant_id, text, wanted, now)
    filters = {name: value for name, value in (("kind", wanted.kind), ("pinned", wanted.pinned)) if value}
    scope = SearchScope(tenant_id, str(wanted.partition), PointInTime.now(now), conditions=search_conditions(filters))
    found = retrieve(RetrievalRequest(scope, text, CandidateGate(limit=MEMORY_LIST_PAGE_SIZE)))
    with tenant_scope(tenant_id):
        live = Memory.objects.for_tenant(tenant_id).live(now)
        memories = {memory.pk: memory for memory in live.with_ids([row.id for row in found.candidates])}
        rows = [row for row in found.candidates if row.id in memories]
        stretches = _stretches(tenant_id, [(memories[row.id], row.holds) for row in rows])
    hits = [
        MemorySearchHit(memories[row.id], row.vector_rank, row.text_rank, row.similarity, shown)
        for row, shown in zip(rows, stretches, strict=True)
    ]
    return MemorySearchResult(hits, warnings=[warning.detail for warning in found.warnings])


def _found_by_words(tenant_id: UUID, text: str, wanted: MemoryFilter, now: datetime) -> MemorySearchResult:
    with tenant_scope(tenant_id):
        matching = (
            filtered_memories(tenant_id, wanted, now).matching(text).with_lexemes_held(query_lexemes_in_scope(text))
        )
        rows = list(matching[:MEMORY_LIST_PAGE_SIZE])
        stretches = _stretches(tenant_id, [(row, row.holds) for row in rows])
    shown = enumerate(zip(rows, stretches, strict=True), start=1)
    return MemorySearchResult([MemorySearchHit(row, None, rank, None, stretch) for rank, (row, stretch) in shown])


def _stretches(tenant_id: UUID, rows: Sequence[tuple[Memory, Collection[str]]]) -> list[list[ExcerptPart]]:
    """Of each memory the part that shows by which of its lexemes it was found. One query at most."""
    lexemes = {lexeme for _, holds in rows for lexeme in holds}
    asked = candidate_match_words((memory.content for memory, _ in rows), lexemes)
    lexemes_of = word_lexemes(tenant_id, asked)
    return [
        excerpt(memory.content, {word for word, own in lexemes_of.items() if not own.isdisjoint(holds)})
        for memory, holds in rows
    ]


def read_memory_detail(tenant_id: UUID, memory_id: UUID) -> MemoryDetail | None:
    """A memory of the tenant with what belongs to it, None where there is none; inside a scope. Five queries."""
    memory = Memory.objects.for_tenant(tenant_id).with_ids([memory_id]).first()
    if memory is None:
        return None
    links = list(MemoryLink.objects.for_tenant(tenant_id).current().touching(memory_id).with_ends()[:LINKS_MAX])
    audit = list(AuditEntry.objects.for_tenant(tenant_id).about(memory_id).newest_first()[:HISTORY_MAX])
    earlier = list(MemoryVersion.objects.for_tenant(tenant_id).of_memory(memory_id)[:HISTORY_MAX])
    authors = {entry.at: entry.actor_label or entry.actor_kind for entry in reversed(audit)}
    return MemoryDetail(
        memory,
        steps=version_steps(memory, earlier, authors),
        links=links,
        embeddings=list(MemoryEmbedding.objects.for_tenant(tenant_id).of_version(memory_id, memory.version)),
        audit=audit,
    )


def find_memories_by_id_or_text(tenant_id: UUID, text: str, *, count: int, now: datetime) -> list[Memory]:
    """The memory whose id begins so, in any state; else the live ones that hold the words, best first; inside a scope.

    One query for an id, two for words.
    """
    memories = Memory.objects.for_tenant(tenant_id)
    bounds = id_prefix_bounds(text)
    by_id = list(memories.with_id_between(*bounds)[:count]) if bounds else []
    if by_id:
        return by_id
    rows_by_lexeme = tenant_query_lexemes(tenant_id, text)
    asked = match_rarest(list(rows_by_lexeme), rows_by_lexeme)
    return list(memories.live(now).matching_any(asked)[:count])
