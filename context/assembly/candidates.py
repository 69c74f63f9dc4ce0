"""The candidates of a context: found by the search, linked from the focus, scored, and compared with each other."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from django.db import Error as DatabaseFailure

from context.assembly.requests import ResolvedContextRequest
from context.assembly.sources import database_error_code
from context.receipts.results import ContextWarning
from context.services.assembly.near_duplicates import NearDuplicates
from context.services.assembly.profiled_scorer import ProfiledScorer, ScoringQuestion, needs_vectors
from context.services.assembly.section_budgets import SectionBudget
from context.services.packer import ELASTIC
from context.services.profiles.scoring_profiles import ScoringProfile
from context.services.scorer import MemoryScorer, ScoredMemory
from memories.embeddings.embedders import active_model_name, embedder_of_model
from memories.embeddings.providers import EmbeddingError, EmbeddingVectors
from memories.search.retrieval import CandidateGate, Retrieval, RetrievalRequest, retrieve
from memories.services.search.fusion import MAX_CANDIDATES, MIN_CANDIDATES, gate_by_tokens, gate_cost
from memories.store.readings import Candidate, SearchScope, read_linked_memories, read_vectors
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)

SEARCH_FAILED = ContextWarning(
    "search_failed", "The search failed; the context holds what needs none and pinned memories."
)
PINNED_FAILED = ContextWarning("pinned_failed", "Pinned memories could not be read either.")
LINKED_FAILED = ContextWarning("linked_failed", "Linked memories could not be read and are left out.")
DUPLICATES_FAILED = ContextWarning(
    "duplicates_failed", "Near duplicates could not be told, so some may stand in the context."
)


@dataclass(frozen=True)
class FoundCandidates:
    """What the search returned, with the plan but for its timings, and what went wrong."""

    retrieval: Retrieval
    notices: Sequence[ContextWarning] = ()
    milliseconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def candidates(self) -> Sequence[Candidate]:
        """The candidates in fused order."""
        return self.retrieval.candidates


@dataclass(frozen=True)
class ScoredCandidates:
    """Scored memories, pinned ones first: those the focus links to, and those found that may be packed."""

    linked: Sequence[ScoredMemory]
    memories: Sequence[ScoredMemory]
    is_pool: bool


@dataclass(frozen=True)
class QueryScorer:
    """Scores memories for a question by a profile; ages are reckoned from when it was asked.

    `vectors` are those of the memories, by id, where the profile compares them with each other.
    """

    profile: ScoringProfile
    question: ScoringQuestion
    vectors: Mapping[UUID, EmbeddingVectors] = field(default_factory=dict)

    def score(self, memories: Sequence[Mapping[str, Any]]) -> Sequence[ScoredMemory]:
        """Return the memories with their scores, highest first; the default profile scores as in ADR-0040."""
        if self.profile.is_default:
            return MemoryScorer(clock=lambda: self.question.asked_at).score(memories)
        return ProfiledScorer(self.profile).score(memories, self.question, self.vectors)


def find_candidates(request: ResolvedContextRequest, tenant_id: UUID, budget: SectionBudget) -> FoundCandidates:
    """Return the candidates; if the search fails, the pinned memories; if that fails too, none."""
    if request.query is None and request.top_k == 0:
        return FoundCandidates(Retrieval([], {"mode": "none"}))
    try:
        return _retrieve(request, tenant_id, budget, query=request.query)
    except DatabaseFailure as error:
        logger.warning("search failed: %s %s", type(error).__name__, database_error_code(error))
    try:
        found = _retrieve(request, tenant_id, budget, query=None)
    except DatabaseFailure as error:
        logger.warning("pinned memories failed: %s %s", type(error).__name__, database_error_code(error))
        return FoundCandidates(Retrieval([], {"failed": True}), [SEARCH_FAILED, PINNED_FAILED])
    pinned = [candidate for candidate in found.candidates if candidate.pinned]
    return FoundCandidates(
        Retrieval(pinned, found.retrieval.plan | {"failed": True}), [SEARCH_FAILED], found.milliseconds
    )


def _retrieve(
    request: ResolvedContextRequest, tenant_id: UUID, budget: SectionBudget, *, query: str | None
) -> FoundCandidates:
    given, scoring = request.given, request.scoring
    gate = CandidateGate(
        tokens=budget.gate_budget,
        overfetch_ratio=request.profile.overfetch_ratio,
        limit=_limit(request, query),
        marker_tokens=budget.marker_tokens,
        pool_size=scoring.pool_size,
        encoding=budget.encoding,
    )
    retrieval = retrieve(
        RetrievalRequest(
            SearchScope(tenant_id, request.partition.path, request.moment, given.exact, given.segments),
            query,
            gate,
            with_pinned=True,
            neighbour_reach=scoring.neighbour_reach,
            with_vectors=query is not None and needs_vectors(scoring),
            embedder=partial(embedder_of_model, request.sources.embedding_model),
        )
    )
    notices = [ContextWarning(warning.code, warning.detail) for warning in retrieval.warnings]
    steps = {name: entry for name, entry in retrieval.plan.items() if isinstance(entry, dict)}
    milliseconds = {name: entry["ms"] for name, entry in steps.items() if "ms" in entry}
    return FoundCandidates(replace(retrieval, plan=plan_without_timings(retrieval.plan)), notices, milliseconds)


def _limit(request: ResolvedContextRequest, query: str | None) -> int | None:
    """Return how many candidates, where tokens do not decide: all without a query, few where texts are shortened."""
    if query is None:
        return MAX_CANDIDATES
    if request.scoring.pool_size:
        return None
    return request.packing.candidates_min if request.packing.packer == ELASTIC else None


def plan_without_timings(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan without milliseconds, so that it is the same each time."""
    return {
        name: {key: value for key, value in entry.items() if key != "ms"} if isinstance(entry, dict) else entry
        for name, entry in plan.items()
    }


