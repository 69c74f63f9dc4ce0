"""All URLs of the project."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, include, path

from memories.tenancy.views import invitations
from memory_platform.console import health
from memory_platform.console.metrics import metrics
from memory_platform.console.views import account, first_steps, pages, palette, sign_in

#: The view that Django calls for an exception that no view handled.
handler400 = "memory_platform.web.too_large.bad_request_page"
handler500 = "memory_platform.web.unavailable.error_page"
urlpatterns: list[URLPattern | URLResolver] = [
    # First, because a request tries the patterns in their order and most requests are for the API.
    path("api/", include("memory_platform.api_urls")),
    path("sign-in", sign_in.SignIn.as_view(), name="sign-in"),
    path("sign-in/code", sign_in.sign_in_code, name="sign-in-code"),
    path("join/<uuid:tenant_id>/<str:secret>", invitations.invitation, name="invitation"),
    path("sign-out", LogoutView.as_view(), name="sign-out"),
    path("", pages.tenant_list_overview, name="overview"),
    path("t/<uuid:tenant_id>", pages.tenant_overview_page, name="tenant-overview"),
    path("t/<uuid:tenant_id>/first-steps/receipt", first_steps.first_receipt, name="first-receipt"),
    path("t/<uuid:tenant_id>/first-steps/dismiss", first_steps.first_steps_dismiss, name="first-steps-dismiss"),
    path("t/<uuid:tenant_id>/first-steps/show", first_steps.first_steps_show, name="first-steps-show"),
    path("t/<uuid:tenant_id>/jobs", pages.job_list, name="jobs"),
    path("t/<uuid:tenant_id>/activity", pages.act_list, name="activity"),
    path("t/<uuid:tenant_id>/activity/<uuid:entry_id>/undo", pages.act_undo, name="activity-undo"),
    path("health", pages.components, name="health"),
    path("health/summary", pages.components_summary, name="health-summary"),
    path("t/<uuid:tenant_id>/search", pages.global_search, name="search"),
    path("t/<uuid:tenant_id>/palette", palette.palette, name="palette"),
    path("design", pages.design_guide, name="design"),
    path("job-notifications", pages.job_notifications, name="job-notifications"),
    path("account", account.account, name="account"),
    path("account/second-factor", account.second_factor, name="second-factor"),
    path("account/password", account.password_change, name="password-change"),
    path("theme", pages.choose_theme, name="theme"),
    path("shortcuts", pages.choose_shortcuts, name="shortcuts"),
    path("admin/", admin.site.urls),
    # Pages of a tenant name it in their URL, so that it can be shared.
    path("t/<uuid:tenant_id>/", include("context.urls")),
    path("t/<uuid:tenant_id>/", include("memories.urls")),
    path("t/<uuid:tenant_id>/", include("compaction.urls")),
    path("healthz", health.healthz, name="healthz"),
    path("metrics", metrics, name="metrics"),
    path("readyz", health.readyz, name="readyz"),
]
