"""Every address of the project."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from memory_platform.console import health, views
from memory_platform.console.metrics import metrics

#: What Django calls for an exception that no view handled.
handler500 = "memory_platform.web.unavailable.error_page"
urlpatterns: list[URLPattern | URLResolver] = [
    # First, because a request tries the addresses in their order and most are for the API.
    path("api/", include("memory_platform.api_urls")),
    path("sign-in", views.SignIn.as_view(), name="sign-in"),
    path("sign-out", LogoutView.as_view(), name="sign-out"),
    path("", views.tenant_list_overview, name="overview"),
    path("t/<uuid:tenant_id>", views.tenant_overview_page, name="tenant-overview"),
    path("t/<uuid:tenant_id>/jobs", views.job_list, name="jobs"),
    path("t/<uuid:tenant_id>/activity", views.act_list, name="activity"),
    path("t/<uuid:tenant_id>/activity/<uuid:entry_id>/undo", views.act_undo, name="activity-undo"),
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
    path("metrics", metrics, name="metrics"),
    path("readyz", health.readyz, name="readyz"),
]
