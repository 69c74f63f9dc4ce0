"""Signals: what beside its cosine speaks for a memory, each a pure function of the candidates and the question.

Every signal gives one number a candidate, 0..1 (`currency` -1..1). A scoring profile says what each weighs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType

from context.services.assembly.signals.adjacent_turns import neighbours
from context.services.assembly.signals.answer_type import answers
from context.services.assembly.signals.columns import Pool
from context.services.assembly.signals.entity_match import person
from context.services.assembly.signals.informativeness import statements
from context.services.assembly.signals.lexical_overlap import words
from context.services.assembly.signals.supersession import currency
from context.services.assembly.signals.temporal_match import times
from context.services.scorer import Column

Signal = Callable[[Pool, datetime], Column]

#: By the name of the part, in the order in which parts are told; each takes the candidates and when was asked.
SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {
        "words": lambda pool, _: words(pool),
        "neighbours": lambda pool, _: neighbours(pool),
        "person": lambda pool, _: person(pool),
        "time": times,
        "answer": lambda pool, _: answers(pool),
        "statement": lambda pool, _: statements(pool),
        "currency": currency,
    }
)
