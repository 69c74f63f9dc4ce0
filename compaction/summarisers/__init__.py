"""Turning messages into statements with their sources: one Protocol, two summarisers (ADR-0072)."""

from compaction.summarisers.protocol import Summariser, SummariserError, Summary, SummaryTask
from compaction.summarisers.selection import chosen_summariser, fallback_summariser, has_model, model_for

__all__ = [
    "Summariser",
    "SummariserError",
    "Summary",
    "SummaryTask",
    "chosen_summariser",
    "fallback_summariser",
    "has_model",
    "model_for",
]
