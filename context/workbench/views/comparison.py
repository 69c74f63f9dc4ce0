"""With what a preview is compared: the run before, a receipt, or the same wish at a snapshot."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse

from context.assembly.difference import snapshot_recorded_at
from context.receipts.results import ContextRequest
from context.receipts.storing import read_receipt
from context.workbench.changes import context_changes
from context.workbench.forms import PreviewForm
from context.workbench.preview import Preview, build_preview
from memories.tenancy.exceptions import NotFound, PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest

Previewed = Callable[[HtmxRequest, ContextRequest], Preview]


def preview_comparison(
    request: HtmxRequest, form: PreviewForm, preview: Preview, own: str, previewed: Previewed
) -> dict[str, Any]:
    """What differs from what the form names, with its title and address; nothing where there is nothing to compare.

    Raises `NotFound` for a receipt or a snapshot that is not there.
    """
    fields, tenant_id = form.cleaned_data, request.tenant.id
    named: dict[str, Any]
    recorded_at = None
    match fields["against"]:
        case "nothing":
            return {}
        case "receipt":
            earlier: Preview | None = _given(tenant_id, fields["receipt"])
            named = {"title": "Against the receipt", "address": reverse("receipt", args=[tenant_id, fields["receipt"]])}
        case "snapshot":
            moment = snapshot_recorded_at(fields["snapshot"], tenant_id)
            earlier = previewed(request, replace(form.wish(), moment=moment))
            recorded_at = moment.at if moment else None
            named = {"title": f"Against the snapshot {fields['snapshot']}", "address": ""}
        case _:
            before = fields["before"]
            earlier = _run_before(request, before, previewed) if before and before != own else None
            # Folded, and with room from the first run on: what stands below does not jump while a budget moves.
            named = {"title": "Against the run before", "address": f"?{before}", "is_folded": True}
    if earlier is None:
        return {"has_room_for_change": True}
    change = context_changes(earlier, preview, recorded_at=recorded_at)
    return {"earlier": earlier, "change": change, "versus": named}


def _given(tenant_id: UUID, receipt_id: UUID) -> Preview:
    try:
        with tenant_scope(tenant_id):
            stored = read_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach="")
    except NotFound as error:
        raise NotFound(error.code, error.detail, "since.context_id") from error
    return build_preview(stored.context, tenant_id)


def _run_before(request: HtmxRequest, query_string: str, previewed: Previewed) -> Preview | None:
    """The run before, from its inputs and today's data; None where they do not make a context (any more)."""
    form = PreviewForm(QueryDict(query_string))
    if not form.is_valid():
        return None
    try:
        return previewed(request, form.wish())
    except PlatformError:
        return None
