"""Turning messages into statements with their sources: one Protocol, two summarisers (ADR-0072)."""

from compaction.pipeline.summarisers.protocol import Summariser, SummariserError, Summary, SummaryTask
from compaction.pipeline.summarisers.selection import chosen_summariser, fallback_summariser, has_model, model_for

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
