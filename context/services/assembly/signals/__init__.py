"""Signals: what beside its cosine speaks for a memory, each a pure function of the candidates and the question.

Every signal gives one number a candidate, 0..1 (`currency` -1..1). A scoring profile says what each weighs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType

from context.services.assembly.signals.adjacent_turns import adjacent_turns
from context.services.assembly.signals.answer_type import answer_type
from context.services.assembly.signals.columns import CandidatePool
from context.services.assembly.signals.entity_match import entity_match
from context.services.assembly.signals.informativeness import informativeness
from context.services.assembly.signals.lexical_overlap import lexical_overlap
from context.services.assembly.signals.supersession import supersession
from context.services.assembly.signals.temporal_match import temporal_match
from context.services.scorer import ScoreColumn

Signal = Callable[[CandidatePool, datetime], ScoreColumn]

#: By the name of the part, in the order in which parts are told; each takes the candidates and when was asked.
SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {
        "lexical_overlap": lambda pool, _: lexical_overlap(pool),
        "adjacent_turns": lambda pool, _: adjacent_turns(pool),
        "entity_match": lambda pool, _: entity_match(pool),
        "temporal_match": temporal_match,
        "answer_type": lambda pool, _: answer_type(pool),
        "informativeness": lambda pool, _: informativeness(pool),
        "supersession": supersession,
    }
)
