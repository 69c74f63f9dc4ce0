"""What every packer takes and answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from context.services.assembly.model_catalog import encoding_for, scaled_count
from context.services.scorer import SCORE_DECIMALS, ScoredMemory

OVER_BUDGET = "over_budget"
AFTER_SKIP_LIMIT = "after_skip_limit"


class TokenCounter(Protocol):
    """The one method of the budget calculator that a packer may call."""

    def count_tokens(self, content: str, model: str) -> int:
        """Tokens of `content` for `model`."""
        ...


@dataclass(frozen=True)
class OmittedMemory:
    """A memory left out: its id, `over_budget` or `after_skip_limit`, and its tokens (None where never counted)."""

    id: Any
    reason: str
    tokens: int | None


@dataclass(frozen=True)
class PackedMemories:
    """What a packer kept, in score order, and what it left out, in score order.

    `total_tokens` and `total_score` (6 decimals) are sums over the kept items. `allotted` (id to length) and `snippets`
    (id to text) are set by packers that shorten; `optimal_score` and `upper_bound` by packers that know them.
    """

    memories: Sequence[ScoredMemory]
    total_tokens: int
    total_score: float
    skipped_count: int
    was_budget_reached: bool
    omitted: Sequence[OmittedMemory] = field(default_factory=list)
    allotted: Mapping[Any, int] | None = None
    snippets: Mapping[Any, str] | None = None
    optimal_score: float | None = None
    upper_bound: float | None = None


def in_score_order(scored_memories: Iterable[ScoredMemory]) -> list[ScoredMemory]:
    """Highest composite first, equal ones as they came; only the first of a repeated id."""
    ordered = sorted(scored_memories, key=lambda scored: -scored.composite_score)
    first: dict[Any, ScoredMemory] = {}
    for scored in ordered:
        first.setdefault(scored.memory["id"], scored)
    return list(first.values())


def scored_memory_tokens(scored: ScoredMemory, model: str, counter: TokenCounter, marker_tokens: int = 0) -> int:
    """Return the tokens of a memory and its marker for `model`: by the stored count of its encoding, else by `counter`.

    Raises `ValueError` for a negative count.
    """
    tokens = stored_tokens(scored, model, marker_tokens)
    if tokens is None:
        tokens = counter.count_tokens(scored.memory["content"], model) + marker_tokens
    if tokens < 0:
        raise ValueError(f"token_counts must not be negative (memory {scored.memory['id']})")
    return tokens


def stored_tokens(scored: ScoredMemory, model: str, marker_tokens: int = 0) -> int | None:
    """Return the stored count for the model's encoding and the marker, times the model's safety factor, or None."""
    counts = scored.memory.get("token_counts") or {}
    count = counts.get(encoding_for(model))
    return None if count is None else scaled_count(count + marker_tokens, model)


def total_score(kept: Iterable[ScoredMemory]) -> float:
    """Sum of the composite scores, rounded to 6 decimals."""
    return round(math.fsum(scored.composite_score for scored in kept), SCORE_DECIMALS)
