"""Search of memories: retrieve -> score -> threshold -> the best, without budget and receipt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from typing import Any

from context.assembly.sources import ContextCaller
from context.models import BudgetProfile
from context.profiles.scoring_profiles import resolve_scoring_profile
from context.receipts.results import ContextWarning
from context.services.assembly.profiled_scorer import ProfiledScorer, needs_vectors
from context.services.assembly.signals.columns import ScoringQuestion
from context.services.scorer import ScoredMemory
from memories.models import Memory
from memories.search.retrieval import CandidateGate, RetrievalRequest, retrieve, search_conditions
from memories.services.partitions.paths import PartitionPath
from memories.services.search.fusion import MIN_CANDIDATES
from memories.services.store.moments import PointInTime
from memories.store.readings import read_memory_versions, send_successors, successors_of
from memories.store.search_scope import SearchScope
from memories.tenancy.audit import record_search
from memories.tenancy.scopes import tenant_scope

#: The scorer ranks this many times `top_k` of the best by fused rank: more would let old counters and fresh dates push
#: relevant memories aside (ADR-0059).
OVERFETCH_RATIO: float = BudgetProfile._meta.get_field("overfetch_ratio").default


@dataclass(frozen=True)
class SearchRequest:
    """A search: `filters` as in `services.search.filters`, `threshold` of the composite, "" the assigned profile.

    With `as_of`, the memories that were true then are searched, and ages count from it.
    """

    query: str
    partition: PartitionPath
    exact: bool = False
    segments: Mapping[str, str] = field(default_factory=dict)
    filters: Mapping[str, Any] = field(default_factory=dict)
    top_k: int = 10
    threshold: float | None = None
    mode: str = "hybrid"
    profile: str = ""
    as_of: datetime | None = None


@dataclass(frozen=True)
class ScoredSearchResult:
    """A memory and its score."""

    memory: Memory
    scored: ScoredMemory

    def as_answer(self, *, explain: bool = False) -> dict[str, Any]:
        """Return the score and its components; `explain` adds cosine and ranks."""
        names = ("similarity", "vector_rank", "text_rank", "fused_score")
        more = {"explain": {name: self.scored.memory[name] for name in names}} if explain else {}
        return {"score": self.scored.composite_score, "score_breakdown": self.scored.breakdown(), **more}


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first; the retrieval plan; warnings."""

    hits: Sequence[ScoredSearchResult]
    plan: Mapping[str, Any]
    warnings: Sequence[ContextWarning]


def search_scored_memories(request: SearchRequest, caller: ContextCaller) -> SearchResult:
    """Return the best `top_k` memories for a query, with their links within the caller's reach.

    Call with no scope open; stores an audit entry and counts nothing.

    Raises `InvalidInput` for a profile that is not published, or filters that cannot be applied.
    """
    tenant_id, by, now, reach, _ = caller
    path, query = request.partition.path, request.query
    with tenant_scope(tenant_id):
        profile = resolve_scoring_profile(tenant_id, request.profile, path, caller.api_key_id)
    conditions = search_conditions(request.filters)
    moment = PointInTime.now(now) if request.as_of is None else PointInTime.valid(request.as_of)
    scope = SearchScope(tenant_id, path, moment, request.exact, request.segments, conditions)
    limit = None if profile.pool_size else max(ceil(request.top_k * OVERFETCH_RATIO), MIN_CANDIDATES)
    gate = CandidateGate(overfetch_ratio=OVERFETCH_RATIO, limit=limit, pool_size=profile.pool_size)
    turns, with_vectors = profile.adjacent_turn_reach, needs_vectors(profile)
    found = retrieve(
        RetrievalRequest(scope, query, gate, mode=request.mode, adjacent_turn_reach=turns, with_vectors=with_vectors)
    )
    successors = {}
    if profile.superseded_min:
        with tenant_scope(tenant_id, is_pipelined=True):
            sent = send_successors(scope, [row.id for row in found.candidates])
        successors = successors_of(sent)
    scorer = ProfiledScorer(profile, ScoringQuestion(query, moment.at, found.query.lexemes), found.vectors, successors)
    least = request.threshold or 0.0
    scored = [item for item in scorer.score(found.candidates) if item.composite_score >= least][: request.top_k]
    versions = {item.memory["id"]: item.memory["version"] for item in scored}
    with tenant_scope(tenant_id):
        if moment.reads_history:
            memories = read_memory_versions(tenant_id, versions, moment, reach=reach)
        else:  # memories archived since the search are missing
            rows = Memory.objects.for_tenant(tenant_id).unarchived().with_answer_parts(reach)
            memories = {row.pk: row for row in rows.with_ids(versions)}
    record_search("search_memories", query, path, results=len(memories), tenant_id=tenant_id, by=by, now=now)
    hits = [ScoredSearchResult(memories[item.memory["id"]], item) for item in scored if item.memory["id"] in memories]
    return SearchResult(hits, found.plan, [ContextWarning(warning.code, warning.detail) for warning in found.warnings])
