"""What may stand in a context, section by section: memo, summaries, focus, linked memories, memories."""

from context.assembly.sections.memories import IncludedMemories, gate_ranked_candidates, pack_memories, rank_candidates
from context.assembly.sections.packing import PACKERS, PackingSettings
from context.assembly.sections.room import Section, SectionBudget
from context.assembly.sections.texts import fit_whole_blocks, focus_block, memo_block, summary_block

__all__ = [
    "PACKERS",
    "IncludedMemories",
    "PackingSettings",
    "Section",
    "SectionBudget",
    "fit_whole_blocks",
    "focus_block",
    "gate_ranked_candidates",
    "memo_block",
    "pack_memories",
    "rank_candidates",
    "summary_block",
]
