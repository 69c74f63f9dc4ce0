"""Addresses of the pages of the context app; each contains the tenant, so that it can be shared."""

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
    golden_memory_add,
    golden_memory_remove,
    golden_question,
    golden_questions,
    golden_remove,
    golden_restore,
)
from context.evaluation.views.golden_new import golden_new
from context.feedback.views import memory_feedback, vote_restore, vote_withdraw
from context.profiles.kinds import BUDGET_KIND, SCORING_KIND
from context.profiles.views.assignments import assignment_end, assignment_undo, assignments
from context.profiles.views.budgets import budget_create, budget_profiles, budget_roll_back
from context.profiles.views.comparison import profile_comparison
from context.profiles.views.effects import profile_effect
from context.profiles.views.publishing import scoring_publish, scoring_retire, scoring_roll_back
from context.profiles.views.scoring import scoring_create, scoring_profile, scoring_profiles
from context.receipts.views import receipt, receipts
from context.workbench.views.compare import context_compare
from context.workbench.views.curves import budget_curve
from context.workbench.views.inclusion_budget import context_inclusion_budget, context_suggestions
from context.workbench.views.preview import context_preview

EVALUATIONS = "t/<uuid:tenant_id>/evaluations"
GOLDEN = "t/<uuid:tenant_id>/golden-questions"
_BUDGETS = "t/<uuid:tenant_id>/budgets"
_SCORING = "t/<uuid:tenant_id>/scoring"
_BUDGET, _SCORES = {"kind": BUDGET_KIND}, {"kind": SCORING_KIND}
SCORING_PROFILE = f"{_SCORING}/profiles/<slug:name>"
_VOTES = "t/<uuid:tenant_id>/memories/<uuid:memory_id>/votes"

urlpatterns = [
    path("t/<uuid:tenant_id>/context", context_preview, name="context-preview"),
    path("t/<uuid:tenant_id>/context/compare", context_compare, name="context-compare"),
    path("t/<uuid:tenant_id>/context/curve", budget_curve, name="budget-curve"),
    path("t/<uuid:tenant_id>/context/entry", context_inclusion_budget, name="context-entry"),
    path("t/<uuid:tenant_id>/context/suggest", context_suggestions, name="context-suggest"),
    path("t/<uuid:tenant_id>/contexts", receipts, name="context-log"),
    path("t/<uuid:tenant_id>/contexts/<uuid:receipt_id>", receipt, name="receipt"),
    path(_VOTES, memory_feedback, name="memory-votes"),
    path(f"{_VOTES}/again", vote_restore, name="vote-again"),
    path(f"{_VOTES}/<uuid:vote_id>/withdraw", vote_withdraw, name="vote-withdraw"),
    path(_BUDGETS, budget_profiles, name="budgets"),
    path(f"{_BUDGETS}/new", budget_create, name="budget-create"),
    path(f"{_BUDGETS}/compare", profile_comparison, _BUDGET, name="budget-compare"),
    path(f"{_BUDGETS}/assignments", assignments, _BUDGET, name="budget-assignments"),
    path(f"{_BUDGETS}/assignments/end", assignment_end, _BUDGET, name="budget-assignment-end"),
    path(f"{_BUDGETS}/assignments/again", assignment_undo, _BUDGET, name="budget-assignment-again"),
    path(f"{_BUDGETS}/profiles/<slug:name>", budget_profiles, name="budget"),
    path(f"{_BUDGETS}/profiles/<slug:name>/effect", profile_effect, _BUDGET, name="budget-effect"),
    path(f"{_BUDGETS}/profiles/<slug:name>/<int:version>/roll-back", budget_roll_back, name="budget-roll-back"),
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
    path(f"{GOLDEN}/<uuid:question_id>/memories/<uuid:memory_id>/want", golden_memory_add, name="golden-want"),
    path(f"{GOLDEN}/<uuid:question_id>/memories/<uuid:memory_id>/unwant", golden_memory_remove, name="golden-unwant"),
    path(_SCORING, scoring_profiles, name="scoring-profiles"),
    path(f"{_SCORING}/new", scoring_create, name="scoring-create"),
    path(f"{_SCORING}/compare", profile_comparison, _SCORES, name="scoring-compare"),
    path(f"{_SCORING}/assignments", assignments, _SCORES, name="scoring-assignments"),
    path(f"{_SCORING}/assignments/end", assignment_end, _SCORES, name="scoring-assignment-end"),
    path(f"{_SCORING}/assignments/again", assignment_undo, _SCORES, name="scoring-assignment-again"),
    path(SCORING_PROFILE, scoring_profile, name="scoring-profile"),
    path(f"{SCORING_PROFILE}/effect", profile_effect, _SCORES, name="scoring-effect"),
    path(f"{SCORING_PROFILE}/<int:version>/publish", scoring_publish, name="scoring-publish"),
    path(f"{SCORING_PROFILE}/<int:version>/roll-back", scoring_roll_back, name="scoring-roll-back"),
    path(f"{SCORING_PROFILE}/<int:version>/retire", scoring_retire, name="scoring-retire"),
]
