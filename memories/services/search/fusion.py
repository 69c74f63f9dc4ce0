"""Joining rankings, and gating candidates by tokens instead of by a fixed number."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

#: The usual constant of reciprocal-rank fusion (Cormack, Clarke and Büttcher, 2009).
RECIPROCAL_RANK_K = 60
MIN_CANDIDATES = 5
MAX_CANDIDATES = 1_000
#: Of the budget: what a memory counts for in the gate that is larger than all of it (ADR-0059).
OVERSIZED_COST_SHARE = 0.25

RankedId = TypeVar("RankedId", bound=Hashable)


def reciprocal_rank_fusion(*rankings: Sequence[RankedId], k: int = RECIPROCAL_RANK_K) -> list[tuple[RankedId, float]]:
    """Ids with their sum of 1 / (k + rank) over all rankings, best first; ranks count from 1.

    Ties go to the better best rank, then to the earlier first appearance. A repeated id counts once a ranking.
    Raises `ValueError` for a negative k.
    """
    if k < 0:
        raise ValueError(f"k must not be negative, not {k}")
    scores: dict[RankedId, float] = {}
    best_ranks: dict[RankedId, int] = {}
    for ranking in rankings:
        for rank, key in enumerate(dict.fromkeys(ranking), start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
            best_ranks[key] = min(rank, best_ranks.get(key, rank))
    return sorted(scores.items(), key=lambda item: (-item[1], best_ranks[item[0]]))


def gate_cost(tokens: int, *, budget: float) -> int:
    """What a memory of so many tokens takes of the budget; one that can never fit must not starve the rest."""
    return tokens if tokens <= budget else round(budget * OVERSIZED_COST_SHARE)


def gate_by_tokens(
    ids_in_order: Sequence[RankedId],
    tokens_by_id: Mapping[RankedId, int],
    *,
    budget: float,
    overfetch_ratio: float,
    minimum: int = MIN_CANDIDATES,
    maximum: int = MAX_CANDIDATES,
) -> list[RankedId]:
    """The first ids until their tokens reach `overfetch_ratio` x `budget`; at least `minimum`, at most `maximum`.

    The id that reaches the mark is still in. Raises `ValueError` for an id without a token count.
    """
    wanted = budget * overfetch_ratio
    chosen: list[RankedId] = []
    tokens = 0
    for key in ids_in_order[: max(maximum, 0)]:
        if tokens >= wanted and len(chosen) >= minimum:
            break
        if key not in tokens_by_id:
            raise ValueError(f"no token count for {key!r}")
        chosen.append(key)
        tokens += tokens_by_id[key]
    return chosen
