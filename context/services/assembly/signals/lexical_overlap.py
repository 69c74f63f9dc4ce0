"""Words: how much of what the question says a memory holds, together with the messages beside it.

A lexeme counts by how few candidates hold it. What stands in the message before is spoken of in this one ("And where
was that?" - "In Lisbon"), so it counts here too, a little less the further off it stands.
"""

from __future__ import annotations

import numpy as np

from context.services.assembly.signals.columns import CandidatePool, column_at
from context.services.scorer import ScoreColumn

#: ADR-0078. What a lexeme counts that another message of the session holds, by its distance.
SHARE_AT = {-1: 0.8, 1: 0.6, -2: 0.5, 2: 0.4}


def lexical_overlap(pool: CandidatePool) -> ScoreColumn:
    """The weight of the question's lexemes that each memory holds or has beside it, 0..1."""
    held = pool.holds
    for distance, share in SHARE_AT.items():
        held = np.maximum(held, share * column_at(pool.holds, pool.beside[distance]))
    return np.asarray(held @ pool.lexeme_weights)
