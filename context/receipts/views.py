"""Receipts: which contexts were given, what each held, and what the same question gives today."""

from datetime import datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from context.assembly.replay import ReplayMode, replay_context
from context.receipts.forms import ReceiptFilterForm
from context.receipts.request_body import workbench_query_string
from context.receipts.storing import StoredContext, find_receipt, list_receipts, stored_context
from context.workbench.diff import PreviewDiff
from context.workbench.preview import Preview, build_preview
from memories.models import ApiKey, Partition
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import NotFound, PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, loads_result_later, operator_required, render_page, wants_fragment
from memory_platform.web.tables import SortColumn, read_table

_COLUMNS = (SortColumn("when", "created_at", datetime),)


@operator_required("viewer")
@tenant_required
@require_safe
def receipts(request: HtmxRequest) -> HttpResponseBase:
    """The contexts that agents got, newest first; filters and place stand in the address."""
    form = ReceiptFilterForm(request.GET, label_suffix="")
    page: dict[str, Any] = {"section": "context-log", "form": form}
    tenant_id = request.tenant.id
    is_whole = not wants_fragment(request)
    with tenant_scope(tenant_id):
        if form.is_valid():
            page |= _rows(request, form)
        if is_whole:
            page |= {
                "partitions": Partition.objects.for_tenant(tenant_id).offered_paths(),
                "keys": list(ApiKey.objects.for_tenant(tenant_id).by_name()),
            }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render_page(
        request,
        "context/receipts/context_log.html" if is_whole else "context/receipts/context_log.html#fragment",
        page,
        status=status,
    )


def _rows(request: HtmxRequest, form: ReceiptFilterForm) -> dict[str, Any]:
    fields = form.cleaned_data
    rows = list_receipts(
        tenant_id=request.tenant.id,
        reach="",
        partition=fields["partition"],
        key_prefix=fields["key"],
        after=fields["after"],
        before=fields["before"],
        asking=fields["q"],
    )
    return {"table": read_table(request, _COLUMNS, rows.with_keys().page)}


@operator_required("viewer")
@tenant_required
@require_safe
def receipt(request: HtmxRequest, receipt_id: UUID) -> HttpResponseBase:
    """One context as it was given; with `with=today` beside what the same question gives now."""
    tenant_id = request.tenant.id
    is_today = request.GET.get("with") == ReplayMode.TODAY
    try:
        with tenant_scope(tenant_id):
            row = find_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach="")
            stored = None if is_today and loads_result_later(request) else stored_context(row)
    except NotFound as error:
        raise Http404 from error
    page: dict[str, Any] = {
        "section": "context-log",
        "receipt": row,
        "is_today": is_today,
        "workbench_query": workbench_query_string(row.request),
    }
    page |= {"is_coming": True} if stored is None else _contexts(request, stored, receipt_id if is_today else None)
    return render_page(
        request,
        "context/receipts/context_log_entry.html#fragment"
        if wants_fragment(request)
        else "context/receipts/context_log_entry.html",
        page,
    )


def _contexts(request: HtmxRequest, stored: StoredContext, again: UUID | None) -> dict[str, Any]:
    """What was given, and what the same inputs give now, of the receipt that is asked `again`."""
    given = build_preview(stored.context, request.tenant.id)
    shown = {"is_verified": stored.is_verified, "preview": given, "window": given.window()}
    return shown | ({} if again is None else _today(request, given, again))


def _today(request: HtmxRequest, given: Preview, receipt_id: UUID) -> dict[str, Any]:
    """The same inputs with today's data; why not, where they cannot be granted any more."""
    tenant_id = request.tenant.id
    try:
        replayed = replay_context(
            tenant_id=tenant_id,
            receipt_id=receipt_id,
            mode=ReplayMode.TODAY,
            reach="",
            actor=operator_actor(request.operator),
            now=timezone.now(),
        )
    except PlatformError as error:
        return {"refusal": error.detail}
    today = build_preview(replayed.context, tenant_id)
    title = "Since then: the same text, byte for byte" if replayed.is_verified else "Since then"
    change = PreviewDiff(given, today)
    return {"today": today, "window": today.window(), "change": change, "versus": {"title": title}}
