"""The retention check: which facts of a conversation a summary still tells (ADR-0070)."""

from compaction.services.pipeline.retention.check import Fact, Message, Retention, check_retention, facts_of, teller_of
from compaction.services.pipeline.retention.marking import Piece, mark_facts
from compaction.services.pipeline.retention.matches import KINDS

__all__ = ["KINDS", "Fact", "Message", "Piece", "Retention", "check_retention", "facts_of", "mark_facts", "teller_of"]
