"""The verbs of contexts: keyword-only, inside a scope, `by` whom and `now` passed in, one audit row each."""

from context.actions.assignments import assign_budget_profile, unassign_budget_profile
from context.actions.budget_profiles import create_budget_profile, roll_back_budget_profile, save_budget_profile
from context.actions.feedback import give_feedback, withdraw_feedback

__all__ = [
    "assign_budget_profile",
    "create_budget_profile",
    "give_feedback",
    "roll_back_budget_profile",
    "save_budget_profile",
    "unassign_budget_profile",
    "withdraw_feedback",
]
