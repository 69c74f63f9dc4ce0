"""The retention check: which facts of a conversation a summary still tells (ADR-0070)."""
