"""Addresses of the pages about what agents get to read; the tenant stands in each, so that it can be shared."""

from django.urls import path

from context import views

urlpatterns = [
    path("", views.overview, name="overview"),
    path("t/<uuid:tenant_id>", views.tenant_overview, name="tenant-overview"),
    path("t/<uuid:tenant_id>/context", views.context_preview, name="context-preview"),
    path("t/<uuid:tenant_id>/budgets", views.budgets, name="budgets"),
    path("t/<uuid:tenant_id>/budgets/<int:version>/roll-back", views.budget_roll_back, name="budget-roll-back"),
]
