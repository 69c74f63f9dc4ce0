"""The overviews of one tenant and of all, and the health of the components."""

from collections.abc import Sequence
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from compaction.models import Session
from memories.tenancy.access import tenant_required, tenants_of
from memories.tenancy.scopes import operator_read_scope, tenant_scope
from memory_platform.console.action_items import ACTION_ITEM_KINDS, ActionItem, action_items
from memory_platform.console.activity import DEFAULT_SPAN, SPANS, activity_curves
from memory_platform.console.components import cached_components, read_components
from memory_platform.console.figures import TenantRow, tenant_overview, tenant_overviews
from memory_platform.console.forms import RangeForm
from memory_platform.web.pages import HtmxRequest, operator_required, render_page, wants_fragment
from memory_platform.web.tables import SortColumn, TablePage, requested_order

_COLUMNS = (
    SortColumn("needs", "waiting", int),
    SortColumn("tenant", "tenant", str, is_down_first=False),
    *(SortColumn(kind.name, kind.name, int) for kind in ACTION_ITEM_KINDS),
    SortColumn("memories", "live", int),
    SortColumn("tokens", "tokens", int),
)


def _line(row: TenantRow, needs: Sequence[ActionItem]) -> SimpleNamespace:
    """Return a row of the table, with an attribute for each column."""
    figures = {need.kind.name: need.backlog.count for need in needs}
    waiting = sum(figures.values())
    figures |= {"live": row.memories.live, "tokens": row.memories.tokens}
    return SimpleNamespace(row=row, needs=needs, tenant=row.tenant.name.casefold(), waiting=waiting, **figures)


@operator_required("viewer")
@require_safe
def tenant_list_overview(request: HtmxRequest) -> HttpResponseBase:
    """List all tenants of an operator; redirect to the tenant where there is only one."""
    request.tenants = tenants_of(request.operator)
    if len(request.tenants) == 1:
        return redirect("tenant-overview", request.tenants[0].id)
    ids = [tenant.id for tenant in request.tenants]
    with operator_read_scope(ids):
        needs = action_items(ids)
        rows = tenant_overviews(request.tenants, now=timezone.now())
    order = requested_order(request, _COLUMNS)
    lines = order.sorted(_line(row, needs[row.tenant.id]) for row in rows)
    page = {"kinds": ACTION_ITEM_KINDS, "table": TablePage(lines, order)}
    template = f"memory_platform/console/overview.html{'#rows' if wants_fragment(request) else ''}"
    return render_page(request, template, page)


@operator_required("viewer")
@tenant_required
@require_safe
def tenant_overview_page(request: HtmxRequest) -> HttpResponseBase:
    """Show action items, activity and figures of a tenant; another range is a fragment."""
    form = RangeForm(request.GET)
    is_valid = form.is_valid()
    span = next((each for each in SPANS if each.name == form.cleaned_data.get("range")), DEFAULT_SPAN)
    page: dict[str, Any] = {"section": "tenant-overview", "form": form, "spans": SPANS, "span": span}
    is_whole = not wants_fragment(request)
    with tenant_scope(request.tenant.id):
        page["charts"] = activity_curves(request.tenant.id, span, now=timezone.now())
        if is_whole:
            page |= _tenant_figures(request.tenant.id)
    status = HTTPStatus.OK if is_valid else HTTPStatus.UNPROCESSABLE_ENTITY
    template = f"memory_platform/console/tenant_overview.html{'' if is_whole else '#activity'}"
    return render_page(request, template, page, status=status)


def _tenant_figures(tenant_id: UUID) -> dict[str, Any]:
    needs = action_items([tenant_id])[tenant_id]
    return {
        "facts": tenant_overview(tenant_id, now=timezone.now()),
        "needs": [need for need in needs if need.backlog.count],
        "failed_embeddings": next(need for need in needs if need.kind.name == "embeddings"),
        "open_sessions": Session.objects.for_tenant(tenant_id).open().how_many(),
        "parts": cached_components(),
    }


@operator_required("viewer")
@require_safe
def components(request: HtmxRequest) -> HttpResponse:
    """Check every component now; show its state and the effect while it is down."""
    request.tenants = tenants_of(request.operator)
    if len(request.tenants) == 1:
        request.tenant = request.tenants[0]
    template = f"memory_platform/console/health.html{'#list' if wants_fragment(request) else ''}"
    return render_page(request, template, {"parts": read_components(timezone.now())})


@operator_required("viewer")
@require_safe
def components_summary(request: HtmxRequest) -> HttpResponseBase:
    """Show the states in one line, for an overview; without htmx redirect to the health page."""
    if not wants_fragment(request):
        return redirect("health")
    return render_page(
        request, "memory_platform/console/_health_summary.html", {"parts": read_components(timezone.now())}
    )
