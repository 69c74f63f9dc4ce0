"""The verbs of contexts: keyword-only, inside a scope, `by` whom and `now` passed in, one audit row each."""

from context.actions.assignments import (
    assign_budget_profile,
    assign_scoring_profile,
    unassign_budget_profile,
    unassign_scoring_profile,
)
from context.actions.budget_profiles import create_budget_profile, roll_back_budget_profile, save_budget_profile
from context.actions.feedback import give_feedback, withdraw_feedback
from context.actions.scoring_profiles import (
    create_scoring_profile,
    edit_scoring_profile,
    publish_scoring_profile,
    retire_scoring_profile,
    roll_back_scoring_profile,
)

__all__ = [
    "assign_budget_profile",
    "assign_scoring_profile",
    "create_budget_profile",
    "create_scoring_profile",
    "edit_scoring_profile",
    "give_feedback",
    "publish_scoring_profile",
    "retire_scoring_profile",
    "roll_back_budget_profile",
    "roll_back_scoring_profile",
    "save_budget_profile",
    "unassign_budget_profile",
    "unassign_scoring_profile",
    "withdraw_feedback",
]
