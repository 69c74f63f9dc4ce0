"""Addresses of the pages about what agents get to read; the tenant stands in each, so that it can be shared."""

from django.urls import path

from context import views

EVALUATIONS = "t/<uuid:tenant_id>/evaluations"
GOLDEN = "t/<uuid:tenant_id>/golden-questions"
BUDGETS = "t/<uuid:tenant_id>/budgets"
SCORING = "t/<uuid:tenant_id>/scoring"
SCORING_PROFILE = f"{SCORING}/profiles/<slug:name>"
VOTES = "t/<uuid:tenant_id>/memories/<uuid:memory_id>/votes"

urlpatterns = [
    path("t/<uuid:tenant_id>/context", views.context_preview, name="context-preview"),
    path("t/<uuid:tenant_id>/context/compare", views.context_compare, name="context-compare"),
    path("t/<uuid:tenant_id>/context/curve", views.budget_curve, name="budget-curve"),
    path("t/<uuid:tenant_id>/context/entry", views.context_entry, name="context-entry"),
    path("t/<uuid:tenant_id>/context/suggest", views.context_suggest, name="context-suggest"),
    path("t/<uuid:tenant_id>/contexts", views.receipts, name="receipts"),
    path("t/<uuid:tenant_id>/contexts/<uuid:receipt_id>", views.receipt, name="receipt"),
    path(VOTES, views.memory_votes, name="memory-votes"),
    path(f"{VOTES}/again", views.vote_again, name="vote-again"),
    path(f"{VOTES}/<uuid:vote_id>/withdraw", views.vote_withdraw, name="vote-withdraw"),
    path(BUDGETS, views.budgets, name="budgets"),
    path(f"{BUDGETS}/new", views.budget_create, name="budget-create"),
    path(f"{BUDGETS}/compare", views.budget_compare, name="budget-compare"),
    path(f"{BUDGETS}/assignments", views.assignments, name="budget-assignments"),
    path(f"{BUDGETS}/assignments/end", views.assignment_end, name="budget-assignment-end"),
    path(f"{BUDGETS}/assignments/again", views.assignment_again, name="budget-assignment-again"),
    path(f"{BUDGETS}/profiles/<slug:name>", views.budgets, name="budget"),
    path(f"{BUDGETS}/profiles/<slug:name>/effect", views.budget_effect, name="budget-effect"),
    path(f"{BUDGETS}/profiles/<slug:name>/<int:version>/roll-back", views.budget_roll_back, name="budget-roll-back"),
    path(EVALUATIONS, views.evaluations, name="evaluations"),
    path(f"{EVALUATIONS}/<uuid:run_id>", views.evaluation, name="evaluation"),
    path(f"{EVALUATIONS}/<uuid:run_id>/cancel", views.evaluation_cancel, name="evaluation-cancel"),
    path(f"{EVALUATIONS}/<uuid:run_id>/retry", views.evaluation_retry, name="evaluation-retry"),
    path(f"{EVALUATIONS}/<uuid:run_id>/delete", views.evaluation_delete, name="evaluation-delete"),
    path(GOLDEN, views.golden_questions, name="golden-questions"),
    path(f"{GOLDEN}/new", views.golden_new, name="golden-new"),
    path(f"{GOLDEN}/collect", views.golden_collect, name="golden-collect"),
    path(f"{GOLDEN}/export", views.golden_export, name="golden-export"),
    path(f"{GOLDEN}/<uuid:question_id>", views.golden_question, name="golden-question"),
    path(f"{GOLDEN}/<uuid:question_id>/remove", views.golden_remove, name="golden-remove"),
    path(f"{GOLDEN}/<uuid:question_id>/restore", views.golden_restore, name="golden-restore"),
    path(f"{GOLDEN}/<uuid:question_id>/memories/<uuid:memory_id>/want", views.golden_want, name="golden-want"),
    path(f"{GOLDEN}/<uuid:question_id>/memories/<uuid:memory_id>/unwant", views.golden_unwant, name="golden-unwant"),
    path(SCORING, views.scoring_profiles, name="scoring-profiles"),
    path(f"{SCORING}/new", views.scoring_create, name="scoring-create"),
    path(f"{SCORING}/compare", views.scoring_compare, name="scoring-compare"),
    path(f"{SCORING}/assignments", views.scoring_assignments, name="scoring-assignments"),
    path(f"{SCORING}/assignments/end", views.scoring_assignment_end, name="scoring-assignment-end"),
    path(f"{SCORING}/assignments/again", views.scoring_assignment_again, name="scoring-assignment-again"),
    path(SCORING_PROFILE, views.scoring_profile, name="scoring-profile"),
    path(f"{SCORING_PROFILE}/effect", views.scoring_effect, name="scoring-effect"),
    path(f"{SCORING_PROFILE}/<int:version>/publish", views.scoring_publish, name="scoring-publish"),
    path(f"{SCORING_PROFILE}/<int:version>/roll-back", views.scoring_roll_back, name="scoring-roll-back"),
    path(f"{SCORING_PROFILE}/<int:version>/retire", views.scoring_retire, name="scoring-retire"),
]
