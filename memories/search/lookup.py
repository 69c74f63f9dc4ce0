"""Reading by name what a context may hold besides what a search finds: memories by id, links, summaries, vectors.

Everything here runs inside a scope of the tenant, in a fixed number of queries, at any moment. What lies outside of
`reach`, the partition prefix of the key, is as absent as what does not exist.
"""

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from memories.embeddings.providers.protocol import EmbeddingVectors
from memories.models import MemoryEmbedding, MemoryLink, PartitionSummary
from memories.services.partitions.paths import PartitionPath, is_within, parse_partition
from memories.services.store.moments import PointInTime
from memories.store.readings import Candidate, CandidateQuery, CandidateRanks, SearchScope, read_candidates

#: Edges that are followed from one memory; an agent may draw any number of them.
MAX_LINKS_FOLLOWED = 200


def memories_at_time(
    *,
    tenant_id: UUID,
    ids: Iterable[UUID],
    moment: PointInTime,
    reach: str,
    query_vector: EmbeddingVectors | None = None,
    model: str = "",
) -> list[Candidate]:
    """Those of the memories that held at `moment` within `reach`, in the order of `ids`, each once.

    With the vector of a query (`Retrieval.query_vector` and its `model`) they come with their similarity to it.
    """
    keys = list(dict.fromkeys(pk.int for pk in ids))
    return read_candidates(
        SearchScope(tenant_id, reach, moment), keys, CandidateQuery(query_vector, model), CandidateRanks()
    )


def linked_memories(
    *,
    tenant_id: UUID,
    memory_id: UUID,
    moment: PointInTime,
    reach: str,
    query_vector: EmbeddingVectors | None = None,
    model: str = "",
) -> list[Candidate]:
    """The memories that `memory_id` linked to at `moment`: outgoing edges, one hop, in the order they were drawn."""
    edges = MemoryLink.objects.for_tenant(tenant_id).at(moment).from_memory(memory_id).in_order()
    return memories_at_time(
        tenant_id=tenant_id,
        ids=edges.targets(MAX_LINKS_FOLLOWED),
        moment=moment,
        reach=reach,
        query_vector=query_vector,
        model=model,
    )


def read_partition_summaries(
    *, tenant_id: UUID, path: str, levels: Collection[int], style: str, moment: PointInTime, reach: str
) -> list[PartitionSummary]:
    """The summaries of `path` and the partitions above it at the given levels, from the root down.

    Level 0 is the first segment, as everywhere; the tenant's root has none.
    """
    paths = [place for place in _lineage(path, levels) if is_within(place, reach)]
    if not paths:
        return []
    rows = PartitionSummary.objects.for_tenant(tenant_id).at(moment).of_style(style)
    return list(rows.in_partitions(paths))


def _lineage(path: str, levels: Collection[int]) -> list[str]:
    segments = parse_partition(path).segments
    return [PartitionPath(segments[: level + 1]).path for level in range(len(segments)) if level in levels]


def summary_at_time(*, tenant_id: UUID, summary_id: UUID, moment: PointInTime, reach: str) -> PartitionSummary | None:
    """The version of a summary that held at `moment`, with its partition; None where there was none within `reach`."""
    rows = PartitionSummary.objects.for_tenant(tenant_id).at(moment).within(reach)
    found: PartitionSummary | None = rows.of_summary(summary_id).first()
    return found


def version_vectors(
    versions: Sequence[tuple[UUID, int]], model: str, *, tenant_id: UUID
) -> dict[tuple[UUID, int], EmbeddingVectors]:
    """The vectors of the given versions (memory id, version) under `model`; those without one are absent."""
    wanted = set(versions)
    rows = MemoryEmbedding.objects.for_tenant(tenant_id).of_versions(wanted, model)
    return {(pk, number): vector for pk, number, vector in rows.vectors() if (pk, number) in wanted}
