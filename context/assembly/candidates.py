"""The candidates of a context: found by the search, linked from the focus, scored, and compared with each other."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from django.db import Error as DatabaseFailure

from context.assembly.requests import ResolvedContextRequest
from context.assembly.sources import log_failure
from context.receipts.results import ContextWarning
from context.services.assembly.near_duplicates import NearDuplicates
from context.services.assembly.profiled_scorer import Choice, ProfiledScorer, needs_vectors
from context.services.assembly.section_budgets import SectionBudget
from context.services.assembly.signals.columns import ScoringQuestion
from context.services.scorer import ScoredMemory
from memories.embeddings.embedders import active_model_name, embedder_of_model
from memories.embeddings.providers import EmbeddingError
from memories.search.retrieval import CandidateGate, Retrieval, RetrievalRequest, retrieve
from memories.services.search.fusion import MAX_CANDIDATES, MIN_CANDIDATES, gate_by_tokens
from memories.store.readings import Candidate, read_linked_memories, read_vectors, send_successors, successors_of
from memories.store.search_scope import SearchScope
from memories.tenancy.scopes import tenant_scope

SEARCH_FAILED = ContextWarning(
    "search_failed", "The search failed. The context contains pinned memories and the sections that need no search."
)
PINNED_FAILED = ContextWarning("pinned_failed", "Pinned memories could not be read either.")
LINKED_FAILED = ContextWarning("linked_failed", "Linked memories could not be read and are excluded.")
SUCCESSORS_FAILED = ContextWarning(
    "successors_failed", "Links between the candidates could not be read; only their texts say what is superseded."
)
DUPLICATES_FAILED = ContextWarning(
    "duplicates_failed", "Near duplicates could not be identified, so the context may include some."
)


@dataclass(frozen=True)
class GatheredCandidates:
    """The candidates of a request; scored memories are in score order, pinned ones first.

    `linked` are those that the focus links to, `memories` those of the search that may be packed.
    """

    retrieval: Retrieval
    linked: Sequence[ScoredMemory]
    memories: Sequence[ScoredMemory]
    duplicates: NearDuplicates
    notices: Sequence[ContextWarning]


def gather_candidates(
    request: ResolvedContextRequest,
    budget: SectionBudget,
    step: Callable[[str], AbstractContextManager[str | None]],
    *,
    is_gated: bool,
) -> GatheredCandidates:
    """Return the candidates for a budget, each step within `step`; a failed step yields fewer candidates and a warning.

    With `is_gated`, only candidates of a pool that the budget admits are kept.
    """
    with step("retrieve"):
        retrieval, notices = find_candidates(request, budget)
    with step("linked"):
        linked, linked_notices = _find_linked_memories(request, retrieval)
        successors, successor_notices = _find_successors(request, retrieval)
    with step("score"):
        question = ScoringQuestion(request.query or "", request.moment.at, retrieval.query.lexemes)
        scorer = ProfiledScorer(request.scoring, question, retrieval.vectors, successors)
        scored_linked = rank_candidates(linked, scorer)
        gate = partial(_admitted_places, request, budget) if is_gated and request.is_pool else None
        memories = rank_candidates(retrieval.candidates, scorer, top_k=request.top_k, gate=gate)
    with step("likeness"):
        shown = (*scored_linked, *memories)
        duplicates, duplicate_notices = _find_near_duplicates(request, shown, retrieval)
    notices = [*request.notices, *notices, *linked_notices, *successor_notices, *duplicate_notices]
    return GatheredCandidates(retrieval, scored_linked, memories, duplicates, notices)


def find_candidates(request: ResolvedContextRequest, budget: SectionBudget) -> tuple[Retrieval, list[ContextWarning]]:
    """Return the candidates; if the search fails, the pinned memories; if that fails too, none."""
    if request.sources.partition is None or (request.query is None and request.top_k == 0):
        return Retrieval([], {"mode": "none"}), []
    try:
        found = _retrieve(request, budget, query=request.query)
        return found, [ContextWarning(warning.code, warning.detail) for warning in found.warnings]
    except DatabaseFailure as error:
        log_failure("search", error)
    try:
        found = _retrieve(request, budget, query=None)
    except DatabaseFailure as error:
        log_failure("pinned memories", error)
        return Retrieval([], {"failed": True}), [SEARCH_FAILED, PINNED_FAILED]
    pinned = [candidate for candidate in found.candidates if candidate.pinned]
    return Retrieval(pinned, found.plan | {"failed": True}), [SEARCH_FAILED]


def _retrieve(request: ResolvedContextRequest, budget: SectionBudget, *, query: str | None) -> Retrieval:
    scoring = request.scoring
    gate = CandidateGate(
        tokens=budget.gate_budget,
        overfetch_ratio=request.profile.overfetch_ratio,
        limit=MAX_CANDIDATES if query is None else None if scoring.pool_size else request.packing.candidates_max,
        minimum=request.packing.candidates_min,
        tokens_each_max=request.packing.candidate_tokens_max,
        marker_tokens=budget.marker_tokens,
        pool_size=scoring.pool_size,
        encoding=budget.encoding,
    )
    return retrieve(
        RetrievalRequest(
            request.scope,
            query,
            gate,
            with_pinned=True,
            adjacent_turn_reach=scoring.adjacent_turn_reach,
            # vectors are read with the rows, because near duplicates are found by them
            with_vectors=query is not None and (needs_vectors(scoring) or request.profile.near_duplicate_threshold < 1),
            with_lexemes=not scoring.is_default,
            embedder=partial(embedder_of_model, request.sources.embedding_model),
        )
    )


def plan_timings(plan: Mapping[str, Any]) -> dict[str, float]:
    """Return the milliseconds of each step of a retrieval plan."""
    return {name: entry["ms"] for name, entry in plan.items() if isinstance(entry, dict) and "ms" in entry}


def plan_without_timings(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan without milliseconds, so that it is the same each time."""
    return {
        name: {key: value for key, value in entry.items() if key != "ms"} if isinstance(entry, dict) else entry
        for name, entry in plan.items()
    }


