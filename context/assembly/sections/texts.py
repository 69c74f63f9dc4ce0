"""Sections of whole texts: the memo, partition summaries, a focus. Each text stands there entirely or not at all."""

from collections.abc import Iterable

from context.assembly.sections.room import Section, SectionBudget
from context.receipts.results import MEMORY, PARTITION_SUMMARY, TENANT_MEMO, Anchor, Block, Exclusion
from context.services.packer import OVER_BUDGET
from memories.models import PartitionSummary, TenantMemo
from memories.store.readings import Candidate


def memo_block(memo: TenantMemo, room: SectionBudget) -> Block:
    """The tenant's memo."""
    anchor = Anchor(TENANT_MEMO, str(memo.tenant_id), memo.version)
    return Block(TENANT_MEMO, anchor, memo.content, room.tokens_of(memo.token_counts))


def summary_block(summary: PartitionSummary, room: SectionBudget) -> Block:
    """What was summed up of a partition."""
    anchor = Anchor(PARTITION_SUMMARY, str(summary.summary_id), summary.version)
    return Block(PARTITION_SUMMARY, anchor, summary.content, room.tokens_of(summary.token_counts))


def focus_block(memory: Candidate, room: SectionBudget) -> Block:
    """The memory that the context is about."""
    anchor = Anchor(MEMORY, str(memory.id), memory.version)
    return Block(MEMORY, anchor, memory.content, room.tokens_of(memory.token_counts))


def fit_whole_blocks(blocks: Iterable[Block], room: SectionBudget) -> Section:
    """Those of `blocks` that fit, in their order; one that does not gives way to the next. Blank ones are nothing."""
    kept: list[Block] = []
    omitted: list[Exclusion] = []
    taken = 0
    for block in blocks:
        if not block.text.strip():
            continue
        if taken + block.tokens + room.marker_tokens <= room.tokens:
            kept.append(block)
            taken += block.tokens + room.marker_tokens
        else:
            omitted.append(block.left_out(OVER_BUDGET))
    return Section(kept, omitted, taken, room=room.tokens)
