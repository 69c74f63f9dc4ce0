"""Bulk actions on memories: preview, perform, undo, and choosing the memory to merge with (ADR-0089)."""

from collections.abc import Iterable
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from memories.embeddings.indexer import index_now
from memories.hygiene.actions import merge_seen_memories, undo_hygiene
from memories.models import Memory, Partition
from memories.search.browsing import MemoryFilter, search_memory_list
from memories.services.partitions.paths import parse_partition
from memories.services.store.bulk import (
    BULK_MEMORIES_MAX,
    BULK_MERGE,
    LISTED_ACTIONS,
    MOVE,
    BulkAction,
    describe_skipped,
)
from memories.store.actions.bulk import BulkActionResult, apply_bulk_action, move_memories
from memories.store.bulk_preview import preview_bulk_action
from memories.store.forms import (
    COMMON_KINDS,
    QUERY_MAX_CHARACTERS,
    BulkActionForm,
    BulkSelectionForm,
    MemoryFilterForm,
    MergeSearchForm,
)
from memories.store.views import memory_list
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import errors_as_flash, missing_is_404, perform, tenant_change
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page

#: Maximum memories offered for a merge without a search.
_OFFERED_MAX = 12
#: Participles of actions for messages.
_PARTICIPLES = {
    "archive": "archived",
    "restore": "restored",
    "pin": "pinned",
    "unpin": "unpinned",
    "kind": "given a new kind",
    "move": "moved",
}


@tenant_page("viewer", to_change="operator")
def memory_bulk(request: HtmxRequest) -> HttpResponseBase:
    """Preview (GET) or perform (POST) an action on the selected memories; changed ones are skipped."""
    if request.method == "POST":
        return _perform(request)
    form = BulkSelectionForm(request.GET)
    if not form.is_valid():
        flash_error(request, "Choose an action and select memories.")
        return memory_list.list_again(request, request.GET.get("back", ""))
    fields = form.cleaned_data
    bulk_form = BulkActionForm(initial={"back": fields["back"]})
    return _preview(request, LISTED_ACTIONS[fields["action"]], _selected_ids(request, fields), bulk_form)


@tenant_page(to_change="operator")
def memory_bulk_undo(request: HtmxRequest, act_id: UUID) -> HttpResponseBase:
    """Undo an action, except for memories changed since, and show the list that it came from."""
    undo_bulk_action(request, act_id)
    return memory_list.list_again(request, request.GET.get("back", ""))


@tenant_page("operator")
def memory_merge(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """List the most similar memories or search results; each links to a preview of the merge."""
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        memory: Memory = get_object_or_404(Memory.objects.for_tenant(tenant_id), pk=memory_id)
    form = MergeSearchForm(request.GET)
    page: dict[str, Any] = {"section": "memories", "memory": memory, "own_id": memory.pk, "form": form}
    if form.is_valid():
        text = form.cleaned_data["q"] or memory.content[:QUERY_MAX_CHARACTERS]
        found = search_memory_list(
            tenant_id, text, MemoryFilter(), by=operator_actor(request.operator), now=timezone.now()
        )
        hits = [hit for hit in found.hits if hit.memory.pk != memory.pk]
        if not form.cleaned_data["q"]:
            hits.sort(key=lambda hit: hit.similarity or 0.0, reverse=True)
        page["hits"] = hits[:_OFFERED_MAX]
    return render_page(request, "memories/store/memory_merge.html", page, fragment="fragment", form=form)


def undo_bulk_action(request: HtmxRequest, act_id: UUID) -> None:
    """Undo an action, except for memories changed since, and flash the result or the error."""
    with errors_as_flash(request, "Not undone: {}"), missing_is_404():
        add_flash(request, str(perform(request, undo_hygiene, act_id=act_id)))


def _selected_ids(request: HtmxRequest, fields: dict[str, Any]) -> Iterable[UUID]:
    """Return the ids of the memories: the selected ones, those of the page, or all that match."""
    if fields["scope"] not in (BulkSelectionForm.PAGE, BulkSelectionForm.MATCHING):
        return list(fields["id"])
    listed = memory_list.list_request(request, fields["back"])
    form = MemoryFilterForm(listed.GET)
    if not form.is_valid():
        return []
    if fields["scope"] == BulkSelectionForm.PAGE or form.cleaned_data["q"]:
        return memory_list.listed_memory_ids(memory_list.memory_list_contents(listed, form.cleaned_data))
    with tenant_scope(request.tenant.id):
        rows = memory_list.memory_filter(form.cleaned_data).rows(request.tenant.id, timezone.now())
        return rows.page("-created_at", count=BULK_MEMORIES_MAX + 1).ids()


def _preview(request: HtmxRequest, action: BulkAction, ids: Iterable[UUID], form: BulkActionForm) -> HttpResponseBase:
    back = memory_list.list_return_query(form["back"].value() or "")
    page: dict[str, Any] = {"section": "memories", "action": action, "form": form, "back": back, "kinds": COMMON_KINDS}
    with tenant_change(request):
        page["effect"] = effect = preview_bulk_action(request.tenant.id, action, ids, now=timezone.now())
        text = QueryDict(back).get("q", "").strip()[:QUERY_MAX_CHARACTERS]
        rows = Memory.objects.for_tenant(request.tenant.id).with_ids(row.pk for row in effect.rows)
        page["by_words"] = rows.matching(text).row_count() if text else None
        offered = Partition.objects.for_tenant(request.tenant.id).offered_paths
        page["partitions"] = offered() if action is MOVE else []
        return render_page(request, "memories/store/memories_bulk.html", page, form=form)
    return memory_list.list_again(request, back)


def _perform(request: HtmxRequest) -> HttpResponseBase:
    form = BulkActionForm(request.POST)
    is_valid = form.is_valid()
    fields = form.cleaned_data
    action, seen = LISTED_ACTIONS.get(fields.get("action", "")), fields.get("selected")
    back = memory_list.list_return_query(request.POST.get("back", ""))
    if action is None or not seen:
        flash_error(request, "Choose an action and select memories.")
        return memory_list.list_again(request, back)
    if not is_valid:
        return _preview(request, action, seen, form)
    with errors_as_flash(request):
        if action.name == BULK_MERGE:
            done = perform(request, merge_seen_memories, keep=fields["keep"], seen=seen)
        elif action is MOVE:
            done = perform(request, move_memories, seen=seen, to=parse_partition(fields["to_partition"]))
        else:
            done = perform(request, partial(apply_bulk_action, action=action.name), seen=seen, kind=fields["to_kind"])
        index_now(request.tenant.id, seen)
        again = {"back": back} if back else None
        undo = reverse("memories-bulk-undo", args=[request.tenant.id, done.act.pk], query=again)
        add_flash(request, _result_text(action, done), undo_url=undo)
    return memory_list.list_again(request, back)


def _result_text(action: BulkAction, done: BulkActionResult) -> str:
    if action.name == BULK_MERGE:
        return f"Merged: {done.count - 1:,} archived, 1 kept."
    text = f"{done.count:,} {'memory' if done.count == 1 else 'memories'} {_PARTICIPLES[action.name]}."
    return f"{text} Skipped: {describe_skipped(done.left)}." if done.left else text
