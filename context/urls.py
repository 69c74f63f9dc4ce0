"""URLs of the pages of the context app, below the URL of the tenant."""

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

_EVALUATION = "evaluations/<uuid:run_id>"
_QUESTION = "golden-questions/<uuid:question_id>"
_BUDGET, _SCORES = {"kind": BUDGET_KIND}, {"kind": SCORING_KIND}
_BUDGET_PROFILE = "budgets/profiles/<slug:name>"
_SCORING_PROFILE = "scoring/profiles/<slug:name>"
_VOTES = "memories/<uuid:memory_id>/votes"

urlpatterns = [
    path("context", preview.context_preview, name="context-preview"),
    path("context/compare", compare_profiles.compare_profiles, name="context-compare"),
    path("context/curve", curves.budget_curve, name="budget-curve"),
    path("context/inclusion-budget", inclusion_budget.context_inclusion_budget, name="inclusion-budget"),
    path("context/address/<slug:name>", addresses.context_address, name="context-address"),
    path("context/explain", explanation.context_explanation, name="context-explain"),
    path("context/suggest", suggestions.context_suggestions, name="context-suggest"),
    path("contexts", context_log.receipts, name="context-log"),
    path("contexts/export", context_log.receipt_export, name="context-export"),
    path("agents", agents.agents, name="agents"),
    path("contexts/<uuid:receipt_id>", context_log.receipt, name="receipt"),
    path(_VOTES, feedback.memory_feedback, name="memory-votes"),
    path(f"{_VOTES}/restore", feedback.vote_restore, name="vote-restore"),
    path(f"{_VOTES}/<uuid:vote_id>/withdraw", feedback.vote_withdraw, name="vote-withdraw"),
    path("budgets", budgets.budget_profiles, name="budgets"),
    path("budgets/new", budgets.budget_create, name="budget-create"),
    path("budgets/keep", keep_budget.budget_keep, name="budget-keep"),
    path("budgets/compare", shared.profile_comparison, _BUDGET, name="budget-compare"),
    path("budgets/assignments", shared.assignments, _BUDGET, name="budget-assignments"),
    path("budgets/assignments/end", shared.assignment_end, _BUDGET, name="budget-assignment-end"),
    path("budgets/assignments/undo", shared.assignment_undo, _BUDGET, name="budget-assignment-undo"),
    path(_BUDGET_PROFILE, budgets.budget_profiles, name="budget"),
    path(f"{_BUDGET_PROFILE}/rename", budgets.budget_rename, name="budget-rename"),
    path(f"{_BUDGET_PROFILE}/retire", budgets.budget_retire, name="budget-retire"),
    path(f"{_BUDGET_PROFILE}/restore", budgets.budget_restore, name="budget-restore"),
    path(f"{_BUDGET_PROFILE}/effect", effects.profile_effect, _BUDGET, name="budget-effect"),
    path(f"{_BUDGET_PROFILE}/<int:version>/rollback", budgets.budget_roll_back, name="budget-rollback"),
    path("evaluations", evaluations.evaluations, name="evaluations"),
    path("evaluations/embedding-models", evaluations.embedding_comparison, name="embedding-comparison"),
    path(_EVALUATION, evaluations.evaluation, name="evaluation"),
    path(f"{_EVALUATION}/cancel", evaluations.evaluation_cancel, name="evaluation-cancel"),
    path(f"{_EVALUATION}/retry", evaluations.evaluation_retry, name="evaluation-retry"),
    path(f"{_EVALUATION}/delete", evaluations.evaluation_delete, name="evaluation-delete"),
    path("golden-questions", golden.golden_questions, name="golden-questions"),
    path("golden-questions/new", golden_new.golden_new, name="golden-new"),
    path("golden-questions/collect", golden.golden_collect, name="golden-collect"),
    path("golden-questions/export", golden.golden_export, name="golden-export"),
    path(_QUESTION, golden.golden_question, name="golden-question"),
    path(f"{_QUESTION}/remove", golden.golden_remove, name="golden-remove"),
    path(f"{_QUESTION}/restore", golden.golden_restore, name="golden-restore"),
    path(f"{_QUESTION}/memories/<uuid:memory_id>/add", golden.golden_memory_add, name="golden-evidence-add"),
    path(f"{_QUESTION}/memories/<uuid:memory_id>/remove", golden.golden_memory_remove, name="golden-evidence-remove"),
    path("scoring", scoring.scoring_profiles, name="scoring-profiles"),
    path("scoring/new", scoring.scoring_create, name="scoring-create"),
    path("scoring/compare", shared.profile_comparison, _SCORES, name="scoring-compare"),
    path("scoring/assignments", shared.assignments, _SCORES, name="scoring-assignments"),
    path("scoring/assignments/end", shared.assignment_end, _SCORES, name="scoring-assignment-end"),
    path("scoring/assignments/undo", shared.assignment_undo, _SCORES, name="scoring-assignment-undo"),
    path(_SCORING_PROFILE, scoring.scoring_profile, name="scoring-profile"),
    path(f"{_SCORING_PROFILE}/effect", effects.profile_effect, _SCORES, name="scoring-effect"),
    path(f"{_SCORING_PROFILE}/<int:version>/publish", publishing.scoring_publish, name="scoring-publish"),
    path(f"{_SCORING_PROFILE}/<int:version>/rollback", publishing.scoring_roll_back, name="scoring-rollback"),
    path(f"{_SCORING_PROFILE}/<int:version>/retire", publishing.scoring_retire, name="scoring-retire"),
]
