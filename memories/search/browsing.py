"""Read memories for operators: filtered or searched lists, and one memory with its details."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memories.models import AuditEntry, Memory, MemoryEmbedding, MemoryLink, MemoryVersion
from memories.search.queries.lexemes import query_lexemes_in_scope, tenant_query_lexemes, word_lexemes
from memories.search.retrieval import CandidateGate, RetrievalMode, RetrievalRequest, retrieve, search_conditions
from memories.services.search.excerpts import ExcerptPart, candidate_match_words, excerpt, matched_words
from memories.services.search.planner import match_rarest
from memories.services.store.drafts import SUPERSEDES
from memories.services.store.moments import PointInTime
from memories.services.store.version_steps import VersionStep, version_steps
from memories.services.tenancy.id_prefix import id_prefix_bounds
from memories.store.queries.memories import MemoryQuerySet
from memories.store.search_scope import SearchScope
from memories.tenancy.audit import Actor, record_search
from memories.tenancy.scopes import tenant_scope

MEMORY_LIST_PAGE_SIZE = 50
#: Cosine below which bulk actions do not select a memory without a word of the query (ADR-0138).
SELECTED_COSINE_MIN = 0.25
HISTORY_MAX = 50
LINKS_MAX = 100


@dataclass(frozen=True)
class MemoryFilter:
    """The filter of a list. `state` is live (""), archived, expired or failed."""

    partition: str = ""
    kind: str = ""
    state: str = ""
    pinned: bool = False

    def rows(self, tenant_id: UUID, now: datetime) -> MemoryQuerySet:
        """Return the rows of a list without a search, unordered; inside a scope."""
        memories = Memory.objects.for_tenant(tenant_id).within(self.partition)
        match self.state:
            case "archived":
                memories = memories.archived()
            case "expired":
                memories = memories.expired(now)
            case "failed":
                memories = memories.with_failed_embedding()
            case _:
                memories = memories.live(now)
        rows: MemoryQuerySet = memories.of_kind(self.kind) if self.kind else memories
        return rows.pinned() if self.pinned else rows


@dataclass(frozen=True)
class MemorySearchHit:
    """A memory that a search found: its rank in each retriever, and its excerpt."""

    memory: Memory
    vector_rank: int | None
    text_rank: int | None
    similarity: float | None
    stretches: Sequence[ExcerptPart]

    @property
    def words(self) -> list[str]:
        return matched_words(self.stretches)

    @property
    def is_by_words(self) -> bool:
        return self.text_rank is not None or bool(self.words)

    @property
    def is_below_cutoff(self) -> bool:
        """Whether it contains no word of the query and is not similar enough."""
        return not self.is_by_words and (self.similarity or 0.0) < SELECTED_COSINE_MIN


@dataclass(frozen=True)
class MemorySearchResult:
    """The best results of a search, those below the cut-off last, and warnings."""

    hits: Sequence[MemorySearchHit]
    warnings: Sequence[str] = ()
    cutoff: float = SELECTED_COSINE_MIN

    @property
    def selectable(self) -> list[MemorySearchHit]:
        """The results that bulk actions may select."""
        return [hit for hit in self.hits if not hit.is_below_cutoff]

    @property
    def below_cutoff(self) -> list[MemorySearchHit]:
        return [hit for hit in self.hits if hit.is_below_cutoff]

    @property
    def by_words(self) -> int:
        """The number of results that contain a word of the query."""
        return sum(hit.is_by_words for hit in self.hits)


@dataclass(frozen=True)
class MemoryDetail:
    """One memory with what its page shows: versions, links in both directions, embeddings, audit rows."""

    memory: Memory
    steps: Sequence[VersionStep]
    links: Sequence[MemoryLink]
    embeddings: Sequence[MemoryEmbedding]
    audit: Sequence[AuditEntry]

    @property
    def links_out(self) -> list[MemoryLink]:
        return [link for link in self.links if link.source_id == self.memory.pk]

    @property
    def successors(self) -> list[MemoryLink]:
        """The links from its successors."""
        return [link for link in self.links_in if link.kind == SUPERSEDES] if self.memory.valid_to else []

    @property
    def links_in(self) -> list[MemoryLink]:
        return [link for link in self.links if link.target_id == self.memory.pk]


def search_memory_list(
    tenant_id: UUID, text: str, list_filter: MemoryFilter, *, mode: str = RetrievalMode.HYBRID, by: Actor, now: datetime
) -> MemorySearchResult:
    """Return the best results in a `RetrievalMode`, outside `live` by words only. Call with no scope open.

    It stores an audit entry.
    """
    if list_filter.state:
        result = _found_by_words(tenant_id, text, list_filter, now)
    else:
        result = _found_live(tenant_id, text, list_filter, mode, now)
    path, count = str(list_filter.partition), len(result.hits)
    record_search("search_memories", text, path, results=count, tenant_id=tenant_id, by=by, now=now)
    return result


def _found_live(tenant_id: UUID, text: str, list_filter: MemoryFilter, mode: str, now: datetime) -> MemorySearchResult:
    filters = {name: value for name, value in (("kind", list_filter.kind), ("pinned", list_filter.pinned)) if value}
    scope = SearchScope(
        tenant_id, str(list_filter.partition), PointInTime.now(now), conditions=search_conditions(filters)
    )
    found = retrieve(RetrievalRequest(scope, text, CandidateGate(limit=MEMORY_LIST_PAGE_SIZE), mode=mode))
    with tenant_scope(tenant_id):
        live = Memory.objects.for_tenant(tenant_id).live(now)
        memories = {memory.pk: memory for memory in live.with_ids([row.id for row in found.candidates])}
        rows = [row for row in found.candidates if row.id in memories]
        excerpts = _excerpts(tenant_id, [(memories[row.id], row.holds) for row in rows])
    hits = [
        MemorySearchHit(memories[row.id], row.vector_rank, row.text_rank, row.similarity, shown)
        for row, shown in zip(rows, excerpts, strict=True)
    ]
    return MemorySearchResult(hits, warnings=[warning.detail for warning in found.warnings])


def _found_by_words(tenant_id: UUID, text: str, list_filter: MemoryFilter, now: datetime) -> MemorySearchResult:
    with tenant_scope(tenant_id):
        matching = list_filter.rows(tenant_id, now).matching(text).with_lexemes_held(query_lexemes_in_scope(text))
        rows = list(matching[:MEMORY_LIST_PAGE_SIZE])
        excerpts = _excerpts(tenant_id, [(row, row.holds) for row in rows])
    shown = enumerate(zip(rows, excerpts, strict=True), start=1)
    return MemorySearchResult([MemorySearchHit(row, None, rank, None, parts) for rank, (row, parts) in shown])


def _excerpts(tenant_id: UUID, rows: Sequence[tuple[Memory, Collection[str]]]) -> list[list[ExcerptPart]]:
    """Return an excerpt of each memory that shows the matched lexemes. At most one query."""
    lexemes = {lexeme for _, holds in rows for lexeme in holds}
    words = word_lexemes(tenant_id, candidate_match_words((memory.content for memory, _ in rows), lexemes))
    return [
        excerpt(memory.content, {word for word, own in words.items() if not own.isdisjoint(holds)})
        for memory, holds in rows
    ]


def read_memory_detail(tenant_id: UUID, memory_id: UUID) -> MemoryDetail | None:
    """Return a memory with its details, None if it is absent; inside a scope. Five queries."""
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


def find_memories_by_id_or_text(tenant_id: UUID, text: str, *, count: int, by: Actor, now: datetime) -> list[Memory]:
    """Return the memories of `suggested_memories` for a submitted text; inside a scope. It stores an audit entry."""
    found = suggested_memories(tenant_id, text, count=count, now=now)
    record_search("search_memories", text, "", results=len(found), tenant_id=tenant_id, by=by, now=now)
    return found


def suggested_memories(tenant_id: UUID, text: str, *, count: int, now: datetime) -> list[Memory]:
    """Return memories in any state by id prefix, else live ones by words, best first; inside a scope.

    It stores no audit entry, because the text is still being entered (ADR-0274).
    """
    memories = Memory.objects.for_tenant(tenant_id)
    bounds = id_prefix_bounds(text)
    by_id = list(memories.with_id_between(*bounds)[:count]) if bounds else []
    if by_id:
        return by_id
    rows_by_lexeme = tenant_query_lexemes(tenant_id, text)
    query = match_rarest(list(rows_by_lexeme), rows_by_lexeme)
    return list(memories.live(now).matching_any(query)[:count])
