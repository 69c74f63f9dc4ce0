"""How much of the evidence contexts hold: measured by question, summed up, compared."""

from context.services.evaluation.evidence.intervals import Estimate
from context.services.evaluation.evidence.measures import QuestionMeasures, measure_retrieved_evidence
from context.services.evaluation.evidence.report import (
    MEASURES,
    EvaluationReport,
    MeasuredAnswer,
    MeasuresSummary,
    RunDifference,
    build_evaluation_report,
    run_difference,
    summarise_measures,
)

__all__ = [
    "MEASURES",
    "Estimate",
    "EvaluationReport",
    "MeasuredAnswer",
    "MeasuresSummary",
    "QuestionMeasures",
    "RunDifference",
    "build_evaluation_report",
    "measure_retrieved_evidence",
    "run_difference",
    "summarise_measures",
]
