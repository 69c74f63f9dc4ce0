"""All SQL of what an agent gets to read, as named chainable methods."""

from context.querysets.evaluation import (
    EvaluationAnswerQuerySet,
    EvaluationRunQuerySet,
    GoldenMemoryQuerySet,
    GoldenQuestionQuerySet,
)
from context.querysets.profiles import DEFAULT_NAME, BudgetProfileQuerySet, ProfileAssignmentQuerySet
from context.querysets.records import FeedbackQuerySet, ReceiptFigures, ReceiptQuerySet
from context.querysets.scoring_profiles import ScoringProfileVersionQuerySet

__all__ = [
    "DEFAULT_NAME",
    "BudgetProfileQuerySet",
    "EvaluationAnswerQuerySet",
    "EvaluationRunQuerySet",
    "FeedbackQuerySet",
    "GoldenMemoryQuerySet",
    "GoldenQuestionQuerySet",
    "ProfileAssignmentQuerySet",
    "ReceiptFigures",
    "ReceiptQuerySet",
    "ScoringProfileVersionQuerySet",
]
