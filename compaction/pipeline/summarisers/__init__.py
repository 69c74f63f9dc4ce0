"""Turning messages into statements with their sources: one Protocol, two summarisers (ADR-0072)."""

from compaction.pipeline.summarisers.protocol import Summariser, SummariserError, SummaryResult, SummaryTask
from compaction.pipeline.summarisers.selection import (
    configured_summariser,
    fallback_summariser,
    has_model,
    summary_model,
)

__all__ = [
    "Summariser",
    "SummariserError",
    "SummaryResult",
    "SummaryTask",
    "configured_summariser",
    "fallback_summariser",
    "has_model",
    "summary_model",
]
