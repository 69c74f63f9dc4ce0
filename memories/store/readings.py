"""Rows of memories as they held at a moment, from both tables: current rows, and superseded ones for the past.

Steps of conductors, inside a scope.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.embeddings.providers.protocol import EmbeddingVectors
from memories.models import Memory, MemoryEmbedding, MemoryVersion
from memories.services.search.filters import FilterCondition
from memories.services.search.fusion import MAX_CANDIDATES
from memories.services.store.moments import PointInTime
from memories.services.tokens import ENCODINGS
from memories.store.queries.memories import MemoryQuerySet
from memories.store.queries.neighbours import PositionSpan
from memories.store.queries.versions import MemoryVersionQuerySet

#: The rows of one table; what they have in common is `MemoryTextQuerySet`.
CandidateRows = MemoryQuerySet | MemoryVersionQuerySet


@dataclass(frozen=True)
class Candidate:
    """A memory that was found, with what a scorer needs and how it was found.

    `similarity` is the cosine to the query (-1..1), None where the memory or the query has no vector. Ranks count from
    1 and are None where that arm did not find it; `fused_score` is None where nothing was asked for. `holds` are those
    of the query's lexemes that the text holds. At a past moment everything is as it held then, except what is counted
    (usefulness, retrievals), which is of today.
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
    kind: str
    partition_path: str
    session: str
    position: int | None
    holds: frozenset[str]

    @property
    def as_mapping(self) -> dict[str, Any]:
        """What the scorers and the packers read."""
        return {
            "id": self.id,
            "content": self.content,
            "similarity": self.similarity,
            "created_at": self.created_at,
            "usefulness_score": self.usefulness_score,
            "confidence": self.confidence,
            "retrieval_count": self.retrieval_count,
            "token_counts": self.token_counts,
            "kind": self.kind,
            "partition_path": self.partition_path,
            "session": self.session,
            "position": self.position,
            "fused_score": self.fused_score,
            "vector_rank": self.vector_rank,
            "text_rank": self.text_rank,
            "holds": self.holds,
            "pinned": self.pinned,
        }


@dataclass(frozen=True)
class SearchScope:
    """Where and when to search: everything that narrows the rows before they are ranked."""

    tenant_id: UUID
    path: str
    moment: PointInTime
    is_exact: bool = False
    segments: Mapping[str, str] = field(default_factory=dict)
    conditions: Sequence[FilterCondition] = ()

    @property
    def is_whole_tenant(self) -> bool:
        """Whether nothing narrows the tenant's rows of today."""
        return not (self.path or self.is_exact or self.segments or self.conditions or self.moment.reads_history)

    @property
    def is_filtered(self) -> bool:
        """Whether more than tenant, partitions and moment decides which memories are in scope."""
        return bool(self.conditions)

    def sources(self) -> list[CandidateRows]:
        """The current rows, and at a moment of history the superseded ones; no memory is in both."""
        superseded = self.superseded()
        heads = self._narrowed(Memory.objects.for_tenant(self.tenant_id))
        return [heads] if superseded is None else [heads, superseded]

    def superseded(self) -> CandidateRows | None:
        """The rows that held at a moment of history and are not current; None in the present, which has none."""
        if not self.moment.reads_history:
            return None
        return self._narrowed(MemoryVersion.objects.for_tenant(self.tenant_id))

    def _narrowed(self, rows: CandidateRows) -> CandidateRows:
        here = rows.at(self.moment).within(self.path, exact=self.is_exact)
        return here.with_segments(self.segments).meeting(self.conditions)


@dataclass(frozen=True)
class CandidateRanks:
    """How a search found memories, by the integers of their ids: place in each arm, and the fused score."""

    by_vector: Mapping[int, int] = field(default_factory=dict)
    by_text: Mapping[int, int] = field(default_factory=dict)
    fused: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CandidateQuery:
    """What candidates are compared with: the query's vector under a model, and its lexemes."""

    vector: EmbeddingVectors | None = None
    model: str = ""
    lexemes: Sequence[str] = ()


def read_candidates(
    scope: SearchScope, ids: Sequence[int], asked: CandidateQuery, ranks: CandidateRanks
) -> list[Candidate]:
    """Those of the memories that are in scope, in the given order of ids; one query for each table that is read."""
    wanted = [UUID(int=key) for key in ids]
    sources = (rows.of_memories(wanted) for rows in scope.sources())
    found = {candidate.id.int: candidate for rows in sources for candidate in _candidates(rows, asked, ranks)}
    return [found[key] for key in ids if key in found]


def read_neighbours(
    scope: SearchScope, beside: Iterable[Candidate], reach: int, asked: CandidateQuery, ranks: CandidateRanks
) -> list[Candidate]:
    """The memories of the same partition and session that stand within `reach` positions of one of the given.

    The given may be among them. In the order of place, at most `MAX_CANDIDATES`; one query for each table that is read.
    """
    spans = _spans(beside, reach)
    if not spans:
        return []
    sources = (rows.in_spans(scope.tenant_id, spans)[:MAX_CANDIDATES] for rows in scope.sources())
    found = [candidate for rows in sources for candidate in _candidates(rows, asked, ranks)]
    found.sort(key=lambda row: (row.partition_path, row.session, row.position, row.created_at, row.id))
    return found[:MAX_CANDIDATES]


def read_vectors(tenant_id: UUID, candidates: Collection[Candidate], model: str) -> dict[UUID, EmbeddingVectors]:
    """The vectors (float32, unit length) of the candidates' own versions under `model`; one query."""
    if not candidates:
        return {}
    versions = {candidate.id: candidate.version for candidate in candidates}
    rows = MemoryEmbedding.objects.for_tenant(tenant_id).of_versions(versions.items(), model)
    return {pk: vector for pk, number, vector in rows.vectors() if versions.get(pk) == number}


def _spans(beside: Iterable[Candidate], reach: int) -> list[PositionSpan]:
    """The positions around the given; a memory without session or position has no neighbours."""
    placed = [(row.partition_path, row.session, row.position) for row in beside if row.session]
    spans = {
        PositionSpan(path, session, max(position - reach, 0), position + reach)
        for path, session, position in placed
        if position is not None
    }
    return sorted(spans)


def _candidates(rows: CandidateRows, asked: CandidateQuery, ranks: CandidateRanks) -> Iterator[Candidate]:
    near = rows.without_similarity() if asked.vector is None else rows.with_similarity_to(asked.vector, asked.model)
    for row in near.candidate_values(asked.lexemes):
        key = row["id"].int
        yield Candidate(
            token_counts={encoding: row.pop(f"tokens_{encoding}") for encoding in ENCODINGS},
            holds=frozenset(row.pop("holds")),
            vector_rank=ranks.by_vector.get(key),
            text_rank=ranks.by_text.get(key),
            fused_score=ranks.fused.get(key),
            **row,
        )
