"""How much of the evidence contexts hold: measured by question, summed up, compared."""

from context.services.evaluation.evidence.intervals import Estimate
from context.services.evaluation.evidence.measures import Measured, measure
from context.services.evaluation.evidence.report import (
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
