"""The inputs and results that all packers share."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from context.services.assembly.model_catalog import encoding_and_factor, scaled_count
from context.services.scorer import SCORE_DECIMALS, ScoredMemory

OVER_BUDGET = "over_budget"
AFTER_SKIP_LIMIT = "after_skip_limit"


class TokenCounter(Protocol):
    """The one method of the budget calculator that a packer may call."""

    def count_tokens(self, content: str, model: str) -> int:
        """Return the tokens of `content` for `model`."""
        ...


class OmittedMemory(NamedTuple):
    """An excluded memory: its id, `over_budget` or `after_skip_limit`, and its tokens (None where never counted)."""

    id: Any
    reason: str
    tokens: int | None


@dataclass(frozen=True)
class PackedMemories:
    """The kept and the omitted memories, both in score order.

    `allotted` (id to length) and `snippets` (id to text) are set by packers that shorten, `optimal_score` and
    `upper_bound` by packers that know them.
    """

    memories: Sequence[ScoredMemory]
    total_tokens: int
    omitted: Sequence[OmittedMemory] = field(default_factory=list)
    allotted: Mapping[Any, int] | None = None
    snippets: Mapping[Any, str] | None = None
    optimal_score: float | None = None
    upper_bound: float | None = None

    @cached_property
    def total_score(self) -> float:
        """The sum of the composite scores of the kept memories, rounded to 6 decimals."""
        return round(math.fsum(scored.composite_score for scored in self.memories), SCORE_DECIMALS)

    @property
    def skipped_count(self) -> int:
        """The number of omitted memories."""
        return len(self.omitted)

    @property
    def was_budget_reached(self) -> bool:
        """Whether any memory is omitted."""
        return bool(self.omitted)


class TokenPacker:
    """The code shared by the packers: the tokens of a memory with its marker, by the stored count or the calculator."""

    def __init__(self, budget_calculator: TokenCounter, *, marker_tokens: int = 0) -> None:
        """Set the calculator, for memories without a stored count, and the tokens of each marker."""
        self._budget_calculator = budget_calculator
        self._marker_tokens = marker_tokens

    def _stored_length(self, scored: ScoredMemory, model: str) -> int | None:
        return stored_tokens(scored, model, self._marker_tokens)

    def _stored_lengths(self, candidates: Iterable[ScoredMemory], model: str) -> list[int | None]:
        """Return the stored length of each candidate; the model is looked up only once."""
        encoding, factor = encoding_and_factor(model)
        if factor != 1.0:
            return [self._stored_length(one, model) for one in candidates]
        counts = [(one.memory.get("token_counts") or {}).get(encoding) for one in candidates]
        return [None if count is None else count + self._marker_tokens for count in counts]

    def _length(self, scored: ScoredMemory, model: str) -> int:
        return self._checked(scored, stored_tokens(scored, model, self._marker_tokens), model)

    def _checked(self, scored: ScoredMemory, tokens: int | None, model: str) -> int:
        """Return the stored length, or that of the text. Raises `ValueError` for a negative one."""
        if tokens is None:
            tokens = self._count(scored.memory["content"], model)
        if tokens < 0:
            raise ValueError(f"token_counts must not be negative (memory {scored.memory['id']})")
        return tokens

    def _count(self, text: str, model: str) -> int:
        return self._budget_calculator.count_tokens(text, model) + self._marker_tokens

    def _nothing(self, candidates: Iterable[ScoredMemory], model: str) -> list[OmittedMemory]:
        return [OmittedMemory(one.memory["id"], OVER_BUDGET, self._stored_length(one, model)) for one in candidates]


def in_score_order(scored_memories: Iterable[ScoredMemory]) -> list[ScoredMemory]:
    """Return the memories, highest composite first, equal ones in the given order; only the first of a repeated id."""
    ranked = sorted(scored_memories, key=attrgetter("composite_score"), reverse=True)
    if len({scored.memory["id"] for scored in ranked}) == len(ranked):
        return ranked
    first: dict[Any, ScoredMemory] = {}
    for scored in ranked:
        first.setdefault(scored.memory["id"], scored)
    return list(first.values())


def stored_tokens(scored: ScoredMemory, model: str, marker_tokens: int = 0) -> int | None:
    """Return the stored count for the model's encoding and the marker, times the model's safety factor, or None."""
    encoding, factor = encoding_and_factor(model)
    count = (scored.memory.get("token_counts") or {}).get(encoding)
    if count is None:
        return None
    return count + marker_tokens if factor == 1.0 else scaled_count(count + marker_tokens, model)


def over_budget(candidates: Sequence[ScoredMemory], lengths: Sequence[int], kept: Iterable[int]) -> list[OmittedMemory]:
    """Return the candidates whose positions are not in `kept` as omitted."""
    places = set(kept)
    return [
        OmittedMemory(one.memory["id"], OVER_BUDGET, length)
        for place, (one, length) in enumerate(zip(candidates, lengths, strict=True))
        if place not in places
    ]
