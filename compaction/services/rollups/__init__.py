"""The rules of partition summaries (ADR-0104)."""
