"""Rows and constraints of what an agent gets to read."""

from context.models.profiles import (
    DEFAULT_PROFILE_NAME,
    ELASTIC_ITEMS_MAX,
    ELASTIC_TOKENS_MAX,
    OVERFETCH_RATIO_MAX,
    OVERFETCH_RATIO_MIN,
    RECEIPT_COUNT_MAX,
    RECEIPT_DAYS_MAX,
    SUMMARY_LEVELS_MAX,
    TOKENS_MAX,
    TOKENS_MIN,
    TOP_K_MAX,
    BudgetProfile,
    BudgetProfileAssignment,
    default_summary_levels,
)
from context.models.records import Feedback, Receipt

__all__ = [
    "DEFAULT_PROFILE_NAME",
    "ELASTIC_ITEMS_MAX",
    "ELASTIC_TOKENS_MAX",
    "OVERFETCH_RATIO_MAX",
    "OVERFETCH_RATIO_MIN",
    "RECEIPT_COUNT_MAX",
    "RECEIPT_DAYS_MAX",
    "SUMMARY_LEVELS_MAX",
    "TOKENS_MAX",
    "TOKENS_MIN",
    "TOP_K_MAX",
    "BudgetProfile",
    "BudgetProfileAssignment",
    "Feedback",
    "Receipt",
    "default_summary_levels",
]
