"""Packing many memories by shortening them (ADR-0042)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from context.services.assembly.model_catalog import DEFAULT_MODEL
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
from context.services.packer.snippets import shorten_to_characters, shorten_to_tokens
from context.services.scorer import ScoredMemory

Unit = Literal["characters", "tokens"]

# ADR-0042. How many memories are aimed at, and between which lengths each is cut.
TARGET_ITEMS = 6
MIN_ITEM = 80
MAX_ITEM = 360
#: The budget of a caller that has none, by unit. A token stands for four characters.
DEFAULT_ELASTIC_BUDGETS: Mapping[Unit, int] = {"characters": 1_800, "tokens": 450}


class ElasticPacker:
    """Shortens memories so that about `target_items` of them share the budget."""

    def __init__(
        self,
        budget_calculator: TokenCounter,
        *,
        target_items: int = TARGET_ITEMS,
        min_item: int = MIN_ITEM,
        max_item: int = MAX_ITEM,
        unit: Unit = "characters",
        final_pass: bool = True,
        marker_tokens: int = 0,
    ) -> None:
        """`unit` is that of the lengths here, of the budget and of every length in the answer; 0 or less is a default.

        `final_pass` adds short memories that the three phases of the published algorithm leave out although they fit.
        `marker_tokens` are what each memory costs in addition to its text, where the unit is tokens.
        """
        if unit not in DEFAULT_ELASTIC_BUDGETS:
            raise ValueError(f"unit must be one of {', '.join(DEFAULT_ELASTIC_BUDGETS)}")
        self._budget_calculator = budget_calculator
        self._target_items = target_items if target_items > 0 else TARGET_ITEMS
        self._min_item = min_item if min_item > 0 else MIN_ITEM
        self._max_item = max_item if max_item > 0 else MAX_ITEM
        self._unit = unit
        self._final_pass = final_pass
        self._marker_tokens = marker_tokens

    def pack(
        self, scored_memories: Iterable[ScoredMemory], token_budget: int | None = None, model: str = DEFAULT_MODEL
    ) -> PackedMemories:
        """As many memories as fit `token_budget` (in the packer's unit), shortened; `allotted` says to what length.

        A budget of None is the default one, one of 0 or less packs nothing. A blank memory and a repeated id take no
        part and appear nowhere. `total_tokens` is the sum of the allotments; a snippet never exceeds its own. Raises
        `ValueError` for a negative stored token count.
        """
        budget = DEFAULT_ELASTIC_BUDGETS[self._unit] if token_budget is None else token_budget
        candidates = [one for one in in_score_order(scored_memories) if one.memory["content"].strip()]
        if budget <= 0:
            left_out = [
                OmittedMemory(one.memory["id"], OVER_BUDGET, self._known_length(one, model)) for one in candidates
            ]
            return PackedMemories([], 0, 0.0, len(left_out), bool(left_out), left_out, {}, {})
        lengths = [self._length(one, model) for one in candidates]
        allotted = self.allot(lengths, budget)
        kept = [candidates[place] for place in allotted]
        omitted = [
            OmittedMemory(one.memory["id"], OVER_BUDGET, lengths[place])
            for place, one in enumerate(candidates)
            if place not in allotted
        ]
        return PackedMemories(
            kept,
            sum(allotted.values()),
            total_score(kept),
            len(omitted),
            bool(omitted),
            omitted,
            allotted={candidates[place].memory["id"]: length for place, length in allotted.items()},
            snippets={
                candidates[place].memory["id"]: self._snippet(candidates[place], lengths[place], length, model)
                for place, length in allotted.items()
            },
        )

    def allot(self, lengths: Sequence[int], budget: int) -> dict[int, int]:
        """What each of the texts with these lengths, best first, gets of the budget: position to length."""
        caps = [min(length, self._max_item) for length in lengths]
        shares = _Shares(budget, self._target_items)
        for place, cap in enumerate(caps):
            if not shares.give(place, cap):
                shares.give(place, self._min_item)
        if not shares.are_complete and len(shares.lengths) < len(lengths):
            shares.shrink(self._min_item)
            for place, cap in enumerate(caps):
                most = min(cap, shares.room)
                if most >= self._min_item:
                    shares.give(place, most)
        shares.spread(caps)
        if self._final_pass:
            for place, cap in enumerate(caps):
                shares.give(place, cap)
        return dict(sorted(shares.lengths.items()))

    def _length(self, scored: ScoredMemory, model: str) -> int:
        content = scored.memory["content"]
        if self._unit == "characters":
            return len(content.strip())
        if content == content.strip():
            return scored_memory_tokens(scored, model, self._budget_calculator, self._marker_tokens)
        return self._count(content.strip(), model)

    def _count(self, text: str, model: str) -> int:
        return self._budget_calculator.count_tokens(text, model) + self._marker_tokens

    def _known_length(self, scored: ScoredMemory, model: str) -> int | None:
        if self._unit == "characters":
            return self._length(scored, model)
        return stored_tokens(scored, model, self._marker_tokens)

    def _snippet(self, scored: ScoredMemory, length: int, allotted: int, model: str) -> str:
        text: str = scored.memory["content"].strip()
        if allotted >= length:
            return text
        if self._unit == "characters":
            return shorten_to_characters(text, allotted)
        return shorten_to_tokens(text, allotted, length, lambda part: self._count(part, model))


class _Shares:
    """Who has how much of the budget; nobody twice, never more than the budget, never more than the target."""

    def __init__(self, budget: int, target_items: int) -> None:
        self.room = budget
        self.lengths: dict[int, int] = {}
        self._target_items = target_items

    @property
    def are_complete(self) -> bool:
        return len(self.lengths) >= self._target_items

    def give(self, place: int, length: int) -> bool:
        """Give `length` to one that has nothing yet, where that fits; whether it has something now."""
        if place not in self.lengths and not self.are_complete and length <= self.room:
            self.lengths[place] = length
            self.room -= length
        return place in self.lengths

    def shrink(self, length: int) -> None:
        """Cut all shares down to `length`."""
        for place, has in self.lengths.items():
            self.lengths[place] = min(has, length)
            self.room += has - self.lengths[place]

    def spread(self, caps: Sequence[int]) -> None:
        """Hand out the room evenly, once, to nobody more than its cap."""
        each = self.room // len(self.lengths) if self.lengths else 0
        for place, has in sorted(self.lengths.items()):
            self.lengths[place] = min(caps[place], has + each)
            self.room -= self.lengths[place] - has
