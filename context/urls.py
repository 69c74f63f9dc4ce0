"""Addresses of the pages about what agents get to read; the tenant stands in each, so that it can be shared."""

from django.urls import path

from context.evaluation.views.evaluations import (
    evaluation,
    evaluation_cancel,
    evaluation_delete,
    evaluation_retry,
    evaluations,
)
from context.evaluation.views.golden import (
    golden_collect,
    golden_export,
    golden_question,
    golden_questions,
    golden_remove,
    golden_restore,
    golden_unwant,
    golden_want,
)
from context.evaluation.views.golden_new import golden_new
from context.feedback.views import memory_votes, vote_again, vote_withdraw
from context.profiles.views.assignments import (
    assignment_again,
    assignment_end,
    assignments,
    scoring_assignment_again,
    scoring_assignment_end,
    scoring_assignments,
)
from context.profiles.views.budgets import budget_compare, budget_create, budget_roll_back, budgets
from context.profiles.views.effects import budget_effect, scoring_effect
from context.profiles.views.publishing import scoring_publish, scoring_retire, scoring_roll_back
from context.profiles.views.scoring import scoring_compare, scoring_create, scoring_profile, scoring_profiles
from context.receipts.views import receipt, receipts
from context.workbench.views.compare import context_compare
from context.workbench.views.curves import budget_curve
from context.workbench.views.inclusion_budget import context_entry, context_suggest
from context.workbench.views.preview import context_preview

EVALUATIONS = "t/<uuid:tenant_id>/evaluations"
GOLDEN = "t/<uuid:tenant_id>/golden-questions"
BUDGETS = "t/<uuid:tenant_id>/budgets"
SCORING = "t/<uuid:tenant_id>/scoring"
SCORING_PROFILE = f"{SCORING}/profiles/<slug:name>"
VOTES = "t/<uuid:tenant_id>/memories/<uuid:memory_id>/votes"

urlpatterns = [
    path("t/<uuid:tenant_id>/context", context_preview, name="context-preview"),
    path("t/<uuid:tenant_id>/context/compare", context_compare, name="context-compare"),
    path("t/<uuid:tenant_id>/context/curve", budget_curve, name="budget-curve"),
    path("t/<uuid:tenant_id>/context/entry", context_entry, name="context-entry"),
    path("t/<uuid:tenant_id>/context/suggest", context_suggest, name="context-suggest"),
    path("t/<uuid:tenant_id>/contexts", receipts, name="receipts"),
    path("t/<uuid:tenant_id>/contexts/<uuid:receipt_id>", receipt, name="receipt"),
    path(VOTES, memory_votes, name="memory-votes"),
    path(f"{VOTES}/again", vote_again, name="vote-again"),
    path(f"{VOTES}/<uuid:vote_id>/withdraw", vote_withdraw, name="vote-withdraw"),
    path(BUDGETS, budgets, name="budgets"),
    path(f"{BUDGETS}/new", budget_create, name="budget-create"),
    path(f"{BUDGETS}/compare", budget_compare, name="budget-compare"),
    path(f"{BUDGETS}/assignments", assignments, name="budget-assignments"),
    path(f"{BUDGETS}/assignments/end", assignment_end, name="budget-assignment-end"),
    path(f"{BUDGETS}/assignments/again", assignment_again, name="budget-assignment-again"),
    path(f"{BUDGETS}/profiles/<slug:name>", budgets, name="budget"),
    path(f"{BUDGETS}/profiles/<slug:name>/effect", budget_effect, name="budget-effect"),
    path(f"{BUDGETS}/profiles/<slug:name>/<int:version>/roll-back", budget_roll_back, name="budget-roll-back"),
    path(EVALUATIONS, evaluations, name="evaluations"),
    path(f"{EVALUATIONS}/<uuid:run_id>", evaluation, name="evaluation"),
    path(f"{EVALUATIONS}/<uuid:run_id>/cancel", evaluation_cancel, name="evaluation-cancel"),
    path(f"{EVALUATIONS}/<uuid:run_id>/retry", evaluation_retry, name="evaluation-retry"),
    path(f"{EVALUATIONS}/<uuid:run_id>/delete", evaluation_delete, name="evaluation-delete"),
    path(GOLDEN, golden_questions, name="golden-questions"),
    path(f"{GOLDEN}/new", golden_new, name="golden-new"),
    path(f"{GOLDEN}/collect", golden_collect, name="golden-collect"),
    path(f"{GOLDEN}/export", golden_export, name="golden-export"),
    path(f"{GOLDEN}/<uuid:question_id>", golden_question, name="golden-question"),
    path(f"{GOLDEN}/<uuid:question_id>/remove", golden_remove, name="golden-remove"),
    path(f"{GOLDEN}/<uuid:question_id>/restore", golden_restore, name="golden-restore"),
    path(f"{GOLDEN}/<uuid:question_id>/memories/<uuid:memory_id>/want", golden_want, name="golden-want"),
    path(f"{GOLDEN}/<uuid:question_id>/memories/<uuid:memory_id>/unwant", golden_unwant, name="golden-unwant"),
    path(SCORING, scoring_profiles, name="scoring-profiles"),
    path(f"{SCORING}/new", scoring_create, name="scoring-create"),
    path(f"{SCORING}/compare", scoring_compare, name="scoring-compare"),
    path(f"{SCORING}/assignments", scoring_assignments, name="scoring-assignments"),
    path(f"{SCORING}/assignments/end", scoring_assignment_end, name="scoring-assignment-end"),
    path(f"{SCORING}/assignments/again", scoring_assignment_again, name="scoring-assignment-again"),
    path(SCORING_PROFILE, scoring_profile, name="scoring-profile"),
    path(f"{SCORING_PROFILE}/effect", scoring_effect, name="scoring-effect"),
    path(f"{SCORING_PROFILE}/<int:version>/publish", scoring_publish, name="scoring-publish"),
    path(f"{SCORING_PROFILE}/<int:version>/roll-back", scoring_roll_back, name="scoring-roll-back"),
    path(f"{SCORING_PROFILE}/<int:version>/retire", scoring_retire, name="scoring-retire"),
]
