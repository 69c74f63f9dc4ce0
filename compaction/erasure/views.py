"""Erase a memory, a partition or the tenant: dry run, confirmation, progress and receipts; retention policies."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone

from compaction.erasure.actions import (
    remove_retention_policy,
    request_erasure,
    retry_erasure,
    set_retention_policy,
)
from compaction.erasure.forms import ConfirmForm, EraseForm, RetentionEndForm, RetentionForm
from compaction.erasure.orchestrator import is_receipt_valid
from compaction.erasure.retention import PastRetention, count_past_retention
from compaction.erasure.selection import Selection, state_hash
from compaction.models import Erasure, RetentionPolicy
from compaction.services.erasure.row_labels import row_label
from memories.models import Partition
from memories.tenancy.members import tenants_of
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_of, tenant_page
from memories.tenancy.views.page_actions import action_arguments, by_operator, errors_as_flash, submit, tenant_change
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.permissions import operator_required
from memory_platform.web.rendering import render_page
from memory_platform.web.tables import SortColumn, read_table

_SECTION = "erasures"
_COLUMNS = (SortColumn("requested", "created_at", datetime),)


@tenant_page("admin", to_change="admin", state="shown")
def erasures(request: HtmxRequest) -> HttpResponseBase:
    """The erasures with their receipts, and the retention policies; a POST sets a policy.

    If a policy would erase something immediately, the page shows what, and the form must be sent again.
    """
    form = RetentionForm(request.POST if request.method == "POST" else None)
    past = _unconfirmed(request, form) if request.method == "POST" else None
    if request.method == "POST" and past is None:
        who = action_arguments(request)
        if submit(
            request,
            form,
            lambda: set_retention_policy(**form.policy(), shown=form.cleaned_data["shown"], **who),
        ):
            add_flash(request, _policy_saved(request.tenant.id, form.cleaned_data["partition"]))
            return redirect("erasures", request.tenant.id)
    with tenant_scope(request.tenant.id):
        table = read_table(request, _COLUMNS, Erasure.objects.for_tenant(request.tenant.id).page)
        policies = list(RetentionPolicy.objects.for_tenant(request.tenant.id).by_partition())
    rows = [(row, bool(row.receipt) and is_receipt_valid(row)) for row in table.rows]
    page = {"section": _SECTION, "form": form, "table": table, "rows": rows, "policies": policies, "past": past}
    # A confirmation is about the policies that the operator saw before it.
    page["shown"] = form["shown"].value() if past else ",".join(policy.state for policy in policies) or "none"
    page["is_unfinished"] = any(row.is_open for row in table.rows)
    return render_page(request, "compaction/erasure/erasures.html", page, fragment="rows", form=form)


def _policy_saved(tenant_id: UUID, partition: str) -> str:
    """Return the message about a saved policy. A partition that does not exist may be a typing error."""
    with tenant_scope(tenant_id):
        exists = not partition or bool(Partition.objects.found_at(tenant_id, [partition]))
    missing = "" if exists else f" The partition {partition} does not exist yet."
    return f"Retention policy saved. It is applied every hour.{missing}"


def _unconfirmed(request: HtmxRequest, form: RetentionForm) -> PastRetention | None:
    """Return what the policy of a valid form would erase immediately, unless the operator has seen it.

    If the operator has changed the policy since, the page shows what the changed one erases.
    """
    if not form.is_valid() or form.cleaned_data["confirmed"] == form.confirmation():
        return None
    with tenant_scope(request.tenant.id):
        return count_past_retention(tenant=tenant_of(request), now=timezone.now(), **form.policy())


@tenant_page(to_change="admin", state="replaces")
def retention_remove(request: HtmxRequest, policy_id: int) -> HttpResponseBase:
    """End a retention policy."""
    with tenant_scope(request.tenant.id):
        policy = get_object_or_404(RetentionPolicy.objects.for_tenant(request.tenant.id), pk=policy_id)
        form = RetentionEndForm(request.POST)
        if not form.is_valid():
            flash_error(request, "Not removed. Reload the page and try again.")
            return redirect("erasures", request.tenant.id)
        with errors_as_flash(request):
            remove_retention_policy(policy=policy, shown=form.cleaned_data["replaces"], **by_operator(request))
            add_flash(request, "Retention policy removed.")
    return redirect("erasures", request.tenant.id)


@tenant_page("admin", to_change="admin")
def erase(request: HtmxRequest) -> HttpResponseBase:
    """Explain what erasing the target of the URL means; a POST counts what would be erased."""
    form = EraseForm(request.POST if request.method == "POST" else request.GET)
    if not form.is_valid():
        raise Http404
    if request.method == "POST":
        with tenant_change(request):
            erasure = request_erasure(**form.target(), is_dry_run=True, **action_arguments(request))
            return redirect("erasure", request.tenant.id, erasure.pk)
        return redirect("erasures", request.tenant.id)
    page = {"section": _SECTION, **form.cleaned_data}
    return render_page(request, "compaction/erasure/erase.html", page)


@operator_required("admin", to_change="admin")
def erasure(request: HtmxRequest, tenant_id: UUID, erasure_id: UUID) -> HttpResponseBase:
    """Progress and counts of an erasure, then its receipt; a POST erases what a dry run counted.

    The operator who erased a tenant can still read the receipt.
    """
    request.tenants = tenants_of(request.operator)
    request.tenant = next((tenant for tenant in request.tenants if tenant.id == tenant_id), None)  # type: ignore[assignment]
    with tenant_scope(tenant_id):
        row: Erasure = get_object_or_404(Erasure.objects.for_tenant(tenant_id), pk=erasure_id)
    is_own = row.scope == Erasure.Scope.TENANT and row.requested_by_id == str(request.operator.user.pk)
    if request.tenant is None and not (is_own or request.operator.user.is_superuser):
        raise Http404
    if request.method == "POST" and request.tenant is not None:
        return _confirm(request, row)
    return _erasure_page(request, row)


def _confirm(request: HtmxRequest, row: Erasure) -> HttpResponseBase:
    """Request the erasure of a finished dry run, or continue a failed one."""
    form = ConfirmForm(request.POST, name=_name_to_type(request, row))
    who = action_arguments(request)
    if row.state == Erasure.State.FAILED:
        with tenant_scope(row.tenant_id):
            retry_erasure(erasure=row, by=who["by"], now=who["now"])
        return redirect("erasure", row.tenant_id, row.pk)
    if not row.is_dry_run or row.is_open:
        raise Http404
    target: dict[str, Any] = {"memory_id": row.memory_id}
    if row.scope == Erasure.Scope.PARTITION:
        target["partition"] = row.partition_path
    # of a tenant, everything is erased, whatever its agents have stored since the count
    shown = None if row.scope == Erasure.Scope.TENANT else request.POST.get("shown", "")
    started = submit(request, form, lambda: request_erasure(**target, shown=shown, **who))
    if started is None:
        return _erasure_page(request, row, form)
    return redirect("erasure", row.tenant_id, started.pk)


def _erasure_page(request: HtmxRequest, row: Erasure, form: ConfirmForm | None = None) -> HttpResponse:
    name = _name_to_type(request, row)
    counts = row.expected if row.is_dry_run else row.counts or row.expected
    current, shown = None, form.data.get("shown", "") if form else row.counted_state
    if form is not None and form.is_stale:
        with tenant_scope(row.tenant_id):
            current = Selection(row).state()
        shown = state_hash(current)
    page = {
        "section": _SECTION,
        "erasure": row,
        "rows": sorted((row_label(kind), count) for kind, count in counts.items()),
        "step": row_label(row.step),
        "name": name,
        "form": form or ConfirmForm(name=name),
        "current": current,
        "shown": shown,
        "is_valid": bool(row.receipt) and is_receipt_valid(row),
    }
    return render_page(request, "compaction/erasure/erasure.html", page, fragment="body", form=form)


def _name_to_type(request: HtmxRequest, row: Erasure) -> str:
    """Return what must be typed to erase: a partition's path or the tenant's name; "" for a memory."""
    if row.scope == Erasure.Scope.TENANT:
        return request.tenant.name if request.tenant else ""
    return row.partition_path if row.scope == Erasure.Scope.PARTITION else ""
