"""Pack the selection with the highest total score that fits the budget (ADR-0043)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from context.services.assembly.model_catalog import DEFAULT_MODEL
from context.services.packer.knapsack import solve_knapsack
from context.services.packer.results import PackedMemories, TokenCounter, TokenPacker, in_score_order, over_budget
from context.services.scorer import SCORE_DECIMALS, ScoredMemory
from memories.services.time_limits import in_time

UNITS_PER_SCORE = round(10.0**SCORE_DECIMALS)


class OptimalPacker(TokenPacker):
    """The exact optimum of the 0/1 knapsack over scores (in millionths) and tokens.

    Memories without tokens are always kept. Those with score 0 add nothing to the optimum; they are kept, in the given
    order, if they still fit. A negative score is never kept.
    """

    def __init__(
        self, budget_calculator: TokenCounter, *, work_limit: int | None = None, marker_tokens: int = 0
    ) -> None:
        """Set the limit in nodes (states examined) rather than time, so that results are the same on any machine."""
        if work_limit is not None and work_limit < 0:
            raise ValueError("work_limit must not be negative")
        super().__init__(budget_calculator, marker_tokens=marker_tokens)
        self._work_limit = work_limit

    def pack(
        self, scored_memories: Iterable[ScoredMemory], token_budget: int, model: str = DEFAULT_MODEL
    ) -> PackedMemories:
        """Return the best selection within `token_budget` tokens of `model`; a budget of 0 or less packs nothing.

        No selection exceeds `upper_bound`. `optimal_score` is None if the work limit, or sums beyond 2^53, left a
        better one possible. Raises `ValueError` for a negative stored token count or a score that is not finite.
        """
        candidates = in_score_order(scored_memories)
        if token_budget <= 0:
            return PackedMemories([], 0, self._nothing(candidates, model), optimal_score=0.0, upper_bound=0.0)
        tokens = [self._length(one, model) for one in in_time(candidates)]
        taken, open_units = self._choose([_millionths(one) for one in candidates], tokens, token_budget)
        packed = PackedMemories(
            [candidates[place] for place in sorted(taken)],
            sum(tokens[place] for place in taken),
            over_budget(candidates, tokens, taken),
        )
        upper_bound = round(packed.total_score + open_units / UNITS_PER_SCORE, SCORE_DECIMALS)
        return replace(packed, optimal_score=None if open_units else packed.total_score, upper_bound=upper_bound)

    def _choose(self, scores: Sequence[int], tokens: Sequence[int], budget: int) -> tuple[set[int], int]:
        """Return the positions to keep, and by how many units of score a better selection is not ruled out."""
        weighty = [place for place, score in enumerate(scores) if score > 0 and tokens[place] > 0]
        solution = solve_knapsack(
            [scores[place] for place in weighty], [tokens[place] for place in weighty], budget, self._work_limit
        )
        taken = {weighty[position] for position in solution.taken}
        available = budget - sum(tokens[place] for place in taken)
        for place, score in enumerate(scores):
            if score >= 0 and tokens[place] <= available and (score == 0 or tokens[place] == 0):
                taken.add(place)
                available -= tokens[place]
        return taken, solution.upper_bound - solution.profit


def _millionths(scored: ScoredMemory) -> int:
    units = scored.composite_score * UNITS_PER_SCORE
    if not math.isfinite(units):
        raise ValueError(f"composite_score must be finite (memory {scored.memory['id']})")
    return round(units)
