"""Choosing memories for a section by any packer, and how far from the best choice that is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import UUID

from context.assembly.sections.room import MarkerTokenCounter, SectionBudget
from context.models import BudgetProfile
from context.receipts.results import KEPT
from context.services.packer import ElasticPacker, GreedyKnapsackPacker, OptimalPacker, PackedMemories
from context.services.scorer import SCORE_DECIMALS, ScoredMemory
from memories.services.search.fusion import MIN_CANDIDATES

GREEDY, ELASTIC, OPTIMAL = "greedy", "elastic", "optimal"
PACKERS = (GREEDY, ELASTIC, OPTIMAL)
#: Candidates for each memory that the elastic packer aims at.
ELASTIC_OVERFETCH_ITEMS = 3
#: Nodes after which the proof of an optimum stops and the bound it has is told: some 50 ms.
OPTIMAL_WORK_LIMIT = 2_000_000


class Packer(Protocol):
    """What all packers offer."""

    def pack(self, scored_memories: Sequence[ScoredMemory], token_budget: int, model: str) -> PackedMemories:
        """What fits of the scored memories."""
        ...


@dataclass(frozen=True)
class PackingSettings:
    """How memories are chosen: the packer, the least score, the lengths of shortened ones (in tokens).

    `pinned_share` is the part of the section's room in which pinned memories come before all others. `is_explained`
    adds the best total score that any choice of whole memories could have had.
    """

    packer: str = GREEDY
    minimum_score: float = 0.0
    target_items: int = 6
    min_tokens: int = 20
    max_tokens: int = 90
    pinned_share: float = 1.0
    is_explained: bool = False

    @classmethod
    def of(cls, profile: BudgetProfile, *, packer: str, has_query: bool, is_explained: bool) -> "PackingSettings":
        """As a budget profile says, by the given packer; only a query can be crowded out by pinned memories."""
        return cls(
            packer=packer,
            minimum_score=profile.minimum_score,
            target_items=profile.elastic_target_items,
            min_tokens=profile.elastic_min_tokens,
            max_tokens=profile.elastic_max_tokens,
            pinned_share=profile.pinned_share if has_query else 1.0,
            is_explained=is_explained,
        )

    @property
    def candidates_min(self) -> int:
        """So many candidates at least are to choose from: where texts are shortened, more than the budget says."""
        return self.target_items * ELASTIC_OVERFETCH_ITEMS if self.packer == ELASTIC else MIN_CANDIDATES

    def for_share(self, share: float) -> "PackingSettings":
        """The same for a part of the section: of the items that the elastic packer aims at as well."""
        return replace(self, target_items=max(math.ceil(self.target_items * share), 1))

    def beside(self, kept: int) -> "PackingSettings":
        """The same for a section in which `kept` memories stand already."""
        return replace(self, target_items=max(self.target_items - kept, 1))

    def packer_for(self, room: SectionBudget) -> Packer:
        """The packer for a section with this room."""
        counter = MarkerTokenCounter(room.counter, room.marker_tokens)
        if self.packer == GREEDY:
            return GreedyKnapsackPacker(counter)
        if self.packer == OPTIMAL:
            return OptimalPacker(counter, work_limit=OPTIMAL_WORK_LIMIT)
        return ElasticPacker(
            counter,
            target_items=self.target_items,
            min_item=self.min_tokens + room.marker_tokens,
            max_item=self.max_tokens + room.marker_tokens,
            unit="tokens",
        )


@dataclass
class PackingOutcome:
    """What became of each memory (`kept`, or the reason it was left out), the shortened texts, the tokens taken."""

    outcomes: dict[UUID, str] = field(default_factory=dict)
    snippets: dict[UUID, str] = field(default_factory=dict)
    tokens: int = 0
    total_score: float = 0.0
    optimal_score: float | None = 0.0
    upper_bound: float = 0.0

    @property
    def kept(self) -> list[UUID]:
        """Ids of the kept memories."""
        return [memory_id for memory_id, outcome in self.outcomes.items() if outcome == KEPT]

    def add(self, later: "PackingOutcome") -> None:
        """Take over what was chosen after this; what became of a memory there counts."""
        self.outcomes |= later.outcomes
        self.snippets |= later.snippets
        self.tokens += later.tokens
        self.total_score += later.total_score
        is_known = self.optimal_score is not None and later.optimal_score is not None
        self.optimal_score = (self.optimal_score or 0.0) + (later.optimal_score or 0.0) if is_known else None
        self.upper_bound += later.upper_bound

    def take_as_given(self) -> None:
        """Reckon no better choice than this one: what it left out may still be chosen later, and counts there."""
        self.optimal_score, self.upper_bound = self.total_score, self.total_score

    def optimality(self) -> dict[str, Any]:
        """The total score, the best possible one (None: not proven), its proven bound, and what lacks of that.

        The gap is below 0 where shortening let more memories in than any choice of whole ones could.
        """
        values = {
            "total_score": self.total_score,
            "optimal_score": self.optimal_score,
            "upper_bound": self.upper_bound,
            "gap": self.upper_bound - self.total_score,
        }
        return {name: None if value is None else round(value, SCORE_DECIMALS) for name, value in values.items()}


def choose_memories(ranked: Sequence[ScoredMemory], room: SectionBudget, packing: PackingSettings) -> PackingOutcome:
    """What fits of `ranked`, none of which comes before a better one."""
    packed = packing.packer_for(room).pack(ranked, room.tokens, room.model)
    contents = {item.memory["id"]: item.memory["content"] for item in packed.memories}
    chosen = PackingOutcome(
        outcomes=dict.fromkeys(contents, KEPT) | {omitted.id: omitted.reason for omitted in packed.omitted},
        snippets={key: text for key, text in (packed.snippets or {}).items() if text != contents[key]},
        tokens=packed.total_tokens,
        total_score=packed.total_score,
    )
    if packing.is_explained and ranked:
        counter = MarkerTokenCounter(room.counter, room.marker_tokens)
        best = OptimalPacker(counter, work_limit=OPTIMAL_WORK_LIMIT).pack(ranked, room.tokens, room.model)
        chosen.optimal_score, chosen.upper_bound = best.optimal_score, best.upper_bound or 0.0
    return chosen
