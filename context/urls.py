"""Addresses of the pages about what agents get to read; the tenant stands in each, so that it can be shared."""

from django.urls import path

from context import views

BUDGETS = "t/<uuid:tenant_id>/budgets"
VOTES = "t/<uuid:tenant_id>/memories/<uuid:memory_id>/votes"

urlpatterns = [
    path("", views.overview, name="overview"),
    path("t/<uuid:tenant_id>", views.tenant_overview, name="tenant-overview"),
    path("t/<uuid:tenant_id>/context", views.context_preview, name="context-preview"),
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
    path(f"{BUDGETS}/profiles/<slug:name>/<int:version>/roll-back", views.budget_roll_back, name="budget-roll-back"),
]
