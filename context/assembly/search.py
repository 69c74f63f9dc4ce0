"""The conductor of a search: retrieve -> score -> threshold -> the best. Like a context without budget and receipt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from typing import Any
from uuid import UUID

from context.assembly.scoring import QueryScorer
from context.models import BudgetProfile
from context.profiles.scoring_profiles import resolve_scoring_profile
from context.receipts.results import ContextWarning, build_score_breakdown
from context.services.assembly.profiled_scorer import ScoringQuestion, needs_vectors
from context.services.scorer import ScoredMemory
from memories.models import Memory
from memories.search.retrieval import Candidate, retrieve
from memories.services.partitions.paths import PartitionPath
from memories.services.search.fusion import MIN_CANDIDATES
from memories.tenancy.scopes import tenant_scope

#: The formula chooses among this many times `top_k` of the best by fused rank: as for a context, more would let old
#: counters and fresh dates push aside what the query asks for (ADR-0059).
OVERFETCH_RATIO: float = BudgetProfile._meta.get_field("overfetch_ratio").default


@dataclass(frozen=True)
class SearchRequest:
    """What is looked for and where.

    `filters` as in `services.search.filters`, `threshold` is on the composite, `profile` "" is the one assigned.
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


@dataclass(frozen=True)
class SearchHit:
    """A memory that was found, with its score and how the search found it."""

    memory: Memory
    scored: ScoredMemory
    candidate: Candidate

    def as_answer(self, *, explain: bool = False) -> dict[str, Any]:
        """Score and parts; `explain` adds cosine and ranks."""
        answer = {"score": self.scored.composite_score, "score_breakdown": build_score_breakdown(self.scored)}
        if not explain:
            return answer
        names = ("similarity", "vector_rank", "text_rank", "fused_score")
        return {**answer, "explain": {name: getattr(self.candidate, name) for name in names}}


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first; how they were found; what went wrong."""

    hits: Sequence[SearchHit]
    plan: Mapping[str, Any]
    warnings: Sequence[ContextWarning]


def search_scored_memories(
    wish: SearchRequest, *, tenant_id: UUID, now: datetime, api_key_id: str | None = None
) -> SearchResult:
    """The best `top_k` memories for a query. Called with no scope open; stores and counts nothing.

    Raises `InvalidInput` for a profile that is not published, or filters that cannot be asked.
    """
    with tenant_scope(tenant_id):
        profile = resolve_scoring_profile(
            tenant_id, name=wish.profile, partition_path=str(wish.partition), api_key_id=api_key_id
        )
    found = retrieve(
        tenant_id=tenant_id,
        query=wish.query,
        partition=wish.partition,
        exact=wish.exact,
        segments=wish.segments,
        now=now,
        token_budget=0,
        overfetch_ratio=OVERFETCH_RATIO,
        mode=wish.mode,
        filters=wish.filters,
        limit=None if profile.pool_size else max(ceil(wish.top_k * OVERFETCH_RATIO), MIN_CANDIDATES),
        pool_size=profile.pool_size,
        neighbour_reach=profile.neighbour_reach,
        with_vectors=needs_vectors(profile),
    )
    candidates = {candidate.id: candidate for candidate in found.candidates}
    scoring = QueryScorer(profile, ScoringQuestion(wish.query, now, found.lexemes), found.vectors)
    scored = scoring.score([candidate.as_mapping for candidate in candidates.values()])
    best = [item for item in scored if wish.threshold is None or item.composite_score >= wish.threshold][: wish.top_k]
    memories = _memories(tenant_id, [item.memory["id"] for item in best])
    hits = [
        SearchHit(memories[item.memory["id"]], item, candidates[item.memory["id"]])
        for item in best
        if item.memory["id"] in memories
    ]
    return SearchResult(hits, found.plan, [ContextWarning(warning.code, warning.detail) for warning in found.warnings])


def _memories(tenant_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Memory]:
    """The rows with all that an answer shows; one archived since the search is left out."""
    with tenant_scope(tenant_id):
        rows = Memory.objects.for_tenant(tenant_id).unarchived().with_ids(ids).with_answer_parts()
        return {row.pk: row for row in rows}
