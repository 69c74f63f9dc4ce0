"""Diversity: what repeats something better counts for less (Carbonell and Goldstein's maximal marginal relevance)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from context.services.assembly.signals.columns import CandidatePool
from context.services.scorer import ScoreColumn

#: Only so many of the best are compared with what is better than they.
_COMPARED_MAX = 300


def repetition(pool: CandidatePool, scores: ScoreColumn, share: float) -> ScoreColumn:
    """How much each of the best repeats one that comes before it, 0..1, where a full repetition costs `share`.

    The best comes first; next is always the one whose score less its cost is highest.
    """
    repeated = np.zeros(len(pool))
    places: Sequence[int] = np.argsort(-scores, kind="stable")[:_COMPARED_MAX].tolist()
    if len(places) < 2:
        return repeated
    vectors = pool.vectors_of(places)
    own, nearest = scores[places], np.zeros(len(places))
    is_waiting = np.ones(len(places), dtype=bool)
    for _ in places:
        chosen = int(np.argmax(np.where(is_waiting, own - share * nearest, -np.inf)))
        is_waiting[chosen] = False
        repeated[places[chosen]] = nearest[chosen]
        nearest = np.maximum(nearest, np.clip(vectors @ vectors[chosen], 0.0, 1.0))
    return repeated
