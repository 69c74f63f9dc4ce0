"""Pages that belong to no app: sign-in, search, theme, design guide, notifications."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseBase,
    HttpResponseRedirect,
)
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import trigger_client_event

from memories.tenancy.access import tenant_required, tenants_of
from memories.tenancy.scopes import tenant_scope
from memory_platform.console import design_samples
from memory_platform.console.forms import SearchForm
from memory_platform.console.global_search import SEARCH_CHARACTERS_MIN, GlobalSearchResults, search_everything
from memory_platform.console.job_notifications import WATCHED_MAX, parse_watched_jobs, read_job_notifications
from memory_platform.web.pages import HtmxRequest, operator_required, render_page, safe_local_path, wants_fragment
from memory_platform.web.shortcuts import COOKIE_AGE_SECONDS

_THEMES = ("system", "light", "dark")


class SignIn(LoginView):
    """Django's own view; a failed attempt answers 422, as every invalid form does."""

    template_name = "memory_platform/console/sign_in.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Redirect a GET of a user who is signed in already; always check a submitted name and password."""
        self.redirect_authenticated_user = request.method != "POST"
        return super().dispatch(request, *args, **kwargs)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


@dataclass(frozen=True)
class SearchHitRow:
    """One search result: its address, text and detail."""

    address: str
    text: str
    detail: str = ""
    at: datetime | None = None


@dataclass(frozen=True)
class SearchHitGroup:
    """The results of one kind, and the page that lists all of that kind."""

    name: str
    title: str
    hits: Sequence[SearchHitRow]
    all_address: str
    all_text: str


@operator_required("viewer")
@tenant_required
@require_safe
def global_search(request: HtmxRequest) -> HttpResponse:
    """Search in all that a tenant has: options below the search field, a page without htmx."""
    form = SearchForm(request.GET)
    is_valid = form.is_valid()
    text = form.cleaned_data.get("q", "")
    with tenant_scope(request.tenant.id):
        found = search_everything(request.tenant.id, text, now=timezone.now())
    groups = [group for group in _groups(request, text, found) if group.hits]
    page = {
        "section": "search",
        "form": form,
        "text": text,
        "groups": groups,
        "found": sum(len(group.hits) for group in groups),
        "is_too_short": len(text) < SEARCH_CHARACTERS_MIN,
    }
    template = f"memory_platform/console/search.html{'#options' if wants_fragment(request) else ''}"
    return render_page(request, template, page, status=HTTPStatus.OK if is_valid else HTTPStatus.UNPROCESSABLE_ENTITY)


def _groups(request: HtmxRequest, text: str, found: GlobalSearchResults) -> list[SearchHitGroup]:
    def at(name: str, *more: object, **query: str) -> str:
        address = reverse(name, args=[request.tenant.id, *more])
        return f"{address}?{urlencode(query)}" if query else address

    memories = [SearchHitRow(at("memory", row.pk), row.content, row.partition_path) for row in found.memories]
    receipts = [
        SearchHitRow(at("receipt", row.pk), row.query or "No query", row.partition_path, row.created_at)
        for row in found.receipts
    ]
    sessions = [
        SearchHitRow(at("session", row.pk), row.title, row.partition_path, row.created_at) for row in found.sessions
    ]
    partitions = [SearchHitRow(at("partitions", partition=path), path) for path in found.partitions]
    return [
        SearchHitGroup("memories", "Memories", memories, at("memories", q=text), "Search all memories"),
        SearchHitGroup("receipts", "Context log", receipts, at("context-log", q=text), "Search all contexts"),
        SearchHitGroup("sessions", "Sessions", sessions, at("sessions"), "All sessions"),
        SearchHitGroup("partitions", "Partitions", partitions, at("partitions", q=text), "All partitions"),
    ]


@operator_required("viewer")
@require_safe
def design_guide(request: HtmxRequest) -> HttpResponse:
    """Show every component in both themes; only where DEBUG is on."""
    if not settings.DEBUG:
        raise Http404
    request.tenants = tenants_of(request.operator)
    return render_page(request, "memory_platform/console/design.html", design_samples.component_samples(timezone.now()))


@operator_required("viewer")
@require_safe
def job_notifications(request: HtmxRequest) -> HttpResponse:
    """Answer for the jobs that the browser watches: a toast for a finished one, a mark for an unknown one."""
    texts = request.GET.getlist("item")[:WATCHED_MAX]
    wanted = parse_watched_jobs(texts)
    own = {tenant.pk for tenant in tenants_of(request.operator)}
    outcomes = read_job_notifications(each for each in wanted if each.tenant_id in own)
    answers = [(each.text, outcomes[each.text]) for each in wanted if outcomes.get(each.text)]
    gone = [text for text in texts if text not in outcomes]
    return render(request, "memory_platform/console/_job_notification.html", {"answers": answers, "gone": gone})


@require_POST
def choose_theme(request: HtmxRequest) -> HttpResponse:
    """Store the theme in a cookie, which the server reads before it renders a page."""
    theme = request.POST.get("theme", "")
    if theme not in _THEMES:
        return HttpResponseBadRequest("theme must be system, light or dark")
    response: HttpResponse
    if request.htmx:
        response = HttpResponse(status=204)
        trigger_client_event(response, "theme-chosen", {"value": theme})
    else:
        response = HttpResponseRedirect(safe_local_path(request, request.META.get("HTTP_REFERER", "")))
    if theme == "system":
        response.delete_cookie("theme")
    else:
        response.set_cookie("theme", theme, max_age=COOKIE_AGE_SECONDS, samesite="Lax", httponly=True)
    return response
