"""Pack many memories by shortening them (ADR-0042)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from context.services.assembly.model_catalog import DEFAULT_MODEL
from context.services.packer.results import PackedMemories, TokenCounter, TokenPacker, in_score_order, over_budget
from context.services.packer.snippets import shorten_to_characters, shorten_to_tokens
from context.services.scorer import ScoredMemory
from memories.services.time_limits import in_time

Unit = Literal["characters", "tokens"]

# ADR-0042. The target number of memories, and the minimum and maximum length of each.
TARGET_ITEMS = 6
MIN_ITEM = 80
MAX_ITEM = 360
#: The default budget by unit. A token counts as four characters.
DEFAULT_ELASTIC_BUDGETS: Mapping[Unit, int] = {"characters": 1_800, "tokens": 450}


class ElasticPacker(TokenPacker):
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
        fills_budget: bool = False,
        marker_tokens: int = 0,
    ) -> None:
        """Set the lengths, in `unit` like the budget and every length in the result; 0 or less is the default.

        `final_pass` adds short memories that fit although the three phases of the published algorithm omit them.
        `fills_budget` adds memories beyond the target while they fit, then divides what remains among shortened ones.
        `marker_tokens` are what each memory costs in addition to its text, if the unit is tokens.
        """
        if unit not in DEFAULT_ELASTIC_BUDGETS:
            raise ValueError(f"unit must be one of {', '.join(DEFAULT_ELASTIC_BUDGETS)}")
        super().__init__(budget_calculator, marker_tokens=marker_tokens)
        self._target_items = target_items if target_items > 0 else TARGET_ITEMS
        self._min_item = min_item if min_item > 0 else MIN_ITEM
        self._max_item = max_item if max_item > 0 else MAX_ITEM
        self._unit = unit
        self._final_pass = final_pass
        self._fills_budget = fills_budget

    def pack(
        self, scored_memories: Iterable[ScoredMemory], token_budget: int | None = None, model: str = DEFAULT_MODEL
    ) -> PackedMemories:
        """Return as many memories as fit `token_budget` (in the packer's unit), shortened to the lengths `allotted`.

        A budget of None is the default one, one of 0 or less packs nothing. Blank memories and repeated ids are
        ignored. `total_tokens` is the sum of the allotments; a snippet never exceeds its own. Raises `ValueError` for a
        negative stored token count.
        """
        budget = DEFAULT_ELASTIC_BUDGETS[self._unit] if token_budget is None else token_budget
        candidates = [one for one in in_score_order(scored_memories) if one.memory["content"].strip()]
        if budget <= 0:
            return PackedMemories([], 0, self._nothing(candidates, model), {}, {})
        lengths = self._lengths(candidates, model)
        shares = self._allot(lengths, budget)
        kept = {place: candidates[place] for place in sorted(shares)}
        return PackedMemories(
            list(kept.values()),
            sum(shares.values()),
            over_budget(candidates, lengths, kept),
            allotted={one.memory["id"]: shares[place] for place, one in kept.items()},
            snippets={
                one.memory["id"]: self._snippet(one, lengths[place], shares[place], model)
                for place, one in in_time(kept.items())
            },
        )

    def _allot(self, lengths: Sequence[int], budget: int) -> dict[int, int]:
        """Return what each of the texts with these lengths, best first, gets of the budget: position to length."""
        caps = [min(length, self._max_item) for length in lengths]
        shares = _Shares(budget, self._target_items)
        shares.give_all(caps, self._min_item)
        if not shares.are_complete and len(shares.lengths) < len(lengths):
            shares.shrink(self._min_item)
            for place, cap in enumerate(caps):
                most = min(cap, shares.available)
                if most >= self._min_item:
                    shares.give(place, most)
        shares.spread(caps)
        if self._final_pass:
            shares.give_all(caps)
        if self._fills_budget:
            shares.target_items = len(lengths)
            shares.give_all(caps, self._min_item)
            shares.fill(caps)
        return shares.lengths

    def _lengths(self, candidates: Sequence[ScoredMemory], model: str) -> list[int]:
        """Return the `_length` of each candidate; the model is looked up only once."""
        if self._unit == "characters":
            return [len(one.memory["content"].strip()) for one in in_time(candidates)]
        stored = self._stored_lengths(candidates, model)
        texts = [one.memory["content"] for one in candidates]
        return [
            tokens if tokens is not None and tokens >= 0 and text.strip() == text else self._length(one, model)
            for one, text, tokens in in_time(zip(candidates, texts, stored, strict=True))
        ]

    def _length(self, scored: ScoredMemory, model: str) -> int:
        content = scored.memory["content"]
        text = content.strip()
        if self._unit == "characters":
            return len(text)
        return super()._length(scored, model) if content == text else self._count(text, model)

    def _stored_length(self, scored: ScoredMemory, model: str) -> int | None:
        return self._length(scored, model) if self._unit == "characters" else super()._stored_length(scored, model)

    def _snippet(self, scored: ScoredMemory, length: int, allotted: int, model: str) -> str:
        text: str = scored.memory["content"].strip()
        if allotted >= length:
            return text
        if self._unit == "characters":
            return shorten_to_characters(text, allotted)
        return shorten_to_tokens(text, allotted, length, lambda part: self._count(part, model))


class _Shares:
    """The share of each item in the budget: no item twice, never more than the budget or more items than the target."""

    def __init__(self, budget: int, target_items: int) -> None:
        self.available = budget
        self.lengths: dict[int, int] = {}
        self.target_items = target_items

    @property
    def are_complete(self) -> bool:
        return len(self.lengths) >= self.target_items

    def give(self, place: int, length: int) -> bool:
        """Give `length` to one that has nothing yet, if that fits; return whether it has something now."""
        if place not in self.lengths and not self.are_complete and length <= self.available:
            self.lengths[place] = length
            self.available -= length
        return place in self.lengths

    def give_all(self, caps: Sequence[int], least: int | None = None) -> None:
        """Give each its cap, best first, or the `least` length if that does not fit."""
        for place, cap in enumerate(caps):
            if self.are_complete:
                return
            if not self.give(place, cap) and least is not None:
                self.give(place, least)

    def shrink(self, length: int) -> None:
        self.available += sum(max(has - length, 0) for has in self.lengths.values())
        self.lengths = {place: min(has, length) for place, has in self.lengths.items()}

    def spread(self, caps: Sequence[int]) -> None:
        """Divide the remaining budget evenly, once, never beyond a cap."""
        each = self.available // len(self.lengths) if self.lengths else 0
        for place, has in self.lengths.items():
            self.lengths[place] = min(caps[place], has + each)
            self.available -= self.lengths[place] - has

    def fill(self, caps: Sequence[int]) -> None:
        """Divide the remaining budget evenly, until it is used or all are at their caps."""
        while self.available and (short := [place for place, has in self.lengths.items() if has < caps[place]]):
            each = max(self.available // len(short), 1)
            for place in short:
                more = min(each, self.available, caps[place] - self.lengths[place])
                self.lengths[place] += more
                self.available -= more


def common_length(lengths: Iterable[int], budget: int) -> int | None:
    """Return the greatest common limit at which texts of these lengths all fit; None if they fit unshortened."""
    rest = sorted(lengths)
    for place, length in enumerate(rest):
        each = budget // (len(rest) - place)
        if length > each:
            return each
        budget -= length
    return None
