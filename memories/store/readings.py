"""Memories at a point in time: current rows, and superseded rows for the past (ADR-0094). Call inside a scope."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import Any
from uuid import UUID

from memories.embeddings.providers import EmbeddingVectors
from memories.embeddings.queries.vectors import half_vectors
from memories.models import Memory, MemoryEmbedding, MemoryLink, MemoryVersion, PartitionSummary
from memories.models.memory import VERSION_COLUMNS
from memories.services.partitions.paths import PartitionPath, is_within, parse_partition
from memories.services.search.filters import COUNTER_FIELDS
from memories.services.search.fusion import MAX_CANDIDATES
from memories.services.store.moments import PointInTime
from memories.services.tokens import ENCODINGS
from memories.store.queries.candidates import (
    PLAIN_NAMES,
    send_plain_candidates,
    send_plain_neighbours,
    send_superseding_links,
)
from memories.store.queries.texts import spans_around
from memories.store.search_scope import CandidateRows, SearchScope
from memories.tenancy.queries.prepared import SentStatement

#: Maximum links that are followed from one memory; an agent may create any number of them.
MAX_LINKS_FOLLOWED = 200
#: The times of a candidate that a context gives with its text.
TIME_FIELDS = ("created_at", "valid_from", "valid_to")
NO_LEXEMES: frozenset[str] = frozenset()
#: The fields of a candidate in the order of a plain row, and places in such a row.
_CANDIDATE_NAMES = (*PLAIN_NAMES, "token_counts", "holds", "vector_rank", "text_rank", "fused_score")
_ID_PLACE, _COUNTS_PLACE = PLAIN_NAMES.index("id"), len(PLAIN_NAMES)
_HOLDS_PLACE = _COUNTS_PLACE + len(ENCODINGS)


@dataclass(frozen=True)
class Candidate(Mapping[str, Any]):
    """A memory and how the search found it: one object from retrieval to rendering.

    It also implements `Mapping` over its fields for scorers and packers. `similarity` is the cosine to the query
    (-1..1), None without a vector. Ranks count from 1 and are None where that retriever did not find it; `fused_score`
    is None without a query. `holds` are the lexemes of the query that the text contains. At a past time all fields are
    of that time, except the counters (usefulness, retrievals), which are current.
    """

    id: UUID
    version: int
    content: str
    pinned: bool
    created_at: datetime
    valid_from: datetime
    valid_to: datetime | None
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

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)

    @property
    def times(self) -> dict[str, Any]:
        """The time it is about, and its valid interval."""
        return {name: self[name] for name in TIME_FIELDS}

    def get(self, name: str, default: Any = None) -> Any:
        """Return the field `name`; faster than what `Mapping` inherits, which catches an error."""
        return self.__dict__.get(name, default)


#: Candidates, and the vectors of those that have one.
_WithVectors = tuple[list[Candidate], dict[UUID, EmbeddingVectors]]


@dataclass(frozen=True)
class CandidateRanks:
    """How a search found memories, by the integers of their ids: rank in each retriever, and the fused score."""

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
    scope: SearchScope, ids: Iterable[int], query: CandidateQuery, ranks: CandidateRanks
) -> list[Candidate]:
    """Return the memories of `ids` that are in scope, in that order; one query for each table."""
    return send_candidates(scope, ids, query, ranks, with_vectors=False).read()[0]


@dataclass(frozen=True)
class SentCandidates:
    """The candidates of `keys`, in their order; those of a scope that is not plain have already been read."""

    query: CandidateQuery
    ranks: CandidateRanks
    keys: Sequence[int]
    sent: SentStatement | _WithVectors

    def read(self) -> _WithVectors:
        """Wait for the candidates and their vectors; a pipelined scope may have been closed before."""
        sent = self.sent
        candidates, vectors = sent if isinstance(sent, tuple) else _received(sent, self.query, self.ranks)
        found = {candidate.id.int: candidate for candidate in candidates}
        return [found[key] for key in self.keys if key in found], vectors


def send_candidates(
    scope: SearchScope, ids: Iterable[int], query: CandidateQuery, ranks: CandidateRanks, *, with_vectors: bool
) -> SentCandidates:
    """Send the queries for the memories of `ids` that are in scope, in that order; one per table.

    With `with_vectors`, also for the vectors (as `read_vectors`) of those that have one.
    """
    keys = list(ids)
    if not keys:
        return SentCandidates(query, ranks, keys, ([], {}))
    if (plain := scope.plain()) is not None:
        sent = send_plain_candidates(plain, keys, **vars(query), with_vectors=with_vectors)
        return SentCandidates(query, ranks, keys, sent)
    wanted = [UUID(int=key) for key in keys]
    sources = (source.of_memories(wanted) for source in scope.sources())
    return SentCandidates(query, ranks, keys, _read(scope, sources, query, ranks, with_vectors=with_vectors))


def read_candidate_of_any_state(
    scope: SearchScope, memory_id: UUID, query: CandidateQuery, ranks: CandidateRanks
) -> Candidate:
    """Return the current version of a memory as a candidate, also an archived or expired one, or one out of scope."""
    rows = Memory.objects.for_tenant(scope.tenant_id).of_memories([memory_id]).with_end(scope.moment)
    return next(_candidates(rows, query, ranks))


def send_neighbours(
    scope: SearchScope,
    around: Iterable[Candidate],
    reach: int,
    query: CandidateQuery,
    ranks: CandidateRanks,
    *,
    known: Sequence[Candidate],
    with_vectors: bool,
) -> Callable[[], _WithVectors]:
    """Send the query for the memories within `reach` positions of given ones, at most `MAX_CANDIDATES`.

    Return what waits for them, by position, and their vectors; a pipelined scope may have been closed before. In a
    plain scope, those in `known` are excluded. With `with_vectors`, also for the vectors (as `read_vectors`) of those
    that have one.
    """
    places = {(row.partition_path, row.session, row.position) for row in around if row.session}
    spans = spans_around(((path, session, at) for path, session, at in places if at is not None), reach)
    if not spans:
        return lambda: ([], {})
    if (plain := scope.plain()) is not None:
        keys = [row.id.int for row in known]
        sent = send_plain_neighbours(plain, spans, keys, **vars(query), with_vectors=with_vectors)
        return lambda: _by_position(*_received(sent, query, ranks))
    sources = (rows.in_spans(scope.tenant_id, spans)[:MAX_CANDIDATES] for rows in scope.sources())
    found = _by_position(*_read(scope, sources, query, ranks, with_vectors=with_vectors))
    return lambda: found


def _by_position(found: list[Candidate], vectors: dict[UUID, EmbeddingVectors]) -> _WithVectors:
    found.sort(key=lambda row: (row.partition_path, row.session, row.position, row.created_at, row.id))
    return found[:MAX_CANDIDATES], vectors


def _read(
    scope: SearchScope,
    sources: Iterable[CandidateRows],
    query: CandidateQuery,
    ranks: CandidateRanks,
    *,
    with_vectors: bool,
) -> _WithVectors:
    found = [candidate for rows in sources for candidate in _candidates(rows, query, ranks)]
    versions = {row.id: row.version for row in found} if with_vectors else {}
    return found, read_vectors(scope.tenant_id, versions, query.model)


def read_vectors(tenant_id: UUID, versions: Mapping[UUID, int], model: str) -> dict[UUID, EmbeddingVectors]:
    """Return the vectors (float32, unit length) under `model` of a version of each memory, by id; one query."""
    if not versions:
        return {}
    rows = MemoryEmbedding.objects.for_tenant(tenant_id).of_versions(versions.items(), model)
    return {pk: vector for pk, number, vector in rows.vectors() if versions.get(pk) == number}


def read_memories(scope: SearchScope, ids: Iterable[UUID], query: CandidateQuery | None = None) -> list[Candidate]:
    """Return the memories of `ids` in scope, in that order, each once, with their similarity to `query`."""
    keys = dict.fromkeys(pk.int for pk in ids)
    return read_candidates(scope, keys, query or CandidateQuery(), CandidateRanks())


def read_memory_versions(
    tenant_id: UUID, versions: Mapping[UUID, int], moment: PointInTime, *, reach: str
) -> dict[UUID, Memory]:
    """Return memories by id in these versions, as `MemoryOutput` reads them: links are those of `moment` in `reach`.

    The rows are not for saving. Counters are current, and a memory that was archived later is not archived.
    """
    current = Memory.objects.for_tenant(tenant_id).with_answer_parts(reach, moment).with_ids(versions)
    rows = {row.pk: row for row in current}
    past = {pk: number for pk, number in versions.items() if pk in rows and rows[pk].version != number}
    vectors: dict[UUID, list[MemoryEmbedding]] = defaultdict(list)
    if past:
        stored = MemoryEmbedding.objects.for_tenant(tenant_id).of_versions(past.items()).defer("vector")
        for vector in stored:
            if past[vector.memory_id] == vector.version:
                vectors[vector.memory_id].append(vector)
        for version in MemoryVersion.objects.for_tenant(tenant_id).of_versions(past):
            if past[version.memory_id] == version.version:
                _set_version(rows[version.memory_id], version, vectors[version.memory_id])
    for row in rows.values():
        row.archived_at = row.valid_to = None
    return rows


def _set_version(row: Any, version: MemoryVersion, vectors: list[MemoryEmbedding]) -> None:
    for name in VERSION_COLUMNS:
        setattr(row, name, getattr(version, name))
    row.own_embeddings = vectors
    row.embedding_state = Memory.EmbeddingState.READY if vectors else Memory.EmbeddingState.PENDING


def read_page_at(
    sources: Iterable[CandidateRows],
    moment: PointInTime,
    tenant_id: UUID,
    *,
    reach: str,
    ordering: str,
    after: tuple[Any, Any] | None = None,
    is_backward: bool = False,
    count: int,
) -> list[Memory]:
    """Return a page of the memories of `sources`, as `TenantRows.page` does for one table."""
    sign, column = ("-" if ordering.startswith("-") else ""), ordering.removeprefix("-")
    is_down = bool(sign) != is_backward
    found: list[tuple[Any, UUID, int]] = []
    for rows in sources:
        own = rows.head + column if column in COUNTER_FIELDS else column
        page = rows.page(sign + own, after=after, is_backward=is_backward, count=count, tie=rows.identity)
        found += page.values_list(own, rows.identity, "version")
    found.sort(key=itemgetter(1), reverse=not is_down)
    found.sort(key=itemgetter(0), reverse=is_down)
    versions = {pk: version for _, pk, version in found[:count]}
    memories = read_memory_versions(tenant_id, versions, moment, reach=reach)
    return [memories[pk] for pk in versions if pk in memories]


def read_linked_memories(scope: SearchScope, memory_id: UUID, query: CandidateQuery | None = None) -> list[Candidate]:
    """Return the memories in scope that `memory_id` linked to: outgoing edges, one hop, in the order of creation."""
    edges = MemoryLink.objects.for_tenant(scope.tenant_id).at(scope.moment).from_memory(memory_id).in_order()
    return read_memories(scope, edges.targets(MAX_LINKS_FOLLOWED), query)


def send_successors(scope: SearchScope, ids: Iterable[UUID]) -> SentStatement:
    """Send the query for which of the memories supersede another of them by a link."""
    at = scope.moment.at if scope.moment.reads_history else None
    return send_superseding_links(scope.tenant_id, (pk.int for pk in ids), at)


def successors_of(sent: SentStatement) -> dict[UUID, list[UUID]]:
    """Return the newer ids by the id of the older one; a pipelined scope may have been closed before."""
    successors: dict[UUID, list[UUID]] = defaultdict(list)
    for older, newer in sent.rows():
        successors[older].append(newer)
    return successors


def read_partition_summaries(
    scope: SearchScope, path: str, *, levels: Collection[int], style: str
) -> list[PartitionSummary]:
    """Return the summaries of `path` and its ancestors at these levels in scope; level 0 is the first segment."""
    segments = parse_partition(path).segments
    lineage = [PartitionPath(segments[: level + 1]).path for level in range(len(segments)) if level in levels]
    paths = [partition for partition in lineage if is_within(partition, scope.path)]
    if not paths:
        return []
    rows = PartitionSummary.objects.for_tenant(scope.tenant_id).at(scope.moment).of_style(style)
    return list(rows.in_partitions(paths))


def read_summary(scope: SearchScope, summary_id: UUID) -> PartitionSummary | None:
    """Return the version of a summary that was current at the scope's time, with its partition; None without one."""
    rows = PartitionSummary.objects.for_tenant(scope.tenant_id).at(scope.moment).within(scope.path)
    summary: PartitionSummary | None = rows.of_summary(summary_id).first()
    return summary


