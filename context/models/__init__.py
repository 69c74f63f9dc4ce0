"""The models of the context app."""

from context.models.evaluation import BUDGETS_MAX, EvaluationAnswer, EvaluationRun, GoldenMemory, GoldenQuestion
from context.models.profiles import (
    DEFAULT_BUDGET_PROFILE_NAME,
    BudgetProfile,
    BudgetProfileAssignment,
    ScoringProfileAssignment,
    ScoringProfileVersion,
    default_summary_levels,
)
from context.models.records import Feedback, LongQuery, Receipt

__all__ = [
    "BUDGETS_MAX",
    "DEFAULT_BUDGET_PROFILE_NAME",
    "BudgetProfile",
    "BudgetProfileAssignment",
    "EvaluationAnswer",
    "EvaluationRun",
    "Feedback",
    "GoldenMemory",
    "GoldenQuestion",
    "LongQuery",
    "Receipt",
    "ScoringProfileAssignment",
    "ScoringProfileVersion",
    "default_summary_levels",
]
