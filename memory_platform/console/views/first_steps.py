"""Actions on the first steps of the overview: open the receipt, dismiss the steps, show them again."""

from django.http import Http404, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from context.models import Receipt
from memories.tenancy.actions.first_steps import dismiss_first_steps, record_receipt_opened, show_first_steps
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import by_operator
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest


@tenant_page(to_change="viewer")
def first_receipt(request: HtmxRequest) -> HttpResponseBase:
    """Record that the operator opens a receipt, and redirect to the newest one."""
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        receipt = Receipt.objects.for_tenant(tenant_id).newest_first().without_details().first()
        if receipt is None:
            raise Http404
        record_receipt_opened(tenant_id=tenant_id, **by_operator(request))
    return redirect("receipt", tenant_id, receipt.pk)


@tenant_page(to_change="viewer")
def first_steps_dismiss(request: HtmxRequest) -> HttpResponseBase:
    """Hide the first steps from the operator."""
    with tenant_scope(request.tenant.id):
        dismiss_first_steps(tenant_id=request.tenant.id, **by_operator(request))
    add_flash(request, "First steps hidden.", undo_url=reverse("first-steps-show", args=[request.tenant.id]))
    return redirect("tenant-overview", request.tenant.id)


@tenant_page(to_change="viewer")
def first_steps_show(request: HtmxRequest) -> HttpResponseBase:
    """Show the first steps to the operator again."""
    with tenant_scope(request.tenant.id):
        show_first_steps(tenant_id=request.tenant.id, by=operator_actor(request.operator))
    return redirect("tenant-overview", request.tenant.id)
