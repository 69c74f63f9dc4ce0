"""Every address of the project."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from memory_platform.console import health, views

urlpatterns: list[URLPattern | URLResolver] = [
    # First, because a request tries the addresses in their order and most are for the API.
    path("api/", include("memory_platform.api_urls")),
    path("sign-in", views.SignIn.as_view(), name="sign-in"),
    path("sign-out", LogoutView.as_view(), name="sign-out"),
    path("", views.tenant_list_overview, name="overview"),
    path("t/<uuid:tenant_id>", views.tenant_overview_page, name="tenant-overview"),
    path("t/<uuid:tenant_id>/jobs", views.job_list, name="jobs"),
    path("health", views.components, name="health"),
    path("health/summary", views.components_summary, name="health-summary"),
    path("t/<uuid:tenant_id>/search", views.global_search, name="search"),
    path("design", views.design_guide, name="design"),
    path("job-notifications", views.job_notifications, name="job-notifications"),
    path("theme", views.choose_theme, name="theme"),
    path("shortcuts", views.choose_shortcuts, name="shortcuts"),
    path("admin/", admin.site.urls),
    path("", include("context.urls")),
    path("", include("memories.urls")),
    path("", include("compaction.urls")),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
