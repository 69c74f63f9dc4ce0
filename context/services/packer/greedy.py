"""Packing greedily: what fits in score order (ADR-0041)."""

from __future__ import annotations

from collections.abc import Iterable

from context.services.assembly.model_catalog import DEFAULT_MODEL
from context.services.packer.results import (
    AFTER_SKIP_LIMIT,
    OVER_BUDGET,
    OmittedMemory,
    PackedMemories,
    TokenCounter,
    in_score_order,
    scored_memory_tokens,
    stored_tokens,
    total_score,
)
from context.services.scorer import ScoredMemory

# ADR-0041. Misses in a row after which greedy stops.
MAX_CONSECUTIVE_SKIPS = 3


class GreedyKnapsackPacker:
    """Takes what fits in score order, skips what does not, stops after three misses in a row."""

    def __init__(self, budget_calculator: TokenCounter, *, marker_tokens: int = 0) -> None:
        """Store the calculator, which counts only memories without a count for the model's encoding.

        `marker_tokens` are what each memory costs in addition to its text.
        """
        self._budget_calculator = budget_calculator
        self._marker_tokens = marker_tokens

    def pack(
        self, scored_memories: Iterable[ScoredMemory], token_budget: int, model: str = DEFAULT_MODEL
    ) -> PackedMemories:
        """The memories that fit `token_budget` tokens of `model`; a budget of 0 or less packs nothing.

        A repeated id is dropped before. Raises `ValueError` for a negative stored token count.
        """
        candidates = in_score_order(scored_memories)
        kept: list[ScoredMemory] = []
        omitted: list[OmittedMemory] = []
        used = 0
        misses = MAX_CONSECUTIVE_SKIPS if token_budget <= 0 else 0
        for candidate in candidates:
            if misses >= MAX_CONSECUTIVE_SKIPS:
                omitted.append(self._never_tried(candidate, token_budget, model))
                continue
            tokens = scored_memory_tokens(candidate, model, self._budget_calculator, self._marker_tokens)
            if self._fits(tokens, used, token_budget):
                kept.append(candidate)
                used += tokens
                misses = 0
            else:
                omitted.append(OmittedMemory(candidate.memory["id"], OVER_BUDGET, tokens))
                misses += 1
        return PackedMemories(kept, used, total_score(kept), len(omitted), bool(omitted), omitted)

    def _fits(self, tokens: int, used: int, token_budget: int) -> bool:
        return used + tokens <= token_budget

    def _never_tried(self, scored: ScoredMemory, token_budget: int, model: str) -> OmittedMemory:
        reason = OVER_BUDGET if token_budget <= 0 else AFTER_SKIP_LIMIT
        return OmittedMemory(scored.memory["id"], reason, stored_tokens(scored, model, self._marker_tokens))
