"""Pack greedily: take what fits in score order (ADR-0041)."""

from collections.abc import Iterable

from context.services.assembly.model_catalog import DEFAULT_MODEL
from context.services.packer.results import (
    AFTER_SKIP_LIMIT,
    OVER_BUDGET,
    OmittedMemory,
    PackedMemories,
    TokenPacker,
    in_score_order,
)
from context.services.scorer import ScoredMemory
from memories.services.time_limits import in_time

# ADR-0041. Consecutive misses after which packing stops.
MAX_CONSECUTIVE_SKIPS = 3


class GreedyKnapsackPacker(TokenPacker):
    """Takes what fits in score order, skips what does not, and stops after three consecutive misses."""

    def pack(
        self, scored_memories: Iterable[ScoredMemory], token_budget: int, model: str = DEFAULT_MODEL
    ) -> PackedMemories:
        """Return the memories that fit `token_budget` tokens; raises `ValueError` for a negative stored token count."""
        candidates = in_score_order(scored_memories)
        if token_budget <= 0:
            return PackedMemories([], 0, self._nothing(candidates, model))
        kept: list[ScoredMemory] = []
        omitted: list[OmittedMemory] = []
        used = misses = 0
        for one, stored in in_time(zip(candidates, self._stored_lengths(candidates, model), strict=True)):
            if misses >= MAX_CONSECUTIVE_SKIPS:
                omitted.append(OmittedMemory(one.memory["id"], AFTER_SKIP_LIMIT, stored))
                continue
            tokens = stored if stored is not None and stored >= 0 else self._checked(one, stored, model)
            if used + tokens <= token_budget:
                kept.append(one)
                used += tokens
                misses = 0
            else:
                omitted.append(OmittedMemory(one.memory["id"], OVER_BUDGET, tokens))
                misses += 1
        return PackedMemories(kept, used, omitted)
