"""Packing the candidates of one request again at smaller budgets, in memory (ADR-0087).

Rows read at the largest budget include those that smaller budgets read, because the search goes down one ranking until
its tokens reach the budget. Ranks near that limit may differ a little, so a budget that is reported to a person is
assembled once for real.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from context.assembly.candidates import (
    FoundCandidates,
    ScoredCandidates,
    find_candidates,
    find_linked_memories,
    find_near_duplicates,
    gate_scored_candidates,
    score_candidates,
)
from context.assembly.layout import MEMORIES_SECTION, TrimmedContext, build_layout, pack_sections, trim_blocks_to_budget
from context.assembly.requests import ResolvedContextRequest
from context.profiles.token_counters import budget_calculator
from context.receipts.results import ContextWarning, Section
from context.services.assembly.near_duplicates import NearDuplicates
from context.services.assembly.section_budgets import SectionBudget
from context.services.packer import ELASTIC
from memories.services.search.fusion import gate_by_tokens, gate_cost
from memories.store.readings import Candidate


@dataclass(frozen=True)
class RepackableContext:
    """The rows of `request` at its budget, scored once; they can be packed at that budget and at smaller ones."""

    request: ResolvedContextRequest
    tenant_id: UUID
    found: FoundCandidates
    linked: Sequence[Candidate]
    scored: ScoredCandidates
    duplicates: NearDuplicates
    notices: Sequence[ContextWarning]

    def includes(self, anchor_id: str, max_tokens: int) -> bool:
        """Whether the text at a budget includes the memory, summary or memo of this id."""
        sections = self.sections_at(max_tokens)
        if not any(block.anchor.id == anchor_id for section in sections for block in section.blocks):
            return False
        return any(block.anchor.id == anchor_id for block in self._trim(sections, max_tokens).blocks)

    def knows(self, anchor_id: str) -> bool:
        """Whether anything of this id was found, so that the text may include it at some budget."""
        if any(str(candidate.id) == anchor_id for candidate in (*self.found.retrieval.candidates, *self.linked)):
            return True
        sections = self.sections_at(self.request.max_tokens)
        anchors = [block.anchor for section in sections for block in section.blocks]
        anchors += [row.anchor for section in sections for row in section.omitted]
        return any(anchor.id == anchor_id for anchor in anchors)

    def trimmed_at(self, max_tokens: int) -> TrimmedContext:
        """Return the text at a budget, with its blocks."""
        return self._trim(self.sections_at(max_tokens), max_tokens)

    def sections_at(self, max_tokens: int) -> list[Section]:
        """Return everything included and excluded at a budget."""
        request = replace(self.request, max_tokens=max_tokens)
        layout = build_layout(request, budget_calculator())
        scored = self._gated(request, layout.budget_of(MEMORIES_SECTION))
        return pack_sections(request, layout, scored, self.found, self.duplicates)

    def _trim(self, sections: Sequence[Section], max_tokens: int) -> TrimmedContext:
        request = replace(self.request, max_tokens=max_tokens)
        return trim_blocks_to_budget(sections, request, self.tenant_id, budget_calculator())

    def _gated(self, request: ResolvedContextRequest, budget: SectionBudget) -> ScoredCandidates:
        if request.query is None:
            return self.scored
        admitted = _admitted_ids(self.found.retrieval.candidates, request, budget)
        memories = [item for item in self.scored.memories if item.memory["id"] in admitted]
        return gate_scored_candidates(request, budget, replace(self.scored, memories=memories))


def prepare_repacking(request: ResolvedContextRequest, tenant_id: UUID) -> RepackableContext:
    """Read once for `request`, at its budget. Call with no scope open."""
    request = replace(request, packing=replace(request.packing, is_explained=False))
    layout = build_layout(request, budget_calculator())
    found = find_candidates(request, tenant_id, layout.budget_of(MEMORIES_SECTION))
    linked, linked_notices = find_linked_memories(request, tenant_id, found)
    scored = score_candidates(request, found, linked)
    duplicates, duplicate_notices = find_near_duplicates(request, tenant_id, scored, found)
    notices = [*request.notices, *found.notices, *linked_notices, *duplicate_notices]
    return RepackableContext(request, tenant_id, found, linked, scored, duplicates, notices)


def _admitted_ids(candidates: Sequence[Candidate], request: ResolvedContextRequest, budget: SectionBudget) -> set[UUID]:
    """Return the ids that a search with this budget finds: the best by tokens of the pinned and of the results each."""
    if request.packing.packer == ELASTIC and not request.is_pool:
        return {one.id for one in candidates}  # their number does not depend on the budget
    tokens, encoding = budget.gate_budget, budget.encoding
    costs = {one.id: gate_cost(one.token_counts[encoding] + budget.marker_tokens, budget=tokens) for one in candidates}
    ratio = request.profile.overfetch_ratio
    by_tokens = partial(gate_by_tokens, tokens_by_id=costs, budget=tokens, overfetch_ratio=ratio)
    pinned = by_tokens([one.id for one in candidates if one.pinned])
    others = [one.id for one in sorted((one for one in candidates if one.fused_score is not None), key=_fused_order)]
    if request.is_pool:
        return {*pinned, *others, *(one.id for one in candidates if not one.pinned)}
    return {*pinned, *by_tokens(others)}


def _fused_order(candidate: Candidate) -> tuple[float, int]:
    ranks = [rank for rank in (candidate.vector_rank, candidate.text_rank) if rank is not None]
    return -(candidate.fused_score or 0.0), min(ranks, default=0)
