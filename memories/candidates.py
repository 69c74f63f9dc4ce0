"""Rows of memories as they held at a moment, from both tables: current rows, and superseded ones for the past.

Steps of conductors, inside a scope.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.embedding.protocol import Vectors
from memories.models import Memory, MemoryVersion
from memories.models.memory import VERSION_COLUMNS
from memories.querysets import MemoryQuerySet, MemoryVersionQuerySet
from memories.services.filters import Condition
from memories.services.moments import Moment

#: The rows of one table; what they have in common is `MemoryTextQuerySet`.
Rows = MemoryQuerySet | MemoryVersionQuerySet


@dataclass(frozen=True)
class Candidate:
    """A memory that was found, with what a scorer needs and how it was found.

    `similarity` is the cosine to the query (-1..1), None where the memory or the query has no vector. Ranks count from
    1 and are None where that arm did not find it; `fused_score` is None where nothing was asked for. At a past moment
    everything is as it held then, except what is counted (usefulness, retrievals), which is of today.
    """

    id: UUID
    version: int
    content: str
    pinned: bool
    created_at: datetime
    usefulness_score: float
    confidence: float
    retrieval_count: int
    token_counts: Mapping[str, int]
    similarity: float | None
    vector_rank: int | None
    text_rank: int | None
    fused_score: float | None
    memory: Memory

    @property
    def as_mapping(self) -> dict[str, Any]:
        """What the scorer and the packers read."""
        return {
            "id": self.id,
            "content": self.content,
            "similarity": self.similarity,
            "created_at": self.created_at,
            "usefulness_score": self.usefulness_score,
            "confidence": self.confidence,
            "retrieval_count": self.retrieval_count,
            "token_counts": self.token_counts,
        }


@dataclass(frozen=True)
class SearchScope:
    """Where and when to search: everything that narrows the rows before they are ranked."""

    tenant_id: UUID
    path: str
    moment: Moment
    is_exact: bool = False
    segments: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[Condition] = ()

    def sources(self) -> list[Rows]:
        """The current rows, and at a moment of history the superseded ones; no memory is in both."""
        heads = self._narrowed(Memory.objects.for_tenant(self.tenant_id))
        if not self.moment.reads_history:
            return [heads]
        return [heads, self._narrowed(MemoryVersion.objects.for_tenant(self.tenant_id))]

    def _narrowed(self, rows: Rows) -> Rows:
        here = rows.at(self.moment).within(self.path, exact=self.is_exact)
        return here.with_segments(self.segments).meeting(self.conditions)


@dataclass(frozen=True)
class Ranks:
    """How a search found memories, by the integers of their ids: place in each arm, and the fused score."""

    by_vector: Mapping[int, int] = field(default_factory=dict)
    by_text: Mapping[int, int] = field(default_factory=dict)
    fused: Mapping[int, float] = field(default_factory=dict)


def read_candidates(
    scope: SearchScope, ids: Sequence[int], vector: Vectors | None, model: str, ranks: Ranks
) -> list[Candidate]:
    """Those of the memories that are in scope, in the given order of ids; one query for each table that is read."""
    wanted = [UUID(int=key) for key in ids]
    found = {row.pk.int: row for rows in scope.sources() for row in _memories_of(rows, wanted, vector, model)}
    return [_candidate(found[key], ranks) for key in ids if key in found]


def _memories_of(rows: Rows, ids: Iterable[UUID], vector: Vectors | None, model: str) -> Iterable[Memory]:
    chosen = rows.of_memories(ids)
    chosen = chosen.without_similarity() if vector is None else chosen.with_similarity_to(vector, model)
    if isinstance(chosen, MemoryVersionQuerySet):
        return [_as_it_held(version) for version in chosen.with_heads()]
    memories: list[Memory] = list(chosen)
    for memory in memories:
        # Whatever held was not archived then.
        memory.archived_at = None
    return memories


def _as_it_held(version: MemoryVersion) -> Memory:
    """The memory with the text of one of its versions, and today's counters. It is for reading and never saved."""
    memory = version.memory
    for name in VERSION_COLUMNS:
        setattr(memory, name, getattr(version, name))
    memory.archived_at = None
    memory.similarity = version.similarity  # type: ignore[attr-defined]
    return memory


def _candidate(row: Memory, ranks: Ranks) -> Candidate:
    similarity: float | None = row.similarity  # type: ignore[attr-defined]
    return Candidate(
        id=row.pk,
        version=row.version,
        content=row.content,
        pinned=row.pinned,
        created_at=row.created_at,
        usefulness_score=row.usefulness_score,
        confidence=row.confidence,
        retrieval_count=row.retrieval_count,
        token_counts=row.token_counts,
        similarity=similarity,
        vector_rank=ranks.by_vector.get(row.pk.int),
        text_rank=ranks.by_text.get(row.pk.int),
        fused_score=ranks.fused.get(row.pk.int),
        memory=row,
    )
