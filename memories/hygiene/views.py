"""The hygiene lists, actions on their rows with a preview, and undo."""

from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from memories.hygiene import findings
from memories.hygiene.actions import perform_hygiene_action
from memories.hygiene.findings import HygieneActionEffect
from memories.hygiene.forms import HygieneActionForm, HygieneFilterForm
from memories.models import Memory, Partition
from memories.services.hygiene.rules import LISTS, NEAR_DUPLICATE_LIST, HygieneList
from memories.services.store.bulk import BULK_ARCHIVE, BULK_MERGE, RESTORE
from memories.store.views.bulk import undo_bulk_action
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import by_operator, tenant_change
from memory_platform.rest.cursor_pagination import CursorError, CursorPosition, read_cursor, write_cursor
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.rendering import render_page

#: Query parameters that every page of a list keeps.
KEPT_IN_ADDRESS = ("partition", "sort")


@tenant_page("viewer")
def hygiene(request: HtmxRequest, name: str = "") -> HttpResponseBase:
    """Show one list, which a saved view names in its query, and the lengths of all lists."""
    name = name or request.GET.get("list", NEAR_DUPLICATE_LIST)
    return _list_page(request, _list_named(name), request.GET)


@tenant_page("viewer")
def hygiene_progress(request: HtmxRequest) -> HttpResponseBase:
    """Show how many memories wait to be compared; polls while there are any."""
    if not wants_fragment(request):
        return redirect("hygiene", request.tenant.id)
    with tenant_scope(request.tenant.id):
        waiting = findings.comparison_backlog(request.tenant.id)
    page: dict[str, Any] = {"waiting": waiting, "is_progress": True}
    return render(request, "memories/hygiene/_hygiene_progress.html", page)


@tenant_page("viewer")
def memory_findings(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """Show the result of comparing a memory with its partition; polls until the comparison has run."""
    with tenant_scope(request.tenant.id):
        memory = get_object_or_404(Memory.objects.for_tenant(request.tenant.id), pk=memory_id)
        page = {"memory": memory, "comparison": findings.memory_comparison(request.tenant.id, memory)}
    if not wants_fragment(request):
        return redirect("memory", request.tenant.id, memory_id)
    return render(request, "memories/hygiene/_memory_findings.html", page)


@tenant_page("viewer", to_change="operator")
def hygiene_bulk(request: HtmxRequest, name: str) -> HttpResponseBase:
    """Preview (GET) or perform (POST) an action on the selected rows."""
    each = _list_named(name)
    sent = request.POST if request.method == "POST" else request.GET
    form = HygieneActionForm(sent)
    if not form.is_valid():
        flash_error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
        return _again(request, each, sent)
    fields, who = form.cleaned_data, by_operator(request)
    with tenant_change(request):
        effect = findings.hygiene_action_effect(
            request.tenant.id, each, fields["action"], fields["id"], keep=fields["keep"], now=who["now"]
        )
        if request.method != "POST":
            page = {"section": "hygiene", "list": each, "effect": effect, "kept_in_address": _kept(sent)}
            return render_page(request, "memories/hygiene/hygiene_effect.html", page)
        act = perform_hygiene_action(tenant_id=request.tenant.id, effect=effect, has_pairs=each.has_pairs, **who)
        again = {"list": each.kind, **_kept(sent)}
        undo = reverse("hygiene-bulk-undo", args=[request.tenant.id, act.pk], query=again) if act else ""
        add_flash(request, _done_text(effect), undo_url=undo)
    return _again(request, each, sent)


@tenant_page(to_change="operator")
def hygiene_undo(request: HtmxRequest, act_id: UUID) -> HttpResponseBase:
    """Undo an action, except for memories that were changed since."""
    each = LISTS.get(request.GET.get("list", ""), LISTS[NEAR_DUPLICATE_LIST])
    undo_bulk_action(request, act_id)
    return _again(request, each, request.GET)


def _list_named(name: str) -> HygieneList:
    if name not in LISTS:
        raise Http404
    return LISTS[name]


def _done_text(effect: HygieneActionEffect) -> str:
    if effect.action == BULK_MERGE:
        return f"Merged: {effect.archived} archived, {len(effect.groups)} kept."
    if effect.action == BULK_ARCHIVE:
        return f"{effect.archived} archived. Contexts no longer include them."
    if effect.action == RESTORE:
        count = len(effect.memories)
        return f"{count} {'memory is' if count == 1 else 'memories are'} live again, alongside the newer one."
    return f"{len(effect.ids)} dismissed."


def _kept(sent: QueryDict) -> dict[str, str]:
    return {name: str(sent[name]) for name in KEPT_IN_ADDRESS if sent.get(name)}


def _again(request: HtmxRequest, each: HygieneList, sent: QueryDict) -> HttpResponseBase:
    if request.htmx:
        return _list_page(request, each, sent)
    return redirect(reverse("hygiene-list", args=[request.tenant.id, each.kind], query=_kept(sent)))


def _list_page(request: HtmxRequest, each: HygieneList, sent: QueryDict) -> HttpResponse:
    form = HygieneFilterForm(sent, sorts=each.sorts)
    kept = _kept(sent) if form.is_valid() else {}
    now, tenant_id = timezone.now(), request.tenant.id
    address = reverse("hygiene-list", args=[request.tenant.id, each.kind])
    page: dict[str, Any] = {"section": "hygiene", "list": each, "form": form, "address": address}
    page |= {"kept_in_address": kept, "kept_query": urlencode(kept)}
    with tenant_scope(tenant_id):
        page["lengths"] = findings.hygiene_list_lengths(tenant_id, form.cleaned_data.get("partition", ""), now=now)
        page["waiting"] = findings.comparison_backlog(tenant_id)
        page["partitions"] = Partition.objects.for_tenant(tenant_id).offered_paths()
        if form.is_valid():
            page |= _rows(request, each, form.cleaned_data, now)
    return render_page(request, "memories/hygiene/hygiene.html", page, fragment="hygiene-list", form=form)


def _rows(request: HtmxRequest, each: HygieneList, fields: dict[str, Any], now: datetime) -> dict[str, Any]:
    behind = _place(request.GET.get("cursor"), each, fields["sort"])
    place = (fields["partition"], fields["sort"])
    rows, last = findings.hygiene_page(request.tenant.id, each, *place, behind=behind, now=now)
    following = ""
    if last is not None:
        ordering = each.sorts[fields["sort"]]
        value = getattr(last, ordering.removeprefix("-"))
        cursor = write_cursor(CursorPosition(f"{each.kind} {ordering}", value, last.pk))
        kept = {name: fields[name] for name in KEPT_IN_ADDRESS if fields[name]}
        following = urlencode({**kept, "cursor": cursor})
    return {
        "rows": rows,
        "next_query": following,
        "is_behind": behind is not None,
        "all_ids": urlencode([("id", row.id) for row in rows]),
    }


def _place(cursor: str | None, each: HygieneList, sort: str) -> tuple[Any, int] | None:
    try:
        place = read_cursor(cursor) if cursor else None
    except CursorError:
        return None
    ordering = each.sorts[sort]
    if place is None or place.ordering != f"{each.kind} {ordering}" or not isinstance(place.id, int):
        return None
    is_time = ordering.removeprefix("-") in {"at", "found_at"}
    return (place.value, place.id) if isinstance(place.value, datetime) == is_time else None
