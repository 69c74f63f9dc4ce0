"""Operator pages about what agents get to read: the context preview, the budget."""

from context.views.assignments import (
    assignment_again,
    assignment_end,
    assignments,
    scoring_assignment_again,
    scoring_assignment_end,
    scoring_assignments,
)
from context.views.budgets import budget_compare, budget_create, budget_roll_back, budgets
from context.views.compare import context_compare
from context.views.contexts import receipt, receipts
from context.views.curves import budget_curve
from context.views.effects import budget_effect, scoring_effect
from context.views.entry import context_entry, context_suggest
from context.views.evaluations import (
    evaluation,
    evaluation_cancel,
    evaluation_delete,
    evaluation_retry,
    evaluations,
)
from context.views.golden import (
    golden_collect,
    golden_export,
    golden_question,
    golden_questions,
    golden_remove,
    golden_restore,
    golden_unwant,
    golden_want,
)
from context.views.golden_new import golden_new
from context.views.preview import context_preview
from context.views.scoring import (
    scoring_compare,
    scoring_create,
    scoring_profile,
    scoring_profiles,
)
from context.views.scoring_verbs import scoring_publish, scoring_retire, scoring_roll_back
from context.views.votes import memory_votes, vote_again, vote_withdraw

__all__ = [
    "assignment_again",
    "assignment_end",
    "assignments",
    "budget_compare",
    "budget_create",
    "budget_curve",
    "budget_effect",
    "budget_roll_back",
    "budgets",
    "context_compare",
    "context_entry",
    "context_preview",
    "context_suggest",
    "evaluation",
    "evaluation_cancel",
    "evaluation_delete",
    "evaluation_retry",
    "evaluations",
    "golden_collect",
    "golden_export",
    "golden_new",
    "golden_question",
    "golden_questions",
    "golden_remove",
    "golden_restore",
    "golden_unwant",
    "golden_want",
    "memory_votes",
    "receipt",
    "receipts",
    "scoring_assignment_again",
    "scoring_assignment_end",
    "scoring_assignments",
    "scoring_compare",
    "scoring_create",
    "scoring_effect",
    "scoring_profile",
    "scoring_profiles",
    "scoring_publish",
    "scoring_retire",
    "scoring_roll_back",
    "vote_again",
    "vote_withdraw",
]
