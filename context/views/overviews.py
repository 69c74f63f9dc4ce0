"""Operator pages that show what there is at a glance."""

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from context.overview import overview_of_tenant, tenants_at_a_glance
from memories.access import tenant_required, tenants_of
from memories.scopes import operator_read_scope, tenant_scope
from memory_platform.web import HtmxRequest, operator_required, show


@operator_required("viewer")
@require_safe
def overview(request: HtmxRequest) -> HttpResponseBase:
    """All tenants of an operator side by side; straight to the tenant where there is only one."""
    request.tenants = tenants_of(request.operator)
    if len(request.tenants) == 1:
        return redirect("tenant-overview", request.tenants[0].id)
    with operator_read_scope([tenant.id for tenant in request.tenants]):
        rows = tenants_at_a_glance(request.tenants, now=timezone.now())
    return show(request, "overview.html", {"rows": rows})


@operator_required("viewer")
@tenant_required
@require_safe
def tenant_overview(request: HtmxRequest) -> HttpResponseBase:
    """What one tenant holds, what was asked lately, and how the parts are."""
    with tenant_scope(request.tenant.id):
        facts = overview_of_tenant(request.tenant.id, now=timezone.now())
    return show(request, "tenant_overview.html", {"section": "tenant-overview", "facts": facts})
