"""Choosing memories for a section by any packer: pinned ones first, and how far from the best choice that is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from context.models import BudgetProfile
from context.results import KEPT
from context.sections.room import MarkedCounter, Room
from context.services.packer import ElasticPacker, GreedyKnapsackPacker, OptimalPacker, PackedMemories
from context.services.scorer import SCORE_DECIMALS, ScoredMemory

GREEDY, ELASTIC, OPTIMAL = "greedy", "elastic", "optimal"
PACKERS = (GREEDY, ELASTIC, OPTIMAL)
#: Nodes after which the proof of an optimum stops and the bound it has is told: some 50 ms.
OPTIMAL_WORK_LIMIT = 2_000_000


class Packer(Protocol):
    """What all packers offer."""

    def pack(self, scored_memories: Sequence[ScoredMemory], token_budget: int, model: str) -> PackedMemories:
        """What fits of the scored memories."""
        ...


@dataclass(frozen=True)
class Packing:
    """How memories are chosen: the packer, the least score, the lengths of shortened ones (in tokens).

    `is_explained` adds the best total score that any choice of whole memories could have had.
    """

    packer: str = GREEDY
    minimum_score: float = 0.0
    target_items: int = 6
    min_tokens: int = 20
    max_tokens: int = 90
    is_explained: bool = False

    @classmethod
    def of(cls, profile: BudgetProfile, *, packer: str, is_explained: bool) -> "Packing":
        """As a budget profile says, by the given packer."""
        return cls(
            packer=packer,
            minimum_score=profile.minimum_score,
            target_items=profile.elastic_target_items,
            min_tokens=profile.elastic_min_tokens,
            max_tokens=profile.elastic_max_tokens,
            is_explained=is_explained,
        )

    def packer_for(self, room: Room, kept: int) -> Packer:
        """The packer for a section in which `kept` memories stand already."""
        counter = MarkedCounter(room.counter, room.marker_tokens)
        if self.packer == GREEDY:
            return GreedyKnapsackPacker(counter)
        if self.packer == OPTIMAL:
            return OptimalPacker(counter, work_limit=OPTIMAL_WORK_LIMIT)
        return ElasticPacker(
            counter,
            target_items=max(self.target_items - kept, 1),
            min_item=self.min_tokens + room.marker_tokens,
            max_item=self.max_tokens + room.marker_tokens,
            unit="tokens",
        )


@dataclass
class Chosen:
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

    def add(self, packed: PackedMemories) -> None:
        """Take over what a packer decided."""
        self.tokens += packed.total_tokens
        self.total_score += packed.total_score
        self.outcomes |= {item.memory["id"]: KEPT for item in packed.memories}
        self.outcomes |= {omitted.id: omitted.reason for omitted in packed.omitted}
        contents = {item.memory["id"]: item.memory["content"] for item in packed.memories}
        snippets = packed.snippets or {}
        self.snippets |= {key: text for key, text in snippets.items() if text != contents[key]}

    def add_optimum(self, best: PackedMemories) -> None:
        """Note how high the total score could have been for the memories just added."""
        is_known = best.optimal_score is not None and self.optimal_score is not None
        self.optimal_score = (self.optimal_score or 0.0) + (best.optimal_score or 0.0) if is_known else None
        self.upper_bound += best.upper_bound or 0.0

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


def choose(ranked: Sequence[ScoredMemory], room: Room, packing: Packing) -> Chosen:
    """What fits of `ranked`; pinned ones are served before all others."""
    chosen = Chosen()
    for is_pinned in (True, False):
        group = [item for item in ranked if bool(item.memory["pinned"]) == is_pinned]
        tokens = room.tokens - chosen.tokens
        if packing.is_explained and group:
            counter = MarkedCounter(room.counter, room.marker_tokens)
            best = OptimalPacker(counter, work_limit=OPTIMAL_WORK_LIMIT).pack(group, tokens, room.model)
            chosen.add_optimum(best)
        chosen.add(packing.packer_for(room, len(chosen.kept)).pack(group, tokens, room.model))
    return chosen
