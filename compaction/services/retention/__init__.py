"""The retention check: which facts of a conversation a summary still tells (ADR-0070)."""

from compaction.services.retention.checking import Fact, Message, Retention, check_retention, facts_of, teller_of
from compaction.services.retention.findings import KINDS
from compaction.services.retention.marking import Piece, mark_facts

__all__ = ["KINDS", "Fact", "Message", "Piece", "Retention", "check_retention", "facts_of", "mark_facts", "teller_of"]
