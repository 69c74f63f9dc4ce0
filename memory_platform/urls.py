"""Every address of the project."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from memory_platform import health, shortcuts, views

urlpatterns: list[URLPattern | URLResolver] = [
    path("sign-in", views.SignIn.as_view(), name="sign-in"),
    path("sign-out", LogoutView.as_view(), name="sign-out"),
    path("parts", views.parts, name="parts"),
    path("t/<uuid:tenant_id>/search", views.search, name="search"),
    path("design", views.design, name="design"),
    path("watched", views.watched, name="watched"),
    path("theme", views.choose_theme, name="theme"),
    path("shortcuts", shortcuts.choose_shortcuts, name="shortcuts"),
    path("admin/", admin.site.urls),
    path("", include("context.urls")),
    path("", include("memories.urls")),
    path("", include("compaction.urls")),
    path("api/", include("memory_platform.api_urls")),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
