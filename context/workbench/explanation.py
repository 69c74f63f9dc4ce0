"""Explain why a context includes or excludes a memory, for any memory and query. Changes nothing (ADR-0139)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from context.assembly.candidates import find_candidates, score_among_candidates
from context.assembly.layout import MEMORIES_SECTION, build_layout
from context.assembly.orchestrator import assemble_resolved_context, record_preview
from context.assembly.requests import ResolvedContextRequest, resolve_context_request
from context.assembly.sources import ContextCaller
from context.receipts.results import (
    MEMORY,
    Anchor,
    AssembledContext,
    CandidateOutcome,
    ContextRequest,
    Exclusion,
)
from context.services.packer import AFTER_SKIP_LIMIT, OVER_BUDGET
from context.services.workbench.exclusion_reasons import (
    ExclusionReason,
    RequestedScope,
    exclusion_reason,
    exclusion_sentence,
)
from context.workbench.inclusion_budget import InclusionBudget, find_inclusion_budget
from memories.models import Memory, MemoryLink
from memories.search.memory_ranks import read_memory_ranks
from memories.search.queries.shared_results import shared_results
from memories.services.store.drafts import SUPERSEDES
from memories.services.store.moments import PointInTime
from memories.store.readings import Candidate
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope

#: Reasons that a larger budget may remove.
BUDGET_REASONS = (OVER_BUDGET, AFTER_SKIP_LIMIT, ExclusionReason.FARTHER)
#: Maximum successors that are read.
_SUCCESSORS_MAX = 1


@dataclass(frozen=True)
class MemoryStanding:
    """Ranks in the retrievers (None: not found by it), score and tokens of a memory, considered or not.

    `superseded_by` is the candidate behind which the profile ranks it.
    """

    vector_rank: int | None
    text_rank: int | None
    score: float | None
    score_breakdown: Mapping[str, float] | None
    superseded_by: str | None = None

    def as_answer(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "superseded_by"}


@dataclass(frozen=True)
class MemoryExplanation:
    """Why `context` includes a memory (`reason` is "" and `position` counts from 1) or excludes it.

    `successor` superseded the memory, by a link or according to the profile; `twin` is the included near-duplicate.
    `standing` is what the memory has as a candidate or, if `is_estimated`, would have. `inclusion` is set for the
    reasons of `BUDGET_REASONS`.
    """

    memory: Memory
    context: AssembledContext
    reason: str
    position: int | None
    standing: MemoryStanding
    is_estimated: bool
    exclusion: Exclusion | None = None
    successor: Memory | None = None
    twin: Memory | None = None
    inclusion: InclusionBudget | None = None

    @property
    def is_included(self) -> bool:
        return not self.reason

    @property
    def is_searched(self) -> bool:
        """Whether the context searches the partition of the memory."""
        return requested_scope(self.context).covers(self.memory.partition_path)

    @property
    def tokens(self) -> int:
        """Tokens of the memory's text, in the encoding that the context was counted with."""
        counts = self.memory.token_counts
        return counts.get(self.context.budget.tokenizer, next(iter(counts.values())))

    @property
    def candidates(self) -> int:
        return len(self.context.candidates)

    @property
    def lowest_score(self) -> float | None:
        """The lowest score of an included memory that is not pinned; None without one."""
        pinned = {one.anchor.id for one in self.context.candidates if one.pinned}
        blocks = [block for block in self.context.blocks if block.anchor.id not in pinned]
        return min((block.score for block in blocks if block.score is not None), default=None)

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        missing = self.exclusion.tokens_missing if self.exclusion else None
        return exclusion_sentence(
            self.reason,
            position=self.position,
            partition=self.memory.partition_path,
            candidates=self.candidates,
            tokens_missing=missing,
            score=self.standing.score,
            minimum_score=self.context.minimum_score,
            superseded_on=None if self.successor is None else self.successor.created_at,
        )

    def as_answer(self) -> dict[str, Any]:
        """Return the answer of `POST context/explain`."""
        memory, context, inclusion = self.memory, self.context, self.inclusion
        return {
            "memory": {
                "id": str(memory.pk),
                "version": memory.version,
                "partition": memory.partition_path,
                "pinned": memory.pinned,
                "archived_at": memory.archived_at,
                "expires_at": memory.expires_at,
                "embedding_state": memory.embedding_state,
                "tokens": self.tokens,
            },
            "included": self.is_included,
            "position": self.position,
            "reason": self.reason or None,
            "detail": self.sentence,
            **self.standing.as_answer(),
            "is_estimated": self.is_estimated,
            "lowest_included_score": self.lowest_score,
            "minimum_score": context.minimum_score,
            "candidates": self.candidates,
            "tokens_missing": self.exclusion.tokens_missing if self.exclusion else None,
            "superseded_by": None if self.successor is None else _anchor(self.successor),
            "near_duplicate_of": None if self.twin is None else _anchor(self.twin),
            "inclusion_budget": None if inclusion is None else inclusion.as_answer(),
            "budget": context.budget.as_answer(),
            "profile": context.profile,
            "budget_profile": context.budget_profile,
            "warnings": [notice.as_answer() for notice in context.warnings],
        }


