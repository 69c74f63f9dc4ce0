"""The list of memories: browsing, search, and the list again after an action."""

from collections.abc import Mapping
from copy import copy
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import TooManyFieldsSent
from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from memories.models import Memory, Partition
from memories.search.browsing import MemoryFilter, search_memory_list
from memories.search.retrieval import RetrievalMode
from memories.store.forms import MemoryFilterForm
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.rendering import loads_result_later, render_page
from memory_platform.web.tables import SortColumn, read_table

WAY_BACK_MAX_CHARACTERS = 4_000
_COLUMNS = (
    SortColumn("created", "created_at", datetime),
    SortColumn("tokens", "tokens_o200k_base", int),
    SortColumn("confidence", "confidence", float),
)


@tenant_page("viewer")
def memory_list(request: HtmxRequest) -> HttpResponseBase:
    """Browse and search the memories of a tenant; filters and page are in the URL."""
    return _page(request)


def memory_filter(fields: Mapping[str, Any]) -> MemoryFilter:
    """Return the filter of the valid fields of a `MemoryFilterForm`."""
    return MemoryFilter(**{name: value for name, value in fields.items() if name not in ("q", "mode")})


def memory_list_contents(request: HtmxRequest, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the list shows: `found` for a search, else a `table`. Call with no scope open."""
    list_filter, now, tenant_id = memory_filter(fields), timezone.now(), request.tenant.id
    if fields["q"]:
        mode, by = fields["mode"] or RetrievalMode.HYBRID, operator_actor(request.operator)
        return {"found": search_memory_list(tenant_id, fields["q"], list_filter, mode=mode, by=by, now=now)}
    with tenant_scope(tenant_id):
        rows = list_filter.rows(tenant_id, now)
        return {"table": read_table(request, _COLUMNS, lambda ordering, **place: rows.page(ordering, **place))}


def listed_memory_ids(shown: Mapping[str, Any]) -> list[UUID]:
    """Return the ids in the result of `memory_list_contents`, of a search those above its cut-off."""
    rows = (hit.memory for hit in shown["found"].selectable) if "found" in shown else shown["table"].rows
    return [row.pk for row in rows]


def list_request(request: HtmxRequest, query: str) -> HtmxRequest:
    """Return a GET request of the same person for the list with this query string."""
    listing = copy(request)
    listing.method, listing.GET = "GET", QueryDict(query)
    listing.path = listing.path_info = reverse("memories", args=[request.tenant.id])
    return listing


def list_return_query(query: str) -> str:
    """Return the normalised query string of the list to return to; "" if it is invalid or too long."""
    try:
        again = QueryDict(query).urlencode() if len(query) <= WAY_BACK_MAX_CHARACTERS else ""
    except TooManyFieldsSent:
        return ""
    return again if len(again) <= WAY_BACK_MAX_CHARACTERS else ""


def list_again(request: HtmxRequest, back: str) -> HttpResponseBase:
    """Show the list again after an action, on the same page; the first one if `back` is invalid."""
    query = list_return_query(back)
    listing = list_request(request, query)
    if wants_fragment(request):
        return _page(listing)
    return redirect(f"{listing.path}?{query}" if query else listing.path)


def _page(request: HtmxRequest) -> HttpResponse:
    form = MemoryFilterForm(request.GET)
    page: dict[str, Any] = {"section": "memories", "form": form, "address": request.path}
    is_valid = form.is_valid()
    if is_valid:
        page["query"] = request.GET.urlencode()
        is_left = bool(form.cleaned_data["q"]) and loads_result_later(request)
        page |= {"is_coming": True} if is_left else memory_list_contents(request, form.cleaned_data)
    if not wants_fragment(request):
        tenant_id = request.tenant.id
        with tenant_scope(tenant_id):
            page |= {
                "partitions": Partition.objects.for_tenant(tenant_id).offered_paths(),
                "kinds": Memory.objects.for_tenant(tenant_id).live_kinds(timezone.now()),
            }
    return render_page(request, "memories/store/memories.html", page, fragment="fragment", form=form)
