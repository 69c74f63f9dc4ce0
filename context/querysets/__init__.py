"""All SQL of what an agent gets to read, as named chainable methods."""

from context.querysets.evaluation import EvaluationAnswerQuerySet, EvaluationRunQuerySet, GoldenQuestionQuerySet
from context.querysets.profiles import DEFAULT_NAME, BudgetProfileAssignmentQuerySet, BudgetProfileQuerySet
from context.querysets.records import FeedbackQuerySet, ReceiptQuerySet

__all__ = [
    "DEFAULT_NAME",
    "BudgetProfileAssignmentQuerySet",
    "BudgetProfileQuerySet",
    "EvaluationAnswerQuerySet",
    "EvaluationRunQuerySet",
    "FeedbackQuerySet",
    "GoldenQuestionQuerySet",
    "ReceiptQuerySet",
]
