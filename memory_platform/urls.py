"""Every address of the project."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from memory_platform.console import health
from memory_platform.console.views import frame, jobs, overviews
from memory_platform.web import shortcuts

urlpatterns: list[URLPattern | URLResolver] = [
    path("sign-in", frame.SignIn.as_view(), name="sign-in"),
    path("sign-out", LogoutView.as_view(), name="sign-out"),
    path("", overviews.tenant_list_overview, name="overview"),
    path("t/<uuid:tenant_id>", overviews.tenant_overview_page, name="tenant-overview"),
    path("t/<uuid:tenant_id>/jobs", jobs.job_list, name="jobs"),
    path("health", overviews.components, name="health"),
    path("health/summary", overviews.components_summary, name="health-summary"),
    path("t/<uuid:tenant_id>/search", frame.global_search, name="search"),
    path("design", frame.design_guide, name="design"),
    path("watched", frame.job_notifications, name="watched"),
    path("theme", frame.choose_theme, name="theme"),
    path("shortcuts", shortcuts.choose_shortcuts, name="shortcuts"),
    path("admin/", admin.site.urls),
    path("", include("context.urls")),
    path("", include("memories.urls")),
    path("", include("compaction.urls")),
    path("api/", include("memory_platform.api_urls")),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