def _find_linked_memories(
    request: ResolvedContextRequest, retrieval: Retrieval
) -> tuple[Sequence[Candidate], list[ContextWarning]]:
    focus = request.sources.memory
    if focus is None or not request.wants_linked:
        return [], []
    try:
        with tenant_scope(request.caller.tenant_id):
            scope = SearchScope(request.caller.tenant_id, request.caller.reach, request.moment)
            return read_linked_memories(scope, focus.id, replace(retrieval.query, lexemes=())), []
    except DatabaseFailure as error:
        log_failure("linked memories", error)
        return [], [LINKED_FAILED]


def _find_successors(
    request: ResolvedContextRequest, retrieval: Retrieval
) -> tuple[Mapping[UUID, Sequence[UUID]], list[ContextWarning]]:
    """Return which candidates supersede others by a link, if the profile asks; none, with a warning, on failure."""
    if not request.scoring.superseded_min or len(retrieval.candidates) < 2:
        return {}, []
    try:
        scope = SearchScope(request.caller.tenant_id, request.partition.path, request.moment)
        with tenant_scope(request.caller.tenant_id, is_pipelined=True):
            sent = send_successors(scope, [row.id for row in retrieval.candidates])
        return successors_of(sent), []
    except DatabaseFailure as error:
        log_failure("successors", error)
        return {}, [SUCCESSORS_FAILED]


def rank_candidates(
    candidates: Sequence[Candidate], scorer: ProfiledScorer, *, top_k: int | None = None, gate: Choice | None = None
) -> Sequence[ScoredMemory]:
    """Return the candidates with their scores, pinned ones first, then by score; at most `top_k` that the gate admits.

    Most candidates of a pool are not admitted at a small budget, so only those that are become scored memories.
    """

    def choose(ranked: Sequence[Mapping[str, Any]]) -> list[int]:
        places = sorted(range(len(ranked)), key=lambda place: not ranked[place]["pinned"])[:top_k]
        return places if gate is None else [places[number] for number in gate([ranked[place] for place in places])]

    # plain dictionaries are faster: scoring and packing read about 4,000 fields of the candidates of a context
    return scorer.score([vars(candidate) for candidate in candidates], choose)