def _received(sent: SentStatement, query: CandidateQuery, ranks: CandidateRanks) -> _WithVectors:
    held: dict[int | None, frozenset[str]] = {None: NO_LEXEMES, 0: NO_LEXEMES}
    vector_rank, text_rank, fused_score = ranks.by_vector.get, ranks.by_text.get, ranks.fused.get
    rows, candidates = sent.rows(), list[Candidate]()
    # one loop that calls no function of its own, because a context reads hundreds of rows
    for row in rows:
        bits, key = row[_HOLDS_PLACE], row[_ID_PLACE].int
        if type(bits) is list:
            bits = sum(1 << place - 1 for place in bits)
        if bits not in held:  # most rows contain the same ones
            held[bits] = frozenset([lexeme for place, lexeme in enumerate(query.lexemes) if bits >> place & 1])
        counts = dict(zip(ENCODINGS, row[_COUNTS_PLACE:_HOLDS_PLACE], strict=False))
        values = (*row[:_COUNTS_PLACE], counts, held[bits], vector_rank(key), text_rank(key), fused_score(key))
        candidate = Candidate.__new__(Candidate)
        # instead of twenty guarded assignments; replacing `__dict__` takes twice as long
        candidate.__dict__.update(zip(_CANDIDATE_NAMES, values, strict=False))
        candidates.append(candidate)
    having = [(one.id, row[-1]) for one, row in zip(candidates, rows, strict=True) if row[-1] is not None]
    if not having:
        return candidates, {}
    ids, vectors = zip(*having, strict=True)
    return candidates, dict(zip(ids, half_vectors(vectors), strict=True))


def _candidates(rows: CandidateRows, query: CandidateQuery, ranks: CandidateRanks) -> Iterator[Candidate]:
    near = rows.without_similarity() if query.vector is None else rows.with_similarity_to(query.vector, query.model)
    for row in near.candidate_values(query.lexemes):
        key = row["id"].int
        yield Candidate(
            token_counts={encoding: row.pop(f"tokens_{encoding}") for encoding in ENCODINGS},
            holds=frozenset(row.pop("holds")),
            vector_rank=ranks.by_vector.get(key),
            text_rank=ranks.by_text.get(key),
            fused_score=ranks.fused.get(key),
            **row,
        )
