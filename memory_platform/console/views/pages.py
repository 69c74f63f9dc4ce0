"""Pages that span the apps: overviews, jobs, health, search, notifications, theme and shortcuts."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django import http
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import trigger_client_event

from compaction.models import Session
from context.models import Receipt
from memories.embeddings.status import failed_embedding_backlogs, waiting_embeddings
from memories.models import AuditEntry, EmbeddingModel, Memory, Partition, Tenant, TenantMemo
from memories.services.partitions.counts import MemoryTally
from memories.services.tenancy.act_labels import UNDO_DAYS
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.members import operator_actor, tenants_of
from memories.tenancy.queries.audit import ABOUT_TEXT_MAX
from memories.tenancy.queries.rows import Backlog
from memories.tenancy.queries.tenants import members_of
from memories.tenancy.scopes import operator_read_scope, tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import by_operator
from memory_platform.console.action_items import ACTION_ITEM_KINDS, ActionItem, action_items
from memory_platform.console.activity import list_acts, read_acts
from memory_platform.console.activity_charts import activity_curves
from memory_platform.console.design_samples import component_samples
from memory_platform.console.first_steps import first_steps
from memory_platform.console.forms import ActFilterForm, JobFilterForm, RangeForm, SearchForm
from memory_platform.console.global_search import SEARCH_CHARACTERS_MIN, search_everything
from memory_platform.console.health import cached_components, read_components
from memory_platform.console.heartbeats import scheduled_tasks
from memory_platform.console.jobs import WATCHED_MAX, read_job_notifications, read_job_page
from memory_platform.console.undo import undo_act
from memory_platform.console.undo_rules import UNDONE_BY_ADMINS
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest, safe_local_path, wants_fragment
from memory_platform.web.permissions import operator_required
from memory_platform.web.rendering import render_page
from memory_platform.web.tables import SortColumn, TablePage, read_table, requested_order
from memory_platform.web.time_ranges import DEFAULT_SPAN, SPANS

_JOB_COLUMNS = (SortColumn("asked", "created_at", datetime),)
_ACT_COLUMNS = (SortColumn("when", "at", datetime),)
_TENANT_COLUMNS = (
    SortColumn("needs", "waiting", int),
    SortColumn("tenant", "name", str, is_down_first=False),
    *(SortColumn(kind.name, kind.name, int) for kind in ACTION_ITEM_KINDS),
    SortColumn("memories", "live", int),
    SortColumn("tokens", "tokens", int),
)
#: Endpoints that the first steps show, by the last part of their URL names.
_SHOWN_ENDPOINTS = ("memories", "context")
RECENT_CONTEXTS_MAX = 6
REASONS_SHOWN_MAX = 5
COOKIE_AGE_SECONDS = 365 * 24 * 3600


@operator_required("viewer")
@require_safe
def tenant_list_overview(request: HtmxRequest) -> HttpResponseBase:
    """List all tenants of an operator; redirect to the tenant if there is only one."""
    request.tenants = tenants_of(request.operator)
    if len(request.tenants) == 1:
        return redirect("tenant-overview", request.tenants[0].id)
    ids = [tenant.id for tenant in request.tenants]
    with operator_read_scope(ids):
        needs = action_items(ids)
        tallies = Memory.objects.tally_by_tenant(ids, timezone.now())
    order = requested_order(request, _TENANT_COLUMNS)
    lines = order.sorted(_line(tenant, tallies[tenant.id], needs[tenant.id]) for tenant in request.tenants)
    page = {"kinds": ACTION_ITEM_KINDS, "table": TablePage(lines, order)}
    return render_page(request, "memory_platform/console/overview.html", page, fragment="rows")


def _line(tenant: Tenant, tally: MemoryTally, needs: Sequence[ActionItem]) -> SimpleNamespace:
    """Return a row of the table, with an attribute for each column."""
    counts = {need.name: need.backlog.count for need in needs}
    own = {"name": tenant.name.casefold(), "live": tally.live, "tokens": tally.tokens}
    return SimpleNamespace(tenant=tenant, needs=needs, waiting=sum(counts.values()), **own, **counts)


@tenant_page("viewer")
def tenant_overview_page(request: HtmxRequest) -> HttpResponseBase:
    """Show action items, activity and figures of a tenant; another range is a fragment."""
    form, now = RangeForm(request.GET), timezone.now()
    form.is_valid()
    span = next((each for each in SPANS if each.name == form.cleaned_data.get("range")), DEFAULT_SPAN)
    page: dict[str, Any] = {"section": "tenant-overview", "form": form, "spans": SPANS, "span": span}
    with tenant_scope(request.tenant.id):
        page["charts"] = activity_curves(request.tenant.id, span, now=now)
        if not wants_fragment(request):
            page |= _tenant_figures(request.tenant.id, now)
            page["checklist"] = first_steps(request.tenant.id, request.operator.user.pk)
            page["api_urls"] = {name: request.build_absolute_uri(reverse(f"api-{name}")) for name in _SHOWN_ENDPOINTS}
    return render_page(request, "memory_platform/console/tenant_overview.html", page, fragment="activity", form=form)


def _tenant_figures(tenant_id: UUID, now: datetime) -> dict[str, Any]:
    needs = action_items([tenant_id])[tenant_id]
    tally = Memory.objects.tally_by_tenant([tenant_id], now)[tenant_id]
    receipts = Receipt.objects.for_tenant(tenant_id)
    return {
        "memories": tally,
        "archived_or_expired": tally.archived + tally.expired,
        "partition_count": Partition.objects.for_tenant(tenant_id).without_root().row_count(),
        "memo": TenantMemo.objects.for_tenant(tenant_id).current().first(),
        "contexts": list(receipts.newest_first().without_details()[:RECENT_CONTEXTS_MAX]),
        "needs": [need for need in needs if need.backlog.count],
        "waiting_embeddings": waiting_embeddings([tenant_id]).get(tenant_id, Backlog()),
        "failed_embeddings": next(need for need in needs if need.name == "embeddings"),
        "open_sessions": Session.objects.for_tenant(tenant_id).open().row_count(),
        "parts": cached_components(),
    }


@operator_required("viewer")
@require_safe
def components(request: HtmxRequest) -> HttpResponse:
    """Check every component now; show its state and the effect while it is down."""
    request.tenants = tenants_of(request.operator)
    if len(request.tenants) == 1:
        request.tenant = request.tenants[0]
    page = {"parts": read_components(timezone.now())}
    return render_page(request, "memory_platform/console/health.html", page, fragment="list")


@operator_required("viewer")
@require_safe
def components_summary(request: HtmxRequest) -> HttpResponseBase:
    """Show the states in one line, for an overview; without htmx redirect to the health page."""
    if not wants_fragment(request):
        return redirect("health")
    page = {"parts": read_components(timezone.now())}
    return render_page(request, "memory_platform/console/_health_summary.html", page)


@tenant_page("viewer")
def job_list(request: HtmxRequest) -> HttpResponseBase:
    """List all background jobs, newest first; polls while some are unfinished."""
    form = JobFilterForm(request.GET)
    page: dict[str, Any] = {"section": "jobs", "form": form}
    with tenant_scope(request.tenant.id):
        if form.is_valid():
            fields = form.cleaned_data
            table = read_table(
                request, _JOB_COLUMNS, partial(read_job_page, request.tenant.id, fields["kind"], fields["state"])
            )
            page |= {"table": table, "is_unfinished": any(job.is_open for job in table.rows)}
        if not wants_fragment(request):
            page |= _embedding_queue(request.tenant.id) | {"scheduled": scheduled_tasks()}
    return render_page(request, "memory_platform/console/jobs.html", page, fragment="fragment", form=form)


@tenant_page("viewer")
def act_list(request: HtmxRequest) -> HttpResponseBase:
    """List the acts of operators, API keys and the system, newest first, each with its undo."""
    form = ActFilterForm(request.GET)
    page: dict[str, Any] = {"section": "activity", "form": form}
    page |= {"about_text_max": ABOUT_TEXT_MAX, "undo_days": UNDO_DAYS}
    with tenant_scope(request.tenant.id):
        if form.is_valid():
            entries = list_acts(request.tenant.id, **form.filters(timezone.now()))
            table = read_table(request, _ACT_COLUMNS, entries.page)
            rows = read_acts(request.tenant.id, table.rows, is_admin=request.operator.can_administer)
            page |= {"table": table, "rows": rows}
        if not wants_fragment(request):
            page["operators"] = [user.get_username() for user in members_of([request.tenant.id])]
    return render_page(request, "memory_platform/console/activity.html", page, fragment="fragment", form=form)


@tenant_page(to_change="operator")
def act_undo(request: HtmxRequest, entry_id: UUID) -> HttpResponseBase:
    """Undo an act and show the page of the list that it was on."""
    try:
        with tenant_scope(request.tenant.id):
            entry = get_object_or_404(AuditEntry.objects.for_tenant(request.tenant.id), pk=entry_id)
            if entry.verb in UNDONE_BY_ADMINS and not request.operator.can_administer:
                raise PermissionDenied
            said = undo_act(entry, **by_operator(request))
    except PlatformError as error:
        flash_error(request, f"Not undone: {error.detail}")
    else:
        add_flash(request, said)
    return redirect(f"{reverse('activity', args=[request.tenant.id])}?{request.GET.urlencode()}".removesuffix("?"))


def _embedding_queue(tenant_id: UUID) -> dict[str, Any]:
    """Return the embedding queue: pending and failed memories with reasons, and the model that a retry uses."""
    failed = failed_embedding_backlogs([tenant_id]).get(tenant_id, Backlog())
    memories = Memory.objects.for_tenant(tenant_id).with_failed_embedding()
    return {
        "waiting": waiting_embeddings([tenant_id]).get(tenant_id, Backlog()),
        "failed": failed,
        "reasons": memories.tally_by_refusal(REASONS_SHOWN_MAX) if failed.count else [],
        "active_model": EmbeddingModel.objects.for_tenant(tenant_id).active().first() if failed.count else None,
    }


@tenant_page("viewer")
def global_search(request: HtmxRequest) -> HttpResponse:
    """Search all data of a tenant: return options below the search field or, without htmx, a page."""
    form = SearchForm(request.GET)
    form.is_valid()
    text = form.cleaned_data.get("q", "")
    submitted_by = None if wants_fragment(request) else operator_actor(request.operator)
    with tenant_scope(request.tenant.id):
        groups = search_everything(
            request.tenant.id, text, is_admin=request.operator.can_administer, now=timezone.now(), by=submitted_by
        )
    page = {
        "section": "search",
        "form": form,
        "text": text,
        "groups": groups,
        "found": sum(len(group.hits) for group in groups),
        "is_too_short": len(text) < SEARCH_CHARACTERS_MIN,
    }
    return render_page(request, "memory_platform/console/search.html", page, fragment="options", form=form)


@operator_required("viewer")
@require_safe
def design_guide(request: HtmxRequest) -> HttpResponse:
    """Show every component in both themes; only if DEBUG is on."""
    if not settings.DEBUG:
        raise http.Http404
    request.tenants = tenants_of(request.operator)
    return render_page(request, "memory_platform/console/design.html", component_samples(timezone.now()))


@operator_required("viewer")
@require_safe
def job_notifications(request: HtmxRequest) -> HttpResponse:
    """Return a toast for each finished job that the browser watches, and a mark for each unknown one."""
    texts = request.GET.getlist("item")[:WATCHED_MAX]
    outcomes = read_job_notifications(texts, [tenant.pk for tenant in tenants_of(request.operator)])
    answers = [(text, outcome) for text, outcome in outcomes.items() if outcome]
    unknown = [text for text in texts if text not in outcomes]
    return render(request, "memory_platform/console/_job_notification.html", {"answers": answers, "unknown": unknown})


@require_POST
def choose_theme(request: HtmxRequest) -> HttpResponse:
    """Store the theme of a browser."""
    theme = request.POST.get("theme", "")
    if theme not in {"system", "light", "dark"}:
        return http.HttpResponseBadRequest("theme must be system, light or dark")
    response = HttpResponse(status=HTTPStatus.NO_CONTENT) if request.htmx else _back(request)
    if request.htmx:
        trigger_client_event(response, "theme-chosen", {"value": theme})
    return _with_cookie(response, "theme", theme, default="system")


@operator_required("viewer")
@require_POST
def choose_shortcuts(request: HtmxRequest) -> HttpResponse:
    """Store whether single-key shortcuts are on in a browser (WCAG 2.1.4, ADR-0091)."""
    keys = request.POST.get("keys", "")
    if keys not in {"on", "off"}:
        return http.HttpResponseBadRequest("keys must be on or off")
    return _with_cookie(_back(request), "keys", keys, default="on")


def _back(request: HtmxRequest) -> HttpResponse:
    return http.HttpResponseRedirect(safe_local_path(request, request.META.get("HTTP_REFERER", "")))


def _with_cookie(response: HttpResponse, name: str, value: str, *, default: str) -> HttpResponse:
    """Store a choice in a cookie, which the server reads before it renders a page."""
    if value == default:
        response.delete_cookie(name)
    else:
        response.set_cookie(name, value, max_age=COOKIE_AGE_SECONDS, samesite="Lax", httponly=True)
    return response
