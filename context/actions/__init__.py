"""The verbs of contexts: keyword-only, inside a scope, `by` whom and `now` passed in, one audit row each."""

from context.actions.assignments import (
    assign_budget_profile,
    assign_scoring_profile,
    unassign_budget_profile,
    unassign_scoring_profile,
)
from context.actions.budget_profiles import create_budget_profile, roll_back_budget_profile, save_budget_profile
from context.actions.evaluations import (
    cancel_evaluation,
    delete_evaluation,
    request_evaluation,
    retry_evaluation,
)
from context.actions.feedback import give_feedback, withdraw_feedback
from context.actions.golden_questions import (
    change_golden_question,
    collect_golden_question,
    remove_golden_question,
    restore_golden_question,
    unwant_memory,
    want_memory,
)
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
    "cancel_evaluation",
    "change_golden_question",
    "collect_golden_question",
    "create_budget_profile",
    "create_scoring_profile",
    "delete_evaluation",
    "edit_scoring_profile",
    "give_feedback",
    "publish_scoring_profile",
    "remove_golden_question",
    "request_evaluation",
    "restore_golden_question",
    "retire_scoring_profile",
    "retry_evaluation",
    "roll_back_budget_profile",
    "roll_back_scoring_profile",
    "save_budget_profile",
    "unassign_budget_profile",
    "unassign_scoring_profile",
    "unwant_memory",
    "want_memory",
    "withdraw_feedback",
]
