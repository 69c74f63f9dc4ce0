"""The retention check: which facts of a conversation a summary still contains (ADR-0070)."""
