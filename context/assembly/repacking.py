"""Packing what was read for one wish again at other budgets: in memory, with the packers of every context (ADR-0087).

What is read once, at the largest budget in question, holds what smaller budgets read: the search goes down one ranking
until its tokens reach the budget. Near the edge another budget may rank a little differently, so whoever tells a person
a budget assembles it once for real.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from uuid import UUID

from context.assembly.candidates import (
    RetrievedMemories,
    find_candidate_similarity,
    find_candidates,
    find_linked_memories,
)
from context.assembly.layout import (
    MEMORIES_SECTION,
    ContextLayout,
    ScoredCandidates,
    build_layout,
    gate_scored_candidates,
    pack_sections,
    score_retrieved,
)
from context.assembly.requests import ResolvedContextRequest
from context.assembly.sections import Section, SectionBudget
from context.assembly.sections.packing import ELASTIC
from context.assembly.trimming import TrimmedContext, trim_blocks_to_budget
from context.profiles.token_counters import budget_calculator
from context.receipts.results import ContextWarning
from context.services.assembly.near_duplicates import NearDuplicates
from memories.services.search.fusion import gate_by_tokens, gate_cost
from memories.store.readings import Candidate


@dataclass(frozen=True)
class RepackableContext:
    """What was found for `wish` at its budget, scored once; packs at that budget and at smaller ones."""

    wish: ResolvedContextRequest
    tenant_id: UUID
    found: RetrievedMemories
    scored: ScoredCandidates
    likeness: NearDuplicates
    notices: Sequence[ContextWarning]

    def holds(self, anchor_id: str, max_tokens: int) -> bool:
        """Whether the memory, summary or memo of this id stands in the text at a budget."""
        sections = self.sections_at(max_tokens)
        if not any(block.anchor.id == anchor_id for section in sections for block in section.blocks):
            return False
        return any(block.anchor.id == anchor_id for block in self._fit(sections, max_tokens).blocks)

    def knows(self, anchor_id: str) -> bool:
        """Whether anything of this id was found, so that it may stand in the text at some budget."""
        candidates = (*self.found.candidates, *self.scored.candidates)
        if any(str(candidate.id) == anchor_id for candidate in candidates):
            return True
        sections = self.sections_at(self.wish.max_tokens)
        anchors = [block.anchor for section in sections for block in section.blocks]
        anchors += [row.anchor for section in sections for row in section.omitted]
        return any(anchor.id == anchor_id for anchor in anchors)

    def fitted_at(self, max_tokens: int) -> TrimmedContext:
        """The text at a budget, with its blocks."""
        return self._fit(self.sections_at(max_tokens), max_tokens)

    def sections_at(self, max_tokens: int) -> list[Section]:
        """Everything kept and left out at a budget."""
        wish = replace(self.wish, max_tokens=max_tokens)
        layout = build_layout(wish, budget_calculator())
        return pack_sections(wish, layout, self._ranking(wish, layout), self.found, self.likeness)

    def _fit(self, sections: Sequence[Section], max_tokens: int) -> TrimmedContext:
        blocks = [block for section in sections for block in section.blocks]
        return trim_blocks_to_budget(
            blocks, replace(self.wish, max_tokens=max_tokens), self.tenant_id, budget_calculator()
        )

    def _ranking(self, wish: ResolvedContextRequest, layout: ContextLayout) -> ScoredCandidates:
        """What the gates let through at a smaller budget, with the scores it has."""
        if wish.query is None:
            return self.scored
        gated = _gated(self.found.candidates, wish, layout.room_for(MEMORIES_SECTION), is_pool=self.scored.is_pool)
        memories = [item for item in self.scored.memories if item.memory["id"] in gated]
        ranking = replace(self.scored, memories=memories)
        return gate_scored_candidates(wish, layout, ranking) if ranking.is_pool else ranking


def prepare_repacking(wish: ResolvedContextRequest, tenant_id: UUID, now: datetime) -> RepackableContext:
    """Read once for `wish`, at its budget; called with no scope open."""
    wish = replace(wish, packing=replace(wish.packing, is_explained=False))
    layout = build_layout(wish, budget_calculator())
    found = find_candidates(wish, tenant_id, layout.room_for(MEMORIES_SECTION), now)
    linked, linked_notices = find_linked_memories(wish, tenant_id, found)
    scored = score_retrieved(wish, layout.whole, found, linked)
    likeness, likeness_notices = find_candidate_similarity(wish, tenant_id, scored.candidates, found)
    notices = [*wish.notices, *found.notices, *linked_notices, *likeness_notices]
    return RepackableContext(wish, tenant_id, found, scored, likeness, notices)


def _gated(
    candidates: Sequence[Candidate], wish: ResolvedContextRequest, room: SectionBudget, *, is_pool: bool
) -> set[UUID]:
    """Ids of what a search with this room finds: of the pinned and of what was found each the best by tokens."""
    if wish.packing.packer == ELASTIC and not is_pool:
        return {one.id for one in candidates}  # a number of them, whatever the budget
    budget = room.gate_budget
    costs = {
        one.id: gate_cost(one.token_counts[room.encoding] + room.marker_tokens, budget=budget) for one in candidates
    }
    by_tokens = partial(gate_by_tokens, tokens_by_id=costs, budget=budget, overfetch_ratio=wish.profile.overfetch_ratio)
    pinned = by_tokens([one.id for one in candidates if one.pinned])
    others = [one.id for one in sorted((one for one in candidates if one.fused_score is not None), key=_place)]
    if is_pool:
        return {*pinned, *others, *(one.id for one in candidates if not one.pinned)}
    return {*pinned, *by_tokens(others)}


def _place(candidate: Candidate) -> tuple[float, int]:
    """Fused order: the best score first, ties by the better rank in either arm."""
    ranks = [rank for rank in (candidate.vector_rank, candidate.text_rank) if rank is not None]
    return -(candidate.fused_score or 0.0), min(ranks, default=0)
