"""Statements: what is said rather than asked; a word of assent says little, a long answer more."""

from __future__ import annotations

import re

import numpy as np

from context.services.assembly.signals.columns import CandidatePool
from context.services.scorer import ScoreColumn

#: ADR-0078. Words that are stated from which on more of them tell nothing more.
WORDS_IN_FULL = 50
_SENTENCE = re.compile(r"[^.!?。！？؟]+[.!?。！？؟]*")


def informativeness(pool: CandidatePool) -> ScoreColumn:
    """How much each text states, 0..1, by the logarithm of its words that ask nothing; 0 where it ends by asking."""
    counts = np.array(
        [0 if asks else _stated_words(body) for body, asks in zip(pool.bodies, pool.is_question.tolist(), strict=True)]
    )
    return np.asarray(np.minimum(np.log1p(counts) / np.log1p(WORDS_IN_FULL), 1.0))


def _stated_words(body: str) -> int:
    if "?" not in body:
        return len(body.split())
    return sum(len(part.split()) for part in _SENTENCE.findall(body) if not part.endswith(("?", "？", "؟")))
