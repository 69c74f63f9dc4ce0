"""The context log: the contexts that agents received, and the results of the same requests today."""

from datetime import datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from context.assembly.replay import ReplayMode, replay_context
from context.models import Receipt
from context.receipts.export import exported_receipts
from context.receipts.forms import ReceiptExportForm, ReceiptFilterForm
from context.receipts.storing import find_receipt, stored_context
from context.workbench.long_queries import workbench_query
from context.workbench.preview import Preview, build_preview
from context.workbench.preview_diff import PreviewDiff
from context.workbench.views.preview import operator_caller
from memories.models import ApiKey, Partition
from memories.search.queries.shared_results import shared_results
from memories.services.store.import_export_files import CSV
from memories.store.serializers.import_export import FILE_CONTENT_TYPES
from memories.tenancy.audit import record_export, record_shown
from memories.tenancy.exceptions import NotFound, PlatformError
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memory_platform.web.downloads import download, download_query, without_parameters
from memory_platform.web.flash_messages import flash_error
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.rendering import loads_result_later, render_page
from memory_platform.web.tables import SortColumn, TablePage, read_table

_COLUMNS = (SortColumn("when", "created_at", datetime),)


@tenant_page("viewer")
def receipts(request: HtmxRequest) -> HttpResponseBase:
    """Show the contexts that agents received, newest first; filters and page are in the URL.

    A live list polls with `seen`, which costs one index search unless there are newer contexts (ADR-0166).
    """
    form = ReceiptFilterForm(request.GET)
    request.GET = without_parameters(request.GET, "seen")  # type: ignore[assignment]
    page: dict[str, Any] = {"section": "context-log", "form": form}
    tenant_id, now = request.tenant.id, timezone.now()
    is_whole = not wants_fragment(request)
    with tenant_scope(tenant_id):
        if form.is_valid():
            rows = Receipt.objects.for_tenant(tenant_id).listed(reach="", **form.filters(now))
            seen = form.cleaned_data["seen"]
            if seen is not None and not rows.has_newer(seen):
                return HttpResponse(status=HTTPStatus.NO_CONTENT)
            page["export_query"] = download_query(request)
            page["table"] = read_table(request, _COLUMNS, rows.with_keys().page)
            page |= _live_list(request, form, page["table"], now)
        if is_whole:
            page |= {
                "partitions": Partition.objects.for_tenant(tenant_id).offered_paths(),
                "keys": list(ApiKey.objects.for_tenant(tenant_id).by_name()),
            }
    template = "context/receipts/context_log.html"
    return render_page(request, template if is_whole else f"{template}#fragment", page, form=form)


def _live_list(request: HtmxRequest, form: ReceiptFilterForm, table: TablePage, now: datetime) -> dict[str, Any]:
    """Return the URL that a live list polls for newer contexts, and which of its contexts are new."""
    if not form.cleaned_data["live"] or table.order.sort_value or table.previous_query is not None:
        return {}
    newest, seen = table.rows[0].created_at if table.rows else now, form.cleaned_data["seen"]
    query = request.GET.copy()
    query["seen"] = newest.isoformat()
    new = {row.pk for row in table.rows if seen is not None and row.created_at > seen}
    return {"poll_address": f"{request.path}?{query.urlencode()}", "new_ids": new}


@tenant_page("viewer")
def receipt_export(request: HtmxRequest) -> HttpResponseBase:
    """Download the filtered contexts without texts, newest first, as CSV or JSON Lines."""
    form = ReceiptExportForm(request.GET)
    if not form.is_valid():
        flash_error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
        return redirect("context-log", request.tenant.id)
    file_type = form.cleaned_data["type"] or CSV
    now = timezone.now()
    with tenant_scope(request.tenant.id):
        record_export(
            "receipt", form.changed_data, tenant_id=request.tenant.id, by=operator_actor(request.operator), now=now
        )
    lines = exported_receipts(request.tenant.id, form.filters(now), file_type)
    return download(lines, f"contexts.{file_type}", FILE_CONTENT_TYPES[file_type])


@tenant_page("viewer")
def receipt(request: HtmxRequest, receipt_id: UUID) -> HttpResponseBase:
    """Show a context as recorded or, with `with=today`, what the same request returns now."""
    tenant_id = request.tenant.id
    is_today = request.GET.get("with") == ReplayMode.TODAY
    try:
        with tenant_scope(tenant_id):
            row = find_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach="")
            stored = None if is_today and loads_result_later(request) else stored_context(row)
    except NotFound as error:
        raise Http404 from error
    by = operator_actor(request.operator)
    record_shown("read_context", "receipt", receipt_id, tenant_id=tenant_id, by=by, now=timezone.now())
    page: dict[str, Any] = {
        "section": "context-log",
        "receipt": row,
        "is_today": is_today,
        "workbench_query": workbench_query(row),
    }
    if stored is None:
        page["is_coming"] = True
    else:
        with shared_results():
            given = build_preview(stored.context, tenant_id)
            page |= {"is_verified": stored.is_verified, "preview": given, "window": given.window()}
            page |= _today(request, given, receipt_id) if is_today else {}
    template = "context/receipts/context_log_entry.html"
    return render_page(request, f"{template}#fragment" if wants_fragment(request) else template, page)


def _today(request: HtmxRequest, given: Preview, receipt_id: UUID) -> dict[str, Any]:
    """Return the context of the same inputs with today's data, or the reason why they are rejected."""
    try:
        replayed = replay_context(receipt_id, ReplayMode.TODAY, operator_caller(request))
    except PlatformError as error:
        return {"refusal": error.detail}
    today = build_preview(replayed.context, request.tenant.id)
    title = "Since then: identical text" if replayed.is_verified else "Since then"
    change = PreviewDiff(given, today)
    return {"today": today, "window": today.window(), "change": change, "versus": {"title": title}}
