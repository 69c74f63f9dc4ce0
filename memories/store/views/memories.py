"""The page of one memory, its edit form, and the buttons that archive, restore and pin it."""

from collections.abc import Callable, Mapping
from functools import partial
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from memories.embeddings.indexer import index_now
from memories.hygiene.findings import memory_comparison
from memories.models import Memory, MemoryVersion
from memories.search.browsing import read_memory_detail
from memories.store.actions.edit import RESTORED_FIELDS, archive_memory, restore_memory, update_memory
from memories.store.forms import (
    COMMON_LINK_KINDS,
    DEFAULT_LINK_KIND,
    MemoryEditForm,
    MemoryLinkForm,
    memory_form_initial,
)
from memories.store.views.memory_list import list_again, list_return_query
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import shown_state, tenant_page
from memories.tenancy.views.page_actions import by_operator, errors_as_flash, errors_on_form
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.link_graph import LinkedNeighbour, link_graph
from memory_platform.web.numerals import whole_number
from memory_platform.web.rendering import render_page

#: By the last part of the URL: the action, its message, and the URL name of its undo.
MEMORY_ACTIONS: Mapping[str, tuple[Callable[..., Memory], str, str]] = {
    "archive": (archive_memory, "Archived. Contexts no longer include it.", "memory-restore"),
    "restore": (restore_memory, "Restored. Contexts can include it again.", "memory-archive"),
    "pin": (partial(update_memory, changes={"pinned": True}), "Pinned. It comes first in contexts.", "memory-unpin"),
    "unpin": (partial(update_memory, changes={"pinned": False}), "Unpinned.", "memory-pin"),
}


@tenant_page("viewer", to_change="operator")
def memory_detail(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """Show a memory with its versions and links; save an edit as its next version."""
    form = MemoryEditForm(request.POST) if request.method == "POST" else None
    if form is None or not form.is_valid():
        return memory_page(request, memory_id, form)
    with errors_on_form(form):
        with tenant_scope(request.tenant.id):
            current = memory_or_404(request, memory_id)
            before, seen = current.version, form.cleaned_data["seen_version"]
            changes = form.changes_to(current)
            saved = update_memory(memory=current, changes=changes, if_version=seen, **by_operator(request))
        index_now(request.tenant.id, [memory_id])
        if saved.version == before:
            add_flash(request, "No changes made.")
        else:
            undo = version_restore_url(saved, before)
            add_flash(request, f"Saved as version {saved.version}.", undo_url=undo)
        return _again(request, memory_id)
    return memory_page(request, memory_id, form)


@tenant_page(to_change="operator")
def memory_action(request: HtmxRequest, memory_id: UUID, name: str) -> HttpResponseBase:
    """Perform an action of `MEMORY_ACTIONS`."""
    action, message, undo = MEMORY_ACTIONS[name]
    return _perform(request, memory_id, action, message, reverse(undo, args=[request.tenant.id, memory_id]))


@tenant_page(to_change="operator", state="seen_version")
def memory_version_restore(request: HtmxRequest, memory_id: UUID, version: int) -> HttpResponseBase:
    """Restore an earlier version's fields as a new version, if the memory still has the version that was shown."""
    seen = whole_number(shown_state(request, "seen_version"))
    with tenant_scope(request.tenant.id):
        current = memory_or_404(request, memory_id)
        earlier = MemoryVersion.objects.for_tenant(request.tenant.id).of_memory(memory_id).numbered(version)
    if earlier is None:
        raise Http404
    changes = {name: getattr(earlier, name) for name in RESTORED_FIELDS}
    with errors_as_flash(request, if_stale="Choose one under Versions."):
        with tenant_scope(request.tenant.id):
            saved = update_memory(memory=current, changes=changes, if_version=seen, **by_operator(request))
        index_now(request.tenant.id, [memory_id])
        add_flash(request, f"Version {version} restored.", undo_url=version_restore_url(saved, seen))
    return _again(request, memory_id)


def version_restore_url(memory: Memory, version: int) -> str:
    """Return the URL that undoes the current version: it restores `version` unless the memory changes again."""
    shown = {"seen_version": memory.version}
    return reverse("memory-version-restore", args=[memory.tenant_id, memory.pk, version], query=shown)


def _perform(
    request: HtmxRequest, memory_id: UUID, action: Callable[..., Memory], message: str, undo_url: str
) -> HttpResponseBase:
    """Call an action on a memory, offer its undo, and show the page that the request came from."""
    with errors_as_flash(request):
        with tenant_scope(request.tenant.id):
            action(memory=memory_or_404(request, memory_id), **by_operator(request))
        index_now(request.tenant.id, [memory_id])
        from_list = _list_query(request)
        listed = "" if from_list is None else f"?{urlencode({'back': from_list})}"
        add_flash(request, message, undo_url=f"{undo_url}{listed}")
    return _again(request, memory_id)


def memory_page_again(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """Show the memory again after an action on its page."""
    return memory_page(request, memory_id) if request.htmx else redirect("memory", request.tenant.id, memory_id)


def _again(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    from_list = _list_query(request)
    return memory_page_again(request, memory_id) if from_list is None else list_again(request, from_list)


def _list_query(request: HtmxRequest) -> str | None:
    """Return the query of the list that the request came from; None for the memory's own page."""
    back = request.POST.get("back", request.GET.get("back"))
    return None if back is None else list_return_query(back)


def memory_or_404(request: HtmxRequest, memory_id: UUID) -> Memory:
    """Return a memory of the tenant; inside a scope."""
    memory: Memory = get_object_or_404(Memory.objects.for_tenant(request.tenant.id), pk=memory_id)
    return memory


def memory_page(
    request: HtmxRequest,
    memory_id: UUID,
    form: MemoryEditForm | None = None,
    *,
    link_form: MemoryLinkForm | None = None,
) -> HttpResponse:
    """Render the page of a memory, or its body for htmx; 422 if a form has errors."""
    with tenant_scope(request.tenant.id):
        detail = read_memory_detail(request.tenant.id, memory_id)
        if detail is None:
            raise Http404
        comparison = memory_comparison(request.tenant.id, detail.memory)
    memory = detail.memory
    neighbours = [
        LinkedNeighbour(other.pk, other.content, other.archived_at is not None, link.kind, other is link.target)
        for link in detail.links
        for other in [link.target if link.source_id == memory_id else link.source]
    ]
    page = {
        "section": "memories",
        "dossier": detail,
        "memory": memory,
        "graph": link_graph(memory.content, neighbours),
        "form": form or MemoryEditForm(initial=memory_form_initial(memory)),
        "link_form": link_form or MemoryLinkForm(initial={"link_kind": DEFAULT_LINK_KIND}),
        "link_kinds": COMMON_LINK_KINDS,
        "comparison": comparison,
        "is_expired": memory.expires_at is not None and memory.expires_at <= timezone.now(),
    }
    return render_page(request, "memories/store/memory.html", page, fragment="fragment", form=link_form or form)
