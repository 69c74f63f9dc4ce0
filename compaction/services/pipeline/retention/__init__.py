"""The retention check: which facts of a conversation a summary still tells (ADR-0070)."""

from compaction.services.pipeline.retention.check import (
    FactSource,
    RetainedFact,
    RetentionResult,
    check_retention,
    extract_facts,
    fact_lookup,
)
from compaction.services.pipeline.retention.marking import MarkedTextPiece, mark_facts
from compaction.services.pipeline.retention.matches import FACT_KINDS

__all__ = [
    "FACT_KINDS",
    "FactSource",
    "MarkedTextPiece",
    "RetainedFact",
    "RetentionResult",
    "check_retention",
    "extract_facts",
    "fact_lookup",
    "mark_facts",
]
