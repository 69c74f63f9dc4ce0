"""The sections of a context: their budgets, whole texts (memo, summaries, focus), and packed memories.

Nothing is read here, so other budgets can be laid out and packed for the same candidates (ADR-0087).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from context.assembly.candidates import FoundCandidates, ScoredCandidates
from context.assembly.packing import IncludedMemories, pack_memories
from context.assembly.requests import ResolvedContextRequest
from context.receipts.results import (
    LINKED_MEMORY,
    MEMORY,
    PARTITION_SUMMARY,
    TENANT_MEMO,
    Anchor,
    Block,
    Exclusion,
    Section,
)
from context.services.assembly.near_duplicates import NearDuplicates
from context.services.assembly.section_budgets import SectionAllocation, SectionBudget
from context.services.budget import BudgetCalculator
from context.services.packer import OVER_BUDGET
from context.services.rendering import EXPECTED_OVERHEAD_TOKENS
from memories.models import PartitionSummary, TenantMemo
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
    """The budget of a context and its allocation to sections; memo, summaries and focus are placed already."""

    whole: SectionBudget
    allocation: SectionAllocation
    texts: Sequence[Section]

    def budget_of(self, section: str) -> SectionBudget:
        """Return what a section may use, after the sections before it."""
        return self.whole.of(self.allocation.room_for(section))


def build_layout(request: ResolvedContextRequest, calculator: BudgetCalculator) -> ContextLayout:
    """Return the layout at the budget of `request`."""
    fence_tokens, marker_tokens = EXPECTED_OVERHEAD_TOKENS[request.given.render]
    whole = SectionBudget(request.max_tokens - fence_tokens, marker_tokens, request.model, calculator)
    allocation = SectionAllocation(
        whole.tokens, CONTEXT_SECTION_ORDER, request.profile.sections, shares_of=request.given.shares_of
    )
    sources = request.sources
    rows: dict[str, Sequence[TenantMemo | PartitionSummary | Candidate | None]] = {
        _MEMO: [sources.memo],
        SUMMARIES: sources.summaries,
        FOCUS: [sources.memory or sources.summary],
    }
    texts = []
    for name, items in rows.items():
        budget = whole.of(allocation.room_for(name))
        texts.append(fit_whole_blocks([whole_block(item, whole) for item in items if item is not None], budget))
        allocation.take(name, texts[-1].tokens)
    return ContextLayout(whole, allocation, texts)


def whole_block(row: TenantMemo | PartitionSummary | Candidate, budget: SectionBudget) -> Block:
    """Return the block that shows all of a memo, a partition summary or a memory."""
    if isinstance(row, TenantMemo):
        anchor = Anchor(TENANT_MEMO, str(row.tenant_id), row.version)
    elif isinstance(row, PartitionSummary):
        anchor = Anchor(PARTITION_SUMMARY, str(row.summary_id), row.version)
    else:
        anchor = Anchor(MEMORY, str(row.id), row.version)
    return Block(anchor.type, anchor, row.content, budget.tokens_of(row.token_counts))


def fit_whole_blocks(blocks: Iterable[Block], budget: SectionBudget) -> Section:
    """Return a section of the blocks that fit, in their order; blank ones are ignored."""
    kept: list[Block] = []
    omitted: list[Exclusion] = []
    taken = 0
    for block in blocks:
        if not block.text.strip():
            continue
        if taken + block.tokens + budget.marker_tokens <= budget.tokens:
            kept.append(block)
            taken += block.tokens + budget.marker_tokens
        else:
            omitted.append(block.left_out(OVER_BUDGET))
    return Section(kept, omitted, taken, available=budget.tokens)


def pack_sections(
    request: ResolvedContextRequest,
    layout: ContextLayout,
    scored: ScoredCandidates,
    found: FoundCandidates,
    duplicates: NearDuplicates,
) -> list[Section]:
    """Return all sections in order of importance: whole texts, linked memories, and memories that were found."""
    # a memory that stands in the larger context excludes itself only where the search found it
    elsewhere = set(request.given.already_shown)
    shown = {
        one.id: Anchor(MEMORY, str(one.id), one.version) for one in found.retrieval.candidates if one.id in elsewhere
    }
    included = IncludedMemories(shown | _memory_anchors(layout.texts), duplicates)
    linked = pack_memories(
        scored.linked,
        layout.budget_of(LINKED),
        # a person or an agent drew the links: no score stops them, and they do not compete with search results
        replace(request.packing, minimum_score=0.0, pinned_share=1.0, is_explained=False),
        kind=LINKED_MEMORY,
        included=included,
    )
    layout.allocation.take(LINKED, linked.tokens)
    memories = pack_memories(
        scored.memories,
        layout.budget_of(MEMORIES_SECTION),
        request.packing,
        included=replace(included, anchors={**included.anchors, **_memory_anchors([linked])}),
    )
    return [*layout.texts, linked, memories]


def _memory_anchors(sections: Iterable[Section]) -> dict[UUID, Anchor]:
    """Return the anchors of the memories in the sections, by memory id."""
    anchors = [block.anchor for section in sections for block in section.blocks]
    return {UUID(anchor.id): anchor for anchor in anchors if anchor.type == MEMORY}
