"""The sections of a context: their budgets, whole texts (memo, summaries, focus), packed memories, the final text.

Nothing is read here, so the same candidates can be packed for other budgets (ADR-0087).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.conf import settings

from context.assembly.candidates import GatheredCandidates
from context.assembly.packing import IncludedMemories, pack_memories
from context.assembly.requests import ResolvedContextRequest
from context.profiles.token_counters import budget_calculator
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
from context.services.assembly.section_budgets import SectionAllocation, SectionBudget
from context.services.ordering import order_items
from context.services.packer import OVER_BUDGET
from context.services.rendering import EXPECTED_OVERHEAD_TOKENS, item_overhead_tokens, render_context, write_block
from memories.models import PartitionSummary, TenantMemo
from memories.services.time_limits import in_time
from memories.store.readings import Candidate

#: How much longer than its text, in characters, a rendered block may be before its count from packing is useless.
INFLATION, INFLATION_FREE_CHARACTERS = 1.25, 40
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
    memory_marker_tokens: int

    def budget_of(self, section: str) -> SectionBudget:
        """Return the budget of a section of memories, after the sections before it."""
        return self.whole.of(self.allocation.available_for(section), self.memory_marker_tokens)


def build_layout(request: ResolvedContextRequest) -> ContextLayout:
    """Return the layout at the budget of `request`."""
    fence_tokens, marker_tokens = EXPECTED_OVERHEAD_TOKENS[request.given.render]
    memory_marker_tokens = item_overhead_tokens(MEMORY, style=request.given.render, has_days=request.has_days)
    whole = SectionBudget(request.max_tokens - fence_tokens, marker_tokens, request.model, budget_calculator())
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
        is_memory = name == FOCUS and sources.memory is not None
        budget = whole.of(allocation.available_for(name), memory_marker_tokens if is_memory else marker_tokens)
        texts.append(fit_whole_blocks([whole_block(item, whole) for item in items if item is not None], budget))
        allocation.take(name, texts[-1].tokens)
    return ContextLayout(whole, allocation, texts, memory_marker_tokens)


def whole_block(row: TenantMemo | PartitionSummary | Candidate, budget: SectionBudget) -> Block:
    """Return the block that shows all of a memo, a partition summary or a memory."""
    if isinstance(row, TenantMemo):
        anchor = Anchor(TENANT_MEMO, str(row.tenant_id), row.version)
    elif isinstance(row, PartitionSummary):
        anchor = Anchor(PARTITION_SUMMARY, str(row.summary_id), row.version)
    else:
        anchor = Anchor(MEMORY, str(row.id), row.version)
    tokens = budget.tokens_of(row.token_counts)
    if isinstance(row, Candidate):
        return Block(anchor.type, anchor, row.content, tokens, **row.times)
    return Block(anchor.type, anchor, row.content, tokens, created_at=row.recorded_from)


def fit_whole_blocks(blocks: Iterable[Block], budget: SectionBudget) -> Section:
    """Return a section of the blocks that fit, in their order; blank ones are ignored."""
    kept: list[Block] = []
    omitted: list[Exclusion] = []
    used = 0
    for block in blocks:
        if not block.text.strip():
            continue
        if used + block.tokens + budget.marker_tokens <= budget.tokens:
            kept.append(block)
            used += block.tokens + budget.marker_tokens
        else:
            omitted.append(block.left_out(OVER_BUDGET))
    return Section(kept, omitted, used, available=budget.tokens)


def pack_sections(
    request: ResolvedContextRequest, layout: ContextLayout, candidates: GatheredCandidates
) -> list[Section]:
    """Return all sections in order of importance: whole texts, linked memories, and memories that were found."""
    # a memory that the larger context includes is excluded here only where the search returned it
    elsewhere = set(request.given.already_shown)
    found = candidates.retrieval.candidates if elsewhere else ()
    shown = {one.id: Anchor(MEMORY, str(one.id), one.version) for one in found if one.id in elsewhere}
    included = IncludedMemories(shown | _memory_anchors(layout.texts), candidates.duplicates)
    linked = pack_memories(
        candidates.linked,
        layout.budget_of(LINKED),
        # a person or an agent made the links: no minimum score applies, and they do not compete with search results
        replace(request.packing, minimum_score=0.0, pinned_share=1.0, is_explained=False),
        kind=LINKED_MEMORY,
        included=included,
    )
    layout.allocation.take(LINKED, linked.tokens)
    memories = pack_memories(
        candidates.memories,
        layout.budget_of(MEMORIES_SECTION),
        request.packing,
        included=replace(included, anchors={**included.anchors, **_memory_anchors([linked])}),
    )
    return [*layout.texts, linked, memories]


@dataclass(frozen=True)
class TrimmedContext:
    """The final text, its exact token count, its blocks in reading order, and the blocks that were dropped."""

    text: str
    tokens: int
    nonce_counter: int
    blocks: Sequence[Block]
    dropped: Sequence[Block]


def trim_blocks_to_budget(sections: Sequence[Section], request: ResolvedContextRequest) -> TrimmedContext:
    """Return the text of the sections; while it exceeds the budget, blocks are dropped (`drop_blocks`).

    Stored counts and measured overheads usually keep this to one pass of the tokenizer; text that needs escaping, or
    whose lines join badly with their markers, takes another.
    """
    calculator = budget_calculator()
    blocks = [block for section in sections for block in section.blocks]
    kept = blocks
    while True:
        ordered = order_items(kept, request.ordering, request.previous)
        rendered = render_context(
            ordered,
            style=request.given.render,
            secret=settings.SECRET_KEY.encode(),
            tenant_id=str(request.caller.tenant_id),
            has_days=request.has_days,
        )
        tokens = calculator.count_around(
            rendered.text, [(block.text, block.tokens) for block in ordered], request.model
        )
        if tokens <= request.max_tokens or not kept:
            # a context of one section, ordered by score, already has its blocks at the positions from packing
            placed = [
                block if block.position == position else block.changed(position=position)
                for position, block in enumerate(ordered)
            ]
            included = {id(block) for block in kept}
            dropped = [block for block in blocks if id(block) not in included]
            return TrimmedContext(rendered.text, tokens, rendered.nonce_counter, placed, dropped)
        written = [write_block(block, request.given.render, request.has_days) for block in kept]
        inflated = {
            number: calculator.count_tokens(text, request.model)
            for number, (block, text) in in_time(enumerate(zip(kept, written, strict=True)))
            if len(text) > INFLATION * len(block.text) + INFLATION_FREE_CHARACTERS
        }
        kept = drop_blocks(kept, tokens - request.max_tokens, inflated)


def drop_blocks(blocks: Sequence[Block], tokens: int, inflated: Mapping[int, int]) -> list[Block]:
    """Return the blocks without some that together have `tokens`; at least one is dropped.

    The `inflated` blocks (number to rendered tokens) are dropped first, the longest first: packing counted them without
    escape characters, and one such text must not displace all others. Then the last blocks are dropped.
    """
    last_first = [number for number in reversed(range(len(blocks))) if number not in inflated]
    dropped: set[int] = set()
    freed = 0
    for number in [*sorted(inflated, key=lambda number: -inflated[number]), *last_first]:
        if dropped and freed >= tokens:
            break
        dropped.add(number)
        freed += max(inflated.get(number, blocks[number].tokens), 1)
    return [block for number, block in enumerate(blocks) if number not in dropped]


def _memory_anchors(sections: Iterable[Section]) -> dict[UUID, Anchor]:
    anchors = [block.anchor for section in sections for block in section.blocks]
    return {UUID(anchor.id): anchor for anchor in anchors if anchor.type == MEMORY}