def explain_memory(
    request: ContextRequest, memory_id: UUID, caller: ContextCaller, *, clock: Callable[[], float]
) -> MemoryExplanation:
    """Return why the context of `request` includes or excludes a memory. Call it with no scope open.

    It assembles a preview, ranks the memory in the searched partitions if it is not a candidate, and finds its
    inclusion budget. `clock` returns seconds. Raises `NotFound` for a memory out of the caller's reach, else as
    `assemble_context` does.
    """
    tenant_id, reach = caller.tenant_id, caller.reach
    with tenant_scope(tenant_id):
        memory, successor = _read(tenant_id, memory_id, reach)
    resolved = resolve_context_request(replace(request, preview=True, explain=False), caller)
    anchor = str(memory_id)
    with shared_results():
        context = assemble_resolved_context(resolved)
        record_preview(context, caller)
        block = next((one for one in context.blocks if one.anchor.id == anchor), None)
        exclusion = next((one for one in context.omitted if one.anchor.id == anchor), None)
        candidate = next((one for one in context.candidates if one.anchor.id == anchor), None)
        reason = "" if block else _reason(memory, successor, exclusion, requested_scope(context))
        standing = _standing(candidate) if candidate else _estimated(resolved, memory)
        inclusion = None
        if reason in BUDGET_REASONS:
            inclusion = find_inclusion_budget(resolved, anchor, clock=clock, is_known_excluded=True)
    successor = successor or _successor(tenant_id, standing.superseded_by, reach)
    return MemoryExplanation(
        memory=memory,
        context=context,
        reason=reason,
        position=block.position + 1 if block else None,
        standing=standing,
        is_estimated=candidate is None,
        exclusion=exclusion,
        successor=successor,
        twin=_twin(tenant_id, exclusion),
        inclusion=inclusion,
    )


def requested_scope(context: AssembledContext, recorded_at: datetime | None = None) -> RequestedScope:
    """Return the time and the partitions that a context covers; `recorded_at` if it shows the data of that time."""
    request = context.request
    moment = PointInTime.recorded(recorded_at or context.created_at)
    if as_of := request.get("as_of"):
        moment = PointInTime.valid(datetime.fromisoformat(as_of))
    return RequestedScope(
        moment, request.get("partition", ""), bool(request.get("exact")), request.get("segments") or {}
    )


def _read(tenant_id: UUID, memory_id: UUID, reach: str) -> tuple[Memory, Memory | None]:
    rows = Memory.objects.for_tenant(tenant_id).within(reach)
    memory = find_row(rows.with_id(memory_id), Memory, field="memory_id")
    links = MemoryLink.objects.for_tenant(tenant_id).current().to_memory(memory_id).of_kind(SUPERSEDES)
    return memory, rows.with_ids(links.in_order().sources(_SUCCESSORS_MAX)).first()


def _successor(tenant_id: UUID, memory_id: str | None, reach: str) -> Memory | None:
    if memory_id is None:
        return None
    with tenant_scope(tenant_id):
        row: Memory | None = Memory.objects.for_tenant(tenant_id).within(reach).with_id(UUID(memory_id)).first()
    return row


def _twin(tenant_id: UUID, exclusion: Exclusion | None) -> Memory | None:
    if exclusion is None or exclusion.twin is None or exclusion.twin.type != MEMORY:
        return None
    with tenant_scope(tenant_id):
        row: Memory | None = Memory.objects.for_tenant(tenant_id).with_id(exclusion.twin.id).first()
    return row


def _reason(memory: Memory, successor: Memory | None, exclusion: Exclusion | None, scope: RequestedScope) -> str:
    if exclusion is not None:
        return exclusion.reason
    reason = exclusion_reason(memory, scope)
    return ExclusionReason.SUPERSEDED if reason is ExclusionReason.ARCHIVED and successor is not None else reason


def _standing(candidate: CandidateOutcome) -> MemoryStanding:
    breakdown, successor = dict(candidate.score_breakdown), candidate.superseded_by
    return MemoryStanding(candidate.vector_rank, candidate.text_rank, candidate.score, breakdown, successor)


def _estimated(resolved: ResolvedContextRequest, memory: Memory) -> MemoryStanding:
    """Return the ranks and the score that a memory would have if the context considered it."""
    if resolved.query is None:
        return MemoryStanding(None, None, None, None)
    budget = build_layout(resolved).budget_of(MEMORIES_SECTION)
    retrieval, _ = find_candidates(resolved, budget)
    with tenant_scope(resolved.caller.tenant_id):
        found: Candidate = read_memory_ranks(resolved.scope, memory, resolved.query, retrieval.query)
    scored = score_among_candidates(resolved, retrieval, found)
    successor = None if scored.superseded_by is None else str(scored.superseded_by)
    return MemoryStanding(found.vector_rank, found.text_rank, scored.composite_score, scored.breakdown(), successor)


def _anchor(memory: Memory) -> dict[str, Any]:
    return Anchor(MEMORY, str(memory.pk), memory.version).as_answer()
