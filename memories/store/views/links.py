"""Links of a memory: add one on its page, remove it, and undo both."""

from uuid import UUID

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse

from memories.models import Memory, MemoryLink
from memories.partitions.actions import link_memories, unlink_memories
from memories.search.browsing import find_memories_by_id_or_text
from memories.store.forms import MemoryLinkForm
from memories.store.views.memories import memory_or_404, memory_page, memory_page_again
from memories.tenancy.exceptions import InvalidInput, NotFound
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import by_operator, errors_as_flash, submit
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest


@tenant_page(to_change="operator")
def memory_link(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """Link the memory to another one, and show its page again."""
    form = MemoryLinkForm(request.POST)

    def create_link() -> MemoryLink:
        fields, source = form.cleaned_data, memory_or_404(request, memory_id)
        target = _target(request, fields["memory"])
        return link_memories(source=source, target=target, kind=fields["link_kind"], **by_operator(request))

    link = submit(request, form, create_link, names={"target_id": "memory", "kind": "link_kind"})
    if link is None:
        return memory_page(request, memory_id, link_form=form)
    undo = reverse("memory-link-remove", args=[request.tenant.id, memory_id, link.pk])
    add_flash(request, f"Linked as {link.kind}.", undo_url=undo)
    return memory_page_again(request, memory_id)


@tenant_page(to_change="operator")
def memory_link_remove(request: HtmxRequest, memory_id: UUID, link_id: int) -> HttpResponseBase:
    """End a link of the memory; it stays in the history."""
    with tenant_scope(request.tenant.id):
        link = _link_or_404(request, memory_id, link_id)
        unlink_memories(link=link, **by_operator(request))
    undo = reverse("memory-link-restore", args=[request.tenant.id, memory_id, link_id])
    add_flash(request, f"Link {link.kind} removed.", undo_url=undo)
    return memory_page_again(request, memory_id)


@tenant_page(to_change="operator")
def memory_link_restore(request: HtmxRequest, memory_id: UUID, link_id: int) -> HttpResponseBase:
    """Link the memories of an ended link again."""
    with errors_as_flash(request, "Not undone: {}"), tenant_scope(request.tenant.id):
        ended = _link_or_404(request, memory_id, link_id)
        link_memories(source=ended.source, target=ended.target, kind=ended.kind, **by_operator(request))
        add_flash(request, f"Linked as {ended.kind} again.")
    return memory_page_again(request, memory_id)


def _target(request: HtmxRequest, text: str) -> Memory:
    """Return the one memory with this id or these words. Raises `NotFound` or `InvalidInput`."""
    found = find_memories_by_id_or_text(request.tenant.id, text, count=2, **by_operator(request))
    live = [memory for memory in found if memory.archived_at is None]
    if not live:
        raise NotFound("not_found", "No live memory has this ID or text.", "memory")
    if len(live) > 1:
        raise InvalidInput("ambiguous", "Several memories match. Select one from the list.", "memory")
    return live[0]


def _link_or_404(request: HtmxRequest, memory_id: UUID, link_id: int) -> MemoryLink:
    rows = MemoryLink.objects.for_tenant(request.tenant.id).touching(memory_id).with_ends()
    link: MemoryLink = get_object_or_404(rows, pk=link_id)
    return link