def score_among_candidates(request: ResolvedContextRequest, retrieval: Retrieval, more: Candidate) -> ScoredMemory:
    """Return `more` as it would be scored among the candidates of a search. Call with no scope open."""
    together = replace(retrieval, candidates=[*retrieval.candidates, more])
    successors, _ = _find_successors(request, together)
    vectors = dict(retrieval.vectors)
    if retrieval.query.model and needs_vectors(request.scoring):
        with tenant_scope(request.caller.tenant_id):
            vectors |= read_vectors(request.caller.tenant_id, {more.id: more.version}, retrieval.query.model)
    question = ScoringQuestion(request.query or "", request.moment.at, retrieval.query.lexemes)
    scored = rank_candidates(together.candidates, ProfiledScorer(request.scoring, question, vectors, successors))
    return next(item for item in scored if item.memory["id"] == more.id)


def gate_scored_candidates(
    request: ResolvedContextRequest, budget: SectionBudget, ranked: Sequence[ScoredMemory]
) -> Sequence[ScoredMemory]:
    """Return only those of a pool that the budget admits by score."""
    if not request.is_pool:
        return ranked
    return [ranked[place] for place in _admitted_places(request, budget, [item.memory for item in ranked])]


def _admitted_places(
    request: ResolvedContextRequest, budget: SectionBudget, ranked: Sequence[Mapping[str, Any]]
) -> list[int]:
    packing, ratio = request.packing, request.profile.overfetch_ratio
    return admitted_places(
        ranked, budget, overfetch_ratio=ratio, minimum=packing.candidates_min, most=packing.candidate_tokens_max
    )


def admitted_places(
    ranked: Sequence[Mapping[str, Any]],
    budget: SectionBudget,
    *,
    overfetch_ratio: float,
    minimum: int = MIN_CANDIDATES,
    most: int | None = None,
) -> list[int]:
    """Return the places of the pinned memories of a pool, then of the best others by score that the gate admits."""
    encoding = budget.encoding
    pinned = [place for place, memory in enumerate(ranked) if memory["pinned"]]
    others = [place for place, memory in enumerate(ranked) if not memory["pinned"]]
    admitted = gate_by_tokens(
        others,
        (ranked[place]["token_counts"][encoding] for place in others),
        budget=budget.gate_budget,
        overfetch_ratio=overfetch_ratio,
        minimum=minimum,
        marker_tokens=budget.marker_tokens,
        most=most,
    )
    return [*pinned, *admitted]


def _find_near_duplicates(
    request: ResolvedContextRequest, scored: Iterable[ScoredMemory], retrieval: Retrieval
) -> tuple[NearDuplicates, list[ContextWarning]]:
    """Return which of the candidates and the focus are near duplicates; none, with a warning, on failure."""
    threshold = request.profile.near_duplicate_threshold
    focus = [request.sources.memory] if request.sources.memory else []
    memories: dict[UUID, Mapping[str, Any]] = {row.id: row for row in focus}
    memories |= {item.memory["id"]: item.memory for item in scored}
    if threshold >= 1 or len(memories) < 2:
        return NearDuplicates({}, threshold), []
    read = retrieval.vectors
    known = {memory_id: vector for memory_id in memories if (vector := read.get(memory_id)) is not None}
    unread: dict[UUID, int] = {}
    if len(known) < len(memories):
        # the search has read every vector that its results have
        searched = {row.id for row in retrieval.candidates} if retrieval.query.vector is not None else set()
        have = known.keys() | searched
        unread = {memory_id: row["version"] for memory_id, row in memories.items() if memory_id not in have}
    try:
        if unread:
            name = retrieval.query.model or active_model_name(request.caller.tenant_id)
            with tenant_scope(request.caller.tenant_id):
                known |= read_vectors(request.caller.tenant_id, unread, name)
        return NearDuplicates(known, threshold, lambda memory_id: str(memories[memory_id]["content"])), []
    except (DatabaseFailure, EmbeddingError) as error:
        log_failure("near duplicates", error)
        return NearDuplicates({}, 1.0), [DUPLICATES_FAILED]
