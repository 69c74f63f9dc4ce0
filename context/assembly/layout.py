"""From what was read to the sections of a context: rooms, rankings and packings at one budget. Reads nothing itself.

The conductor of a context goes through this once; whoever wants to know what another budget would hold goes through it
again with the same candidates (ADR-0087).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from context.assembly.candidates import RetrievedMemories
from context.assembly.requests import ResolvedContextRequest
from context.assembly.scoring import QueryScorer
from context.assembly.sections import (
    IncludedMemories,
    Section,
    SectionBudget,
    fit_whole_blocks,
    focus_block,
    gate_ranked_candidates,
    memo_block,
    pack_memories,
    rank_candidates,
    summary_block,
)
from context.receipts.results import LINKED_MEMORY, MEMORY, Anchor
from context.services.assembly.near_duplicates import NearDuplicates
from context.services.assembly.profiled_scorer import ScoringQuestion
from context.services.assembly.section_budgets import SectionAllocation
from context.services.budget import BudgetCalculator
from context.services.rendering import EXPECTED_OVERHEAD_TOKENS
from context.services.scorer import ScoredMemory
from memories.store.readings import Candidate

#: Sections of a context in order of importance, as budget profiles name them.
_MEMO, SUMMARIES, FOCUS, LINKED, MEMORIES_SECTION = CONTEXT_SECTION_ORDER = (
    "tenant_memo",
    "partition_summaries",
    "focus",
    "linked_memories",
    "memories",
)


@dataclass(frozen=True)
class ContextLayout:
    """The room of a context and who has how much of it; memo, summaries and focus stand in theirs already."""

    whole: SectionBudget
    allotment: SectionAllocation
    texts: Sequence[Section]

    def room_for(self, section: str) -> SectionBudget:
        """What a section may use as things stand."""
        return self.whole.of(self.allotment.room_for(section))


def build_layout(wish: ResolvedContextRequest, calculator: BudgetCalculator) -> ContextLayout:
    """The rooms at the budget of `wish`."""
    fence_tokens, marker_tokens = EXPECTED_OVERHEAD_TOKENS[wish.request.render]
    whole = SectionBudget(wish.max_tokens - fence_tokens, marker_tokens, wish.model, calculator)
    allotment = SectionAllocation(
        whole.tokens, CONTEXT_SECTION_ORDER, wish.profile.sections, shares_of=wish.request.shares_of
    )
    return ContextLayout(whole, allotment, _text_sections(wish, whole, allotment))


def _text_sections(wish: ResolvedContextRequest, whole: SectionBudget, allotment: SectionAllocation) -> list[Section]:
    """Memo, summaries and focus: whole texts, each section within its own room."""
    sources = wish.sources
    rows = {
        _MEMO: [memo_block(sources.memo, whole)] if sources.memo else [],
        SUMMARIES: [summary_block(summary, whole) for summary in sources.summaries],
        FOCUS: [summary_block(sources.summary, whole)] if sources.summary else [],
    }
    if sources.memory is not None:
        rows[FOCUS] = [focus_block(sources.memory, whole)]
    sections = []
    for name, blocks in rows.items():
        sections.append(fit_whole_blocks(blocks, whole.of(allotment.room_for(name))))
        allotment.take(name, sections[-1].tokens)
    return sections


@dataclass(frozen=True)
class ScoredCandidates:
    """Scored memories, pinned ones first: those the focus links to, and of those that were found the ones in play."""

    linked: Sequence[ScoredMemory]
    memories: Sequence[ScoredMemory]
    is_pool: bool

    @property
    def candidates(self) -> list[Candidate]:
        """The candidates of both."""
        return [item.memory["candidate"] for item in (*self.linked, *self.memories)]


def score_candidates(
    wish: ResolvedContextRequest, layout: ContextLayout, found: RetrievedMemories, linked: Sequence[Candidate]
) -> ScoredCandidates:
    """What is there, scored; of a pool larger than the budget asks for, what the gate lets through by score."""
    scored = score_retrieved(wish, layout.whole, found, linked)
    return gate_scored_candidates(wish, layout, scored) if scored.is_pool else scored


def score_retrieved(
    wish: ResolvedContextRequest, whole: SectionBudget, found: RetrievedMemories, linked: Sequence[Candidate]
) -> ScoredCandidates:
    """Everything that was found, scored; which of a pool is in play takes a budget."""
    scoring = QueryScorer(wish.scoring, ScoringQuestion(wish.query or "", wish.moment.at, found.lexemes), found.vectors)
    memories = rank_candidates(found.candidates, whole, scoring, top_k=wish.top_k)
    is_pool = wish.query is not None and wish.scoring.pool_size > 0
    return ScoredCandidates(rank_candidates(linked, whole, scoring), memories, is_pool)


def gate_scored_candidates(
    wish: ResolvedContextRequest, layout: ContextLayout, ranking: ScoredCandidates
) -> ScoredCandidates:
    """What of a scored pool the gate lets through by score."""
    memories = gate_ranked_candidates(
        ranking.memories,
        layout.room_for(MEMORIES_SECTION),
        overfetch_ratio=wish.profile.overfetch_ratio,
        minimum=wish.packing.candidates_min,
    )
    return replace(ranking, memories=memories)


def pack_sections(
    wish: ResolvedContextRequest,
    layout: ContextLayout,
    ranking: ScoredCandidates,
    found: RetrievedMemories,
    likeness: NearDuplicates,
) -> list[Section]:
    """All sections in order of importance: the texts, linked memories, and those that were found."""
    beside = IncludedMemories(_shown(wish, layout.texts, found), likeness)
    linked = pack_memories(
        ranking.linked,
        layout.room_for(LINKED),
        # links were drawn by somebody: no score stops them, and they do not compete with what was searched
        replace(wish.packing, minimum_score=0.0, pinned_share=1.0, is_explained=False),
        kind=LINKED_MEMORY,
        beside=beside,
    )
    layout.allotment.take(LINKED, linked.tokens)
    memories = pack_memories(
        ranking.memories,
        layout.room_for(MEMORIES_SECTION),
        wish.packing,
        beside=replace(beside, included={**beside.included, **_included([linked])}),
    )
    return [*layout.texts, linked, memories]


def _shown(wish: ResolvedContextRequest, sections: Sequence[Section], found: RetrievedMemories) -> dict[UUID, Anchor]:
    """Anchors of what no other section is to show, by memory id: of what stands elsewhere only where it was found."""
    elsewhere = set(wish.request.already_shown)
    rows = [one for one in found.candidates if one.id in elsewhere]
    return {one.id: Anchor(MEMORY, str(one.id), one.version) for one in rows} | _included(sections)


def _included(sections: Sequence[Section]) -> dict[UUID, Anchor]:
    """Anchors of the memories that stand in the sections, by their ids."""
    anchors = [block.anchor for section in sections for block in section.blocks]
    return {UUID(anchor.id): anchor for anchor in anchors if anchor.type == MEMORY}
