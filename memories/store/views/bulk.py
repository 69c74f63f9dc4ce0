"""Acts on many memories of the list: what one would do, doing it, taking it back (ADR-0089)."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST

from memories.embeddings.indexer import index_now
from memories.search.browsing import memories_of
from memories.services.store.bulk import ACTS, MERGE, BulkAct, told
from memories.store.actions.bulk import BulkDone, act_on_memories, merge_seen_memories
from memories.store.bulk_preview import bulk_effect, matching_memories
from memories.store.forms import COMMON_KINDS, BulkActForm, BulkChoiceForm, MemoryFilterForm
from memories.store.views.memory_list import filter_of, ids_shown, list_again, list_request, shown_in, way_back
from memories.store.views.undoing import take_back
from memories.tenancy.access import actor_of, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, complain, flash, operator_required, show

#: What was done, as it is said of so many memories.
SAID = {
    "archive": "archived",
    "restore": "restored",
    "pin": "pinned",
    "unpin": "no longer pinned",
    "kind": "given another kind",
}


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def memory_bulk(request: HtmxRequest) -> HttpResponseBase:
    """GET says what an act on the chosen memories would do; POST does it to those that still are as they were seen."""
    if request.method == "POST":
        return _perform(request)
    form = BulkChoiceForm(request.GET)
    if not form.is_valid():
        complain(request, "Choose an act and the memories it is about.")
        return list_again(request, request.GET.get("back", ""))
    fields = form.cleaned_data
    ids = _chosen(request, fields)
    return _preview(request, ACTS[fields["act"]], ids, BulkActForm(initial={"back": fields["back"]}, label_suffix=""))


@operator_required("operator")
@tenant_required
@require_POST
def memory_bulk_undo(request: HtmxRequest, act_id: UUID) -> HttpResponseBase:
    """Take an act back as far as nobody changed its memories since, and show the list it was done from."""
    take_back(request, act_id)
    return list_again(request, request.GET.get("back", ""))


def _chosen(request: HtmxRequest, fields: dict[str, Any]) -> Iterable[UUID]:
    """The ids an act is to be about: those ticked, those of the page the list stands at, or all that match."""
    if fields["scope"] not in (BulkChoiceForm.PAGE, BulkChoiceForm.MATCHING):
        return list(fields["id"])
    listed = list_request(request, fields["back"])
    form = MemoryFilterForm(listed.GET)
    if not form.is_valid():
        return []
    if fields["scope"] == BulkChoiceForm.PAGE or form.cleaned_data["q"]:
        return ids_shown(shown_in(listed, form.cleaned_data))
    with tenant_scope(request.tenant.id):
        rows = memories_of(request.tenant.id, filter_of(form.cleaned_data), timezone.now())
        return matching_memories(rows).ids()


def _preview(request: HtmxRequest, act: BulkAct, ids: Iterable[UUID], form: BulkActForm) -> HttpResponseBase:
    back = way_back(form["back"].value() or "")
    try:
        with tenant_scope(request.tenant.id):
            effect = bulk_effect(request.tenant.id, act, ids, now=timezone.now())
    except PlatformError as error:
        complain(request, error.detail)
        return list_again(request, back)
    page = {"section": "memories", "act": act, "effect": effect, "form": form, "back": back, "kinds": COMMON_KINDS}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    response: HttpResponse = show(request, "memories/store/memories_bulk.html", page, status=status)
    return response


def _perform(request: HtmxRequest) -> HttpResponseBase:
    form = BulkActForm(request.POST, label_suffix="")
    is_valid = form.is_valid()
    fields = form.cleaned_data
    act, seen, back = ACTS.get(fields.get("act", "")), fields.get("chosen"), way_back(request.POST.get("back", ""))
    if act is None or not seen:
        complain(request, "Choose an act and the memories it is about.")
        return list_again(request, back)
    if not is_valid:
        return _preview(request, act, seen, form)
    who: dict[str, Any] = {"tenant_id": request.tenant.id, "by": actor_of(request.operator), "now": timezone.now()}
    try:
        with tenant_scope(request.tenant.id):
            if act.name == MERGE:
                done = merge_seen_memories(keep=fields["keep"], seen=seen, **who)
            else:
                done = act_on_memories(act=act.name, seen=seen, kind=fields["to_kind"], **who)
    except PlatformError as error:
        complain(request, error.detail)
        return list_again(request, back)
    index_now(request.tenant.id, seen)
    undo = reverse("memories-undo", args=[request.tenant.id, done.act.pk])
    flash(request, _said(act, done), undo_url=f"{undo}?{urlencode({'back': back})}" if back else undo)
    return list_again(request, back)


def _said(act: BulkAct, done: BulkDone) -> str:
    if act.name == MERGE:
        return f"Merged: {done.count - 1:,} archived, 1 kept."
    said = f"{done.count:,} {'memory' if done.count == 1 else 'memories'} {SAID[act.name]}."
    return f"{said} Left alone: {told(done.left)}." if done.left else said
