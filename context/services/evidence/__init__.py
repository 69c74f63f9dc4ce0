"""How much of the evidence contexts hold: measured by question, summed up, compared."""

from context.services.evidence.intervals import Estimate
from context.services.evidence.measured import Measured, measure
from context.services.evidence.report import (
    MEASURES,
    Answer,
    Difference,
    Report,
    Summary,
    difference_between,
    report_on,
    summarise,
)

__all__ = [
    "MEASURES",
    "Answer",
    "Difference",
    "Estimate",
    "Measured",
    "Report",
    "Summary",
    "difference_between",
    "measure",
    "report_on",
    "summarise",
]