def find_linked_memories(
    request: ResolvedContextRequest, tenant_id: UUID, found: FoundCandidates
) -> tuple[Sequence[Candidate], list[ContextWarning]]:
    """Return the memories that the focus links to, with their similarity to the query; none and a notice on failure."""
    focus = request.sources.memory
    if focus is None or not request.wants_linked:
        return [], []
    try:
        with tenant_scope(tenant_id):
            scope = SearchScope(tenant_id, request.reach, request.moment)
            return read_linked_memories(scope, focus.id, replace(found.retrieval.query, lexemes=())), []
    except DatabaseFailure as error:
        logger.warning("linked memories failed: %s %s", type(error).__name__, database_error_code(error))
        return [], [LINKED_FAILED]


def score_candidates(
    request: ResolvedContextRequest, found: FoundCandidates, linked: Sequence[Candidate]
) -> ScoredCandidates:
    """Return all candidates with their scores."""
    retrieval = found.retrieval
    question = ScoringQuestion(request.query or "", request.moment.at, retrieval.query.lexemes)
    scorer = QueryScorer(request.scoring, question, retrieval.vectors)
    memories = rank_candidates(retrieval.candidates, scorer, top_k=request.top_k)
    is_pool = request.query is not None and request.scoring.pool_size > 0
    return ScoredCandidates(rank_candidates(linked, scorer), memories, is_pool)


def rank_candidates(
    candidates: Sequence[Candidate], scorer: QueryScorer, *, top_k: int | None = None
) -> list[ScoredMemory]:
    """Return the candidates with their scores, pinned ones first, then by score; at most `top_k`."""
    return sorted(scorer.score(candidates), key=lambda item: not item.memory["pinned"])[:top_k]


def gate_scored_candidates(
    request: ResolvedContextRequest, budget: SectionBudget, scored: ScoredCandidates
) -> ScoredCandidates:
    """Return the same with only those of a pool that the budget admits by score."""
    if not scored.is_pool:
        return scored
    memories = gate_ranked_candidates(
        scored.memories,
        budget,
        overfetch_ratio=request.profile.overfetch_ratio,
        minimum=request.packing.candidates_min,
    )
    return replace(scored, memories=memories)


def gate_ranked_candidates(
    ranked: Sequence[ScoredMemory], budget: SectionBudget, *, overfetch_ratio: float, minimum: int = MIN_CANDIDATES
) -> list[ScoredMemory]:
    """Return the pinned memories of a pool, and the best others by score that the gate admits."""
    room, encoding, marker_tokens = budget.gate_budget, budget.encoding, budget.marker_tokens
    costs = {
        item.memory["id"]: gate_cost(item.memory["token_counts"][encoding] + marker_tokens, budget=room)
        for item in ranked
        if not item.memory["pinned"]
    }
    chosen = set(gate_by_tokens(list(costs), costs, budget=room, overfetch_ratio=overfetch_ratio, minimum=minimum))
    return [item for item in ranked if item.memory["pinned"] or item.memory["id"] in chosen]


def find_near_duplicates(
    request: ResolvedContextRequest, tenant_id: UUID, scored: ScoredCandidates, found: FoundCandidates
) -> tuple[NearDuplicates, list[ContextWarning]]:
    """Return which of the candidates and the focus are near duplicates; none, with a notice, on failure."""
    threshold = request.profile.near_duplicate_threshold
    focus = [request.sources.memory] if request.sources.memory else []
    memories: dict[UUID, Mapping[str, Any]] = {row.id: row for row in focus}
    memories |= {item.memory["id"]: item.memory for item in (*scored.linked, *scored.memories)}
    if threshold >= 1 or len(memories) < 2:
        return NearDuplicates({}, threshold), []
    read = found.retrieval.vectors
    known = {memory_id: read[memory_id] for memory_id in memories if memory_id in read}
    unread = {memory_id: row["version"] for memory_id, row in memories.items() if memory_id not in known}
    try:
        if unread:
            name = found.retrieval.query.model or active_model_name(tenant_id)
            with tenant_scope(tenant_id):
                known |= read_vectors(tenant_id, unread, name)
        return NearDuplicates(known, threshold), []
    except (DatabaseFailure, EmbeddingError) as error:
        logger.warning("near duplicates failed: %s %s", type(error).__name__, database_error_code(error))
        return NearDuplicates({}, 1.0), [DUPLICATES_FAILED]
