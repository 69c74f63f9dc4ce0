"""Neighbours: a message beside others that have to do with the question, most of all one that answers such an other."""

from __future__ import annotations

import numpy as np

from context.services.assembly.signals.columns import CandidatePool, column_at
from context.services.scorer import ScoreColumn

#: ADR-0078. Shares of what the messages next to it, those one further off, and a question right before it bring.
SHARE_NEXT, SHARE_FURTHER, SHARE_OF_QUESTION = 0.35, 0.22, 0.43


def adjacent_turns(pool: CandidatePool) -> ScoreColumn:
    """What the messages beside each memory have to do with the question, 0..1; 0 for what is no message."""
    beside = pool.beside
    next_to = (column_at(pool.similarity, beside[-1]) + column_at(pool.similarity, beside[1])) / 2.0
    further = (column_at(pool.similarity, beside[-2]) + column_at(pool.similarity, beside[2])) / 2.0
    asked = column_at(np.where(pool.is_question, pool.strength, 0.0), beside[-1])
    return np.asarray(SHARE_NEXT * next_to + SHARE_FURTHER * further + SHARE_OF_QUESTION * asked)
