"""Pack the candidates of one request again at smaller budgets, without reading rows again (ADR-0087).

Rows read at the largest budget include those that smaller budgets read, because the search goes down one ranking until
its tokens reach the budget. Ranks near that limit may differ a little, so the context of a budget is assembled before
the budget is shown to a person.
"""

from collections.abc import Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self
from uuid import UUID

from context.assembly.candidates import GatheredCandidates, gate_scored_candidates, gather_candidates
from context.assembly.layout import MEMORIES_SECTION, TrimmedContext, build_layout, pack_sections, trim_blocks_to_budget
from context.assembly.requests import ResolvedContextRequest
from context.receipts.results import Section
from context.services.assembly.section_budgets import SectionBudget
from memories.services.search.fusion import gate_by_tokens
from memories.store.readings import Candidate


@dataclass(frozen=True)
class RepackableContext:
    """The rows of `request` at its budget, scored once; they can be packed at that budget and at smaller ones."""

    request: ResolvedContextRequest
    candidates: GatheredCandidates

    def includes(self, anchor_id: str, max_tokens: int) -> bool:
        """Whether the text at a budget includes the memory, summary or memo of this id."""
        sections = self.sections_at(max_tokens)
        if not any(block.anchor.id == anchor_id for section in sections for block in section.blocks):
            return False
        return any(block.anchor.id == anchor_id for block in self._trim(sections, max_tokens).blocks)

    def knows(self, anchor_id: str) -> bool:
        """Return whether this id is a candidate, so that some budget may include it."""
        found = {one.id for one in self.candidates.retrieval.candidates}
        found |= {item.memory["id"] for item in self.candidates.linked}
        if anchor_id in map(str, found):
            return True
        layout = build_layout(self.request)
        sections = pack_sections(self.request, layout, replace(self.candidates, memories=[]))  # memo, summaries, focus
        anchors = [block.anchor for section in sections for block in section.blocks]
        anchors += [row.anchor for section in sections for row in section.omitted]
        return any(anchor.id == anchor_id for anchor in anchors)

    def trimmed_at(self, max_tokens: int) -> TrimmedContext:
        """Return the text at a budget, with its blocks."""
        return self._trim(self.sections_at(max_tokens), max_tokens)

    def sections_at(self, max_tokens: int) -> list[Section]:
        """Return everything included and excluded at a budget."""
        request, candidates = replace(self.request, max_tokens=max_tokens), self.candidates
        layout = build_layout(request)
        if request.query is not None:
            budget = layout.budget_of(MEMORIES_SECTION)
            admitted = self._admitted_ids(request, budget)
            memories = [item for item in candidates.memories if item.memory["id"] in admitted]
            candidates = replace(candidates, memories=gate_scored_candidates(request, budget, memories))
        return pack_sections(request, layout, candidates)

    def _admitted_ids(self, request: ResolvedContextRequest, budget: SectionBudget) -> Set[UUID]:
        """Return the ids that a search with this budget finds: the best by tokens of the pinned and of the results."""
        packing = request.packing
        if packing.candidates_max is not None and not request.is_pool:
            return self._candidate_ids  # their number does not depend on the budget
        tokens, ratio = budget.gate_budget, request.profile.overfetch_ratio

        def by_tokens(ranked: _RankedTokens) -> list[UUID]:
            return gate_by_tokens(
                ranked.ids,
                ranked.tokens,
                budget=tokens,
                overfetch_ratio=ratio,
                minimum=packing.candidates_min,
                marker_tokens=budget.marker_tokens,
                most=packing.candidate_tokens_max,
            )

        pinned, others = self._ranked
        chosen = by_tokens(pinned)
        if request.is_pool:
            return {*chosen, *others.ids, *(one.id for one in self.candidates.retrieval.candidates if not one.pinned)}
        return {*chosen, *by_tokens(others)}

    @cached_property
    def _candidate_ids(self) -> Set[UUID]:
        return {one.id for one in self.candidates.retrieval.candidates}

    @cached_property
    def _ranked(self) -> tuple["_RankedTokens", "_RankedTokens"]:
        """The pinned candidates, and the results of the query in fused order."""
        found = self.candidates.retrieval.candidates
        encoding = build_layout(self.request).whole.encoding
        results = sorted((one for one in found if one.fused_score is not None), key=_fused_order)
        return (
            _RankedTokens.of([one for one in found if one.pinned], encoding),
            _RankedTokens.of(results, encoding),
        )

    def _trim(self, sections: Sequence[Section], max_tokens: int) -> TrimmedContext:
        return trim_blocks_to_budget(sections, replace(self.request, max_tokens=max_tokens))


def prepare_repacking(request: ResolvedContextRequest) -> RepackableContext:
    """Read once for `request`, at its budget. Call with no scope open."""
    request = replace(request, packing=replace(request.packing, is_explained=False))
    budget = build_layout(request).budget_of(MEMORIES_SECTION)
    return RepackableContext(request, gather_candidates(request, budget, nullcontext, is_gated=False))


class _RankedTokens(NamedTuple):
    """Candidates in the order in which a gate admits them, with their tokens."""

    ids: Sequence[UUID]
    tokens: Sequence[int]

    @classmethod
    def of(cls, candidates: Sequence[Candidate], encoding: str) -> Self:
        return cls([one.id for one in candidates], [one.token_counts[encoding] for one in candidates])


def _fused_order(candidate: Candidate) -> tuple[float, int]:
    ranks = [rank for rank in (candidate.vector_rank, candidate.text_rank) if rank is not None]
    return -(candidate.fused_score or 0.0), min(ranks, default=0)
