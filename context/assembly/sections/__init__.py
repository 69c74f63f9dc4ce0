"""What may stand in a context, section by section: memo, summaries, focus, linked memories, memories."""

from context.assembly.sections.memories import Beside, gate_ranked, pack_memories, rank_candidates
from context.assembly.sections.packing import PACKERS, Packing
from context.assembly.sections.room import Room, Section
from context.assembly.sections.texts import focus_block, memo_block, summary_block, whole_section

__all__ = [
    "PACKERS",
    "Beside",
    "Packing",
    "Room",
    "Section",
    "focus_block",
    "gate_ranked",
    "memo_block",
    "pack_memories",
    "rank_candidates",
    "summary_block",
    "whole_section",
]
