"""Addresses of the pages of the context app; each contains the tenant, so that it can be shared."""

from django.urls import path

from context.evaluation.views import evaluations, golden, golden_new
from context.feedback import views as feedback
from context.profiles.kinds import BUDGET_KIND, SCORING_KIND
from context.profiles.views import budgets, effects, keep_budget, publishing, scoring, shared
from context.receipts.views import agents, context_log
from context.workbench.views import (
    addresses,
    compare_profiles,
    curves,
    explanation,
    inclusion_budget,
    preview,
    suggestions,
)

EVALUATIONS = "t/<uuid:tenant_id>/evaluations"
GOLDEN = "t/<uuid:tenant_id>/golden-questions"
_QUESTION = f"{GOLDEN}/<uuid:question_id>"
_BUDGETS = "t/<uuid:tenant_id>/budgets"
_SCORING = "t/<uuid:tenant_id>/scoring"
_BUDGET, _SCORES = {"kind": BUDGET_KIND}, {"kind": SCORING_KIND}
SCORING_PROFILE = f"{_SCORING}/profiles/<slug:name>"
_VOTES = "t/<uuid:tenant_id>/memories/<uuid:memory_id>/votes"

urlpatterns = [
    path("t/<uuid:tenant_id>/context", preview.context_preview, name="context-preview"),
    path("t/<uuid:tenant_id>/context/compare", compare_profiles.compare_profiles, name="context-compare"),
    path("t/<uuid:tenant_id>/context/curve", curves.budget_curve, name="budget-curve"),
    path(
        "t/<uuid:tenant_id>/context/inclusion-budget",
        inclusion_budget.context_inclusion_budget,
        name="inclusion-budget",
    ),
    path("t/<uuid:tenant_id>/context/address/<slug:name>", addresses.context_address, name="context-address"),
    path("t/<uuid:tenant_id>/context/explain", explanation.context_explanation, name="context-explain"),
    path("t/<uuid:tenant_id>/context/suggest", suggestions.context_suggestions, name="context-suggest"),
    path("t/<uuid:tenant_id>/contexts", context_log.receipts, name="context-log"),
    path("t/<uuid:tenant_id>/contexts/export", context_log.receipt_export, name="context-export"),
    path("t/<uuid:tenant_id>/agents", agents.agents, name="agents"),
    path("t/<uuid:tenant_id>/contexts/<uuid:receipt_id>", context_log.receipt, name="receipt"),
    path(_VOTES, feedback.memory_feedback, name="memory-votes"),
    path(f"{_VOTES}/restore", feedback.vote_restore, name="vote-restore"),
    path(f"{_VOTES}/<uuid:vote_id>/withdraw", feedback.vote_withdraw, name="vote-withdraw"),
    path(_BUDGETS, budgets.budget_profiles, name="budgets"),
    path(f"{_BUDGETS}/new", budgets.budget_create, name="budget-create"),
    path(f"{_BUDGETS}/keep", keep_budget.budget_keep, name="budget-keep"),
    path(f"{_BUDGETS}/compare", shared.profile_comparison, _BUDGET, name="budget-compare"),
    path(f"{_BUDGETS}/assignments", shared.assignments, _BUDGET, name="budget-assignments"),
    path(f"{_BUDGETS}/assignments/end", shared.assignment_end, _BUDGET, name="budget-assignment-end"),
    path(f"{_BUDGETS}/assignments/undo", shared.assignment_undo, _BUDGET, name="budget-assignment-undo"),
    path(f"{_BUDGETS}/profiles/<slug:name>", budgets.budget_profiles, name="budget"),
    path(f"{_BUDGETS}/profiles/<slug:name>/rename", budgets.budget_rename, name="budget-rename"),
    path(f"{_BUDGETS}/profiles/<slug:name>/retire", budgets.budget_retire, name="budget-retire"),
    path(f"{_BUDGETS}/profiles/<slug:name>/restore", budgets.budget_restore, name="budget-restore"),
    path(f"{_BUDGETS}/profiles/<slug:name>/effect", effects.profile_effect, _BUDGET, name="budget-effect"),
    path(f"{_BUDGETS}/profiles/<slug:name>/<int:version>/rollback", budgets.budget_roll_back, name="budget-rollback"),
    path(EVALUATIONS, evaluations.evaluations, name="evaluations"),
    path(f"{EVALUATIONS}/embedding-models", evaluations.embedding_comparison, name="embedding-comparison"),
    path(f"{EVALUATIONS}/<uuid:run_id>", evaluations.evaluation, name="evaluation"),
    path(f"{EVALUATIONS}/<uuid:run_id>/cancel", evaluations.evaluation_cancel, name="evaluation-cancel"),
    path(f"{EVALUATIONS}/<uuid:run_id>/retry", evaluations.evaluation_retry, name="evaluation-retry"),
    path(f"{EVALUATIONS}/<uuid:run_id>/delete", evaluations.evaluation_delete, name="evaluation-delete"),
    path(GOLDEN, golden.golden_questions, name="golden-questions"),
    path(f"{GOLDEN}/new", golden_new.golden_new, name="golden-new"),
    path(f"{GOLDEN}/collect", golden.golden_collect, name="golden-collect"),
    path(f"{GOLDEN}/export", golden.golden_export, name="golden-export"),
    path(f"{_QUESTION}", golden.golden_question, name="golden-question"),
    path(f"{_QUESTION}/remove", golden.golden_remove, name="golden-remove"),
    path(f"{_QUESTION}/restore", golden.golden_restore, name="golden-restore"),
    path(f"{_QUESTION}/memories/<uuid:memory_id>/add", golden.golden_memory_add, name="golden-evidence-add"),
    path(
        f"{GOLDEN}/<uuid:question_id>/memories/<uuid:memory_id>/remove",
        golden.golden_memory_remove,
        name="golden-evidence-remove",
    ),
    path(_SCORING, scoring.scoring_profiles, name="scoring-profiles"),
    path(f"{_SCORING}/new", scoring.scoring_create, name="scoring-create"),
    path(f"{_SCORING}/compare", shared.profile_comparison, _SCORES, name="scoring-compare"),
    path(f"{_SCORING}/assignments", shared.assignments, _SCORES, name="scoring-assignments"),
    path(f"{_SCORING}/assignments/end", shared.assignment_end, _SCORES, name="scoring-assignment-end"),
    path(f"{_SCORING}/assignments/undo", shared.assignment_undo, _SCORES, name="scoring-assignment-undo"),
    path(SCORING_PROFILE, scoring.scoring_profile, name="scoring-profile"),
    path(f"{SCORING_PROFILE}/effect", effects.profile_effect, _SCORES, name="scoring-effect"),
    path(f"{SCORING_PROFILE}/<int:version>/publish", publishing.scoring_publish, name="scoring-publish"),
    path(f"{SCORING_PROFILE}/<int:version>/rollback", publishing.scoring_roll_back, name="scoring-rollback"),
    path(f"{SCORING_PROFILE}/<int:version>/retire", publishing.scoring_retire, name="scoring-retire"),
]
