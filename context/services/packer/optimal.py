"""Packing with the highest total score that any selection within the budget has (ADR-0043)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from context.services.assembly.model_catalog import DEFAULT_MODEL
from context.services.packer.knapsack import solve_knapsack
from context.services.packer.results import (
    OVER_BUDGET,
    OmittedMemory,
    PackedMemories,
    TokenCounter,
    in_score_order,
    scored_memory_tokens,
    stored_tokens,
    total_score,
)
from context.services.scorer import SCORE_DECIMALS, ScoredMemory

UNITS_PER_SCORE = round(10.0**SCORE_DECIMALS)


class OptimalPacker:
    """The exact optimum of the 0/1 knapsack over scores (in millionths) and tokens.

    Memories without tokens are always kept. Those with score 0 add nothing to the optimum; they are kept, as they come,
    where they still fit beside it, so that nothing is left out that had room. A negative score is never kept.
    """

    def __init__(
        self, budget_calculator: TokenCounter, *, work_limit: int | None = None, marker_tokens: int = 0
    ) -> None:
        """Set the limit in nodes (states examined) rather than time, so that results are the same on any machine.

        `marker_tokens` are what each memory costs in addition to its text.
        """
        if work_limit is not None and work_limit < 0:
            raise ValueError("work_limit must not be negative")
        self._budget_calculator = budget_calculator
        self._work_limit = work_limit
        self._marker_tokens = marker_tokens

    def pack(
        self, scored_memories: Iterable[ScoredMemory], token_budget: int, model: str = DEFAULT_MODEL
    ) -> PackedMemories:
        """The best selection within `token_budget` tokens of `model`; a budget of 0 or less packs nothing.

        `upper_bound` is what no selection exceeds. `optimal_score` is None where the work limit, or sums beyond 2^53,
        left a better one possible. Raises `ValueError` for a negative stored token count or a score that is not finite.
        """
        candidates = in_score_order(scored_memories)
        if token_budget <= 0:
            left_out = [
                OmittedMemory(one.memory["id"], OVER_BUDGET, stored_tokens(one, model, self._marker_tokens))
                for one in candidates
            ]
            return PackedMemories([], 0, 0.0, len(left_out), bool(left_out), left_out, None, None, 0.0, 0.0)
        tokens = [scored_memory_tokens(one, model, self._budget_calculator, self._marker_tokens) for one in candidates]
        scores = [_millionths(one) for one in candidates]
        taken, open_units = self._choose(scores, tokens, token_budget)
        kept = [one for place, one in enumerate(candidates) if place in taken]
        omitted = [
            OmittedMemory(one.memory["id"], OVER_BUDGET, tokens[place])
            for place, one in enumerate(candidates)
            if place not in taken
        ]
        total = total_score(kept)
        return PackedMemories(
            kept,
            sum(tokens[place] for place in taken),
            total,
            len(omitted),
            bool(omitted),
            omitted,
            optimal_score=None if open_units else total,
            upper_bound=round(total + open_units / UNITS_PER_SCORE, SCORE_DECIMALS),
        )

    def _choose(self, scores: Sequence[int], tokens: Sequence[int], budget: int) -> tuple[set[int], int]:
        """Which places to keep, and how many units of score more a selection could have for all that is proven."""
        weighty = [place for place, score in enumerate(scores) if score > 0 and tokens[place] > 0]
        solution = solve_knapsack(
            [scores[place] for place in weighty], [tokens[place] for place in weighty], budget, self._work_limit
        )
        taken = {weighty[position] for position in solution.taken}
        room = budget - sum(tokens[place] for place in taken)
        for place, score in enumerate(scores):
            if score >= 0 and tokens[place] <= room and (score == 0 or tokens[place] == 0):
                taken.add(place)
                room -= tokens[place]
        return taken, solution.upper_bound - solution.profit


def _millionths(scored: ScoredMemory) -> int:
    units = scored.composite_score * UNITS_PER_SCORE
    if not math.isfinite(units):
        raise ValueError(f"composite_score must be finite (memory {scored.memory['id']})")
    return round(units)
