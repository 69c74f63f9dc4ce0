"""What a search finds for a context, and what is known of the memories around it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import Error as DatabaseFailure

from context.assembly.requests import ResolvedContextRequest
from context.assembly.sections import SectionBudget
from context.assembly.sections.packing import ELASTIC
from context.assembly.sources import database_error_code
from context.receipts.results import ContextWarning
from context.services.assembly.near_duplicates import NearDuplicates
from context.services.assembly.profiled_scorer import needs_vectors
from memories.embeddings.embedders import active_model_name, embedder_of_model
from memories.embeddings.providers import EmbeddingError
from memories.embeddings.providers.protocol import EmbeddingVectors
from memories.search.lookup import linked_memories, version_vectors
from memories.search.retrieval import retrieve
from memories.services.search.fusion import MAX_CANDIDATES
from memories.store.readings import Candidate
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
class RetrievedMemories:
    """What the search gave: candidates, how they were found, and what went wrong."""

    candidates: Sequence[Candidate]
    plan: dict[str, Any]
    notices: Sequence[ContextWarning]
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    query_vector: EmbeddingVectors | None = None
    model: str = ""
    lexemes: Sequence[str] = ()
    vectors: Mapping[UUID, EmbeddingVectors] = field(default_factory=dict)


def find_candidates(
    wish: ResolvedContextRequest, tenant_id: UUID, room: SectionBudget, now: datetime
) -> RetrievedMemories:
    """The candidates; when the search fails, the pinned memories; when that fails too, nothing."""
    if not wish.has_memories:
        return RetrievedMemories([], {"mode": "none"}, [])
    try:
        return _retrieve(wish, tenant_id, room, now, query=wish.query)
    except DatabaseFailure as error:
        logger.warning("search failed: %s %s", type(error).__name__, database_error_code(error))
    try:
        found = _retrieve(wish, tenant_id, room, now, query=None)
    except DatabaseFailure as error:
        logger.warning("pinned memories failed: %s %s", type(error).__name__, database_error_code(error))
        return RetrievedMemories([], {"failed": True}, [SEARCH_FAILED, PINNED_FAILED])
    pinned = [candidate for candidate in found.candidates if candidate.pinned]
    return RetrievedMemories(pinned, found.plan | {"failed": True}, [SEARCH_FAILED], found.milliseconds)


def _retrieve(
    wish: ResolvedContextRequest, tenant_id: UUID, room: SectionBudget, now: datetime, *, query: str | None
) -> RetrievedMemories:
    retrieval = retrieve(
        tenant_id=tenant_id,
        query=query,
        partition=wish.partition,
        exact=wish.request.exact,
        segments=wish.request.segments,
        now=now,
        token_budget=room.gate_budget,
        marker_tokens=room.marker_tokens,
        overfetch_ratio=wish.profile.overfetch_ratio,
        encoding=room.encoding,
        limit=_limit(wish, query),
        pool_size=wish.scoring.pool_size,
        neighbour_reach=wish.scoring.neighbour_reach,
        with_vectors=query is not None and needs_vectors(wish.scoring),
        with_pinned=True,
        moment=wish.moment,
        embedder=partial(embedder_of_model, wish.sources.embedding_model),
    )
    notices = [ContextWarning(warning.code, warning.detail) for warning in retrieval.warnings]
    return RetrievedMemories(
        retrieval.candidates,
        plan_without_timings(retrieval.plan),
        notices,
        _times(retrieval.plan),
        retrieval.query_vector,
        retrieval.model,
        retrieval.lexemes,
        retrieval.vectors,
    )


def _limit(wish: ResolvedContextRequest, query: str | None) -> int | None:
    """How many candidates, where their tokens do not decide: all without a query, few where texts are shortened."""
    if query is None:
        return MAX_CANDIDATES
    if wish.scoring.pool_size:
        return None
    return wish.packing.candidates_min if wish.packing.packer == ELASTIC else None


def find_linked_memories(
    wish: ResolvedContextRequest, tenant_id: UUID, found: RetrievedMemories
) -> tuple[Sequence[Candidate], list[ContextWarning]]:
    """The memories that the focus links to, with their similarity to the query; none and a notice where that fails."""
    if not wish.has_linked:
        return [], []
    try:
        with tenant_scope(tenant_id):
            return _linked(wish, tenant_id, found), []
    except DatabaseFailure as error:
        logger.warning("linked memories failed: %s %s", type(error).__name__, database_error_code(error))
        return [], [LINKED_FAILED]


def find_candidate_similarity(
    wish: ResolvedContextRequest, tenant_id: UUID, candidates: Sequence[Candidate], found: RetrievedMemories
) -> tuple[NearDuplicates, list[ContextWarning]]:
    """Which of the candidates, and the focus, say nearly the same; nothing does, with a notice, where that fails."""
    try:
        return _likeness(wish, tenant_id, candidates, found), []
    except (DatabaseFailure, EmbeddingError) as error:
        logger.warning("near duplicates failed: %s %s", type(error).__name__, database_error_code(error))
        return NearDuplicates({}, 1.0), [DUPLICATES_FAILED]


def _linked(wish: ResolvedContextRequest, tenant_id: UUID, found: RetrievedMemories) -> list[Candidate]:
    focus = wish.sources.memory
    if focus is None:
        return []
    return linked_memories(
        tenant_id=tenant_id,
        memory_id=focus.id,
        moment=wish.moment,
        reach=wish.reach,
        query_vector=found.query_vector,
        model=found.model,
    )


def _likeness(
    wish: ResolvedContextRequest, tenant_id: UUID, candidates: Sequence[Candidate], found: RetrievedMemories
) -> NearDuplicates:
    threshold = wish.profile.near_duplicate_threshold
    focus = [wish.sources.memory] if wish.sources.memory else []
    versions = list(dict.fromkeys((row.id, row.version) for row in [*focus, *candidates]))
    if threshold >= 1 or len(versions) < 2:
        return NearDuplicates({}, threshold)
    known = {memory_id: found.vectors[memory_id] for memory_id, _ in versions if memory_id in found.vectors}
    unread = [version for version in versions if version[0] not in known]
    if unread:
        name = found.model or active_model_name(tenant_id)
        with tenant_scope(tenant_id):
            known |= {pk: vector for (pk, _), vector in version_vectors(unread, name, tenant_id=tenant_id).items()}
    return NearDuplicates(known, threshold)


def plan_without_timings(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan as it is the same every time: how it ran, not how long."""
    return {name: _without_ms(entry) if isinstance(entry, dict) else entry for name, entry in plan.items()}


def _without_ms(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "ms"}


def _times(plan: Mapping[str, Any]) -> dict[str, float]:
    """Milliseconds of the search's own steps."""
    return {name: entry["ms"] for name, entry in plan.items() if isinstance(entry, dict) and "ms" in entry}
