"""Signals: the score components beyond those of `adr-0040`. Each is a pure function of the candidates and the query.

Every signal returns one number per candidate, 0..1 (`supersession` -1..1). A scoring profile assigns a weight to each.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from context.services.assembly.signals.answer_type import answer_type
from context.services.assembly.signals.columns import CandidatePool
from context.services.assembly.signals.messages import adjacent_turns, entity_match, informativeness, lexical_overlap
from context.services.assembly.signals.supersession import supersession
from context.services.assembly.signals.temporal_match import temporal_match
from context.services.scorer import ScoreColumn

#: By the name of the component, in the order in which components are reported.
SIGNALS: Mapping[str, Callable[[CandidatePool], ScoreColumn]] = MappingProxyType(
    {
        "lexical_overlap": lexical_overlap,
        "adjacent_turns": adjacent_turns,
        "entity_match": entity_match,
        "temporal_match": temporal_match,
        "answer_type": answer_type,
        "informativeness": informativeness,
        "supersession": supersession,
    }
)
