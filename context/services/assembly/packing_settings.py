"""How the memories of a section are chosen: the packer and its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from context.services.assembly.section_budgets import SectionBudget
from context.services.packer import (
    ELASTIC,
    GREEDY,
    OPTIMAL,
    ElasticPacker,
    GreedyKnapsackPacker,
    OptimalPacker,
    common_length,
)
from context.services.packer.results import stored_tokens
from context.services.scorer import ScoredMemory
from memories.services.search.fusion import MIN_CANDIDATES

#: Candidates for each memory of the elastic packer's target.
ELASTIC_OVERFETCH_ITEMS = 3
#: Nodes after which the proof of an optimum stops and its bound so far is reported: about 50 ms.
OPTIMAL_WORK_LIMIT = 2_000_000


@dataclass(frozen=True)
class PackingSettings:
    """How memories are chosen: the packer, the minimum score, the lengths of shortened ones (in tokens).

    With `fills_budget`, the elastic packer exceeds target and maximum length if the section has space (ADR-0099).
    `pinned_share` is the part of the section's budget in which pinned memories come before all others. `is_explained`
    adds the best total score that any choice of whole memories could have had.
    """

    packer: str = GREEDY
    minimum_score: float = 0.0
    target_items: int = 6
    min_tokens: int = 20
    max_tokens: int = 90
    fills_budget: bool = False
    pinned_share: float = 1.0
    is_explained: bool = False

    @property
    def candidates_min(self) -> int:
        """The least number of candidates to choose from; packing shortened texts takes more."""
        return self.target_items * ELASTIC_OVERFETCH_ITEMS if self.packer == ELASTIC else MIN_CANDIDATES

    @property
    def candidates_max(self) -> int | None:
        """The number of candidates, if it does not depend on the budget."""
        return self.candidates_min if self.packer == ELASTIC and not self.fills_budget else None

    @property
    def candidate_tokens_max(self) -> int | None:
        """The maximum tokens that a text counts with while candidates are chosen; None for its whole length."""
        return self.max_tokens if self.packer == ELASTIC and self.fills_budget else None

    def lengthened(self, ranked: Sequence[ScoredMemory], budget: SectionBudget) -> Self:
        """Return the settings for `ranked`: where all of them fit, the length at which they use the budget."""
        if self.packer != ELASTIC or not self.fills_budget:
            return self
        stored = (stored_tokens(item, budget.model, budget.marker_tokens) for item in ranked)
        lengths = [length for length in stored if length is not None]
        longest = common_length(lengths, budget.tokens)
        most = max(lengths, default=0) if longest is None else longest
        if longest is not None and most < self.max_tokens + budget.marker_tokens:
            return self
        # nothing competes, so pinned memories need no share; beyond it, a minimum score would apply to them
        share = self.pinned_share if self.minimum_score else 1.0
        return replace(self, max_tokens=max(self.max_tokens, most - budget.marker_tokens), pinned_share=share)

    def with_target(self, items: int) -> Self:
        """Return the same with another target of the elastic packer, at least 1."""
        return replace(self, target_items=max(items, 1))

    def packer_for(self, budget: SectionBudget) -> GreedyKnapsackPacker | OptimalPacker | ElasticPacker:
        """Return the packer for a section with this budget."""
        if self.packer == GREEDY:
            return GreedyKnapsackPacker(budget.counter, marker_tokens=budget.marker_tokens)
        if self.packer == OPTIMAL:
            return optimal_packer(budget)
        return ElasticPacker(
            budget.counter,
            target_items=self.target_items,
            min_item=self.min_tokens + budget.marker_tokens,
            max_item=self.max_tokens + budget.marker_tokens,
            unit="tokens",
            fills_budget=self.fills_budget,
            marker_tokens=budget.marker_tokens,
        )


def optimal_packer(budget: SectionBudget) -> OptimalPacker:
    """Return the packer that proves the best total score, or a bound of it."""
    return OptimalPacker(budget.counter, work_limit=OPTIMAL_WORK_LIMIT, marker_tokens=budget.marker_tokens)
