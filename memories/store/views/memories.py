"""One memory: its page with the history, the form that opens its next version, and the verbs about it."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST

from memories.embeddings.indexer import index_now
from memories.models import Memory, MemoryVersion
from memories.search.browsing import read_memory_detail
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.forms import MemoryEditForm, memory_form_initial
from memories.store.views.memory_list import list_again, list_return_query
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import (
    HtmxRequest,
    add_flash,
    flash_error,
    operator_required,
    render_page,
    wants_fragment,
)

# What undoing an edit brings back.
RESTORED_FIELDS = ("content", "kind", "confidence", "pinned", "metadata", "expires_at")


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def memory_detail(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """One memory: its fields, versions, links, and the form that opens its next version."""
    form = MemoryEditForm(request.POST, label_suffix="") if request.method == "POST" else None
    if form is None or not form.is_valid():
        return _memory_page(request, memory_id, form)
    try:
        with tenant_scope(request.tenant.id):
            current = _memory(request, memory_id)
            before = current.version
            saved = update_memory(
                memory=current,
                changes=form.changes_to(current),
                if_version=form.cleaned_data["seen_version"],
                by=operator_actor(request.operator),
                now=timezone.now(),
            )
    except PlatformError as error:
        form.add_error(error.field if error.field in form.fields else None, error.detail)
        return _memory_page(request, memory_id, form)
    index_now(request.tenant.id, [memory_id])
    if saved.version == before:
        add_flash(request, "Nothing was changed.")
    else:
        undo = reverse("memory-version-restore", args=[request.tenant.id, memory_id, before])
        add_flash(request, f"Saved as version {saved.version}.", undo_url=undo)
    return _again(request, memory_id)


@operator_required("operator")
@tenant_required
@require_POST
def memory_archive(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """Take a memory out of everything agents read; it can be restored."""
    return _perform(request, memory_id, archive_memory, "Archived. No agent reads it any more.", undo="memory-restore")


@operator_required("operator")
@tenant_required
@require_POST
def memory_restore(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """Make an archived memory live again."""
    return _perform(request, memory_id, restore_memory, "Restored. Agents read it again.", undo="memory-archive")


@operator_required("operator")
@tenant_required
@require_POST
def memory_pin(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """Let a memory come first in every context, within the share of pinned ones."""
    verb = partial(update_memory, changes={"pinned": True})
    return _perform(request, memory_id, verb, "Pinned: it comes first, in its share of the room.", undo="memory-unpin")


@operator_required("operator")
@tenant_required
@require_POST
def memory_unpin(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """Let a memory be judged by its score again."""
    verb = partial(update_memory, changes={"pinned": False})
    return _perform(request, memory_id, verb, "No longer pinned.", undo="memory-pin")


@operator_required("operator")
@tenant_required
@require_POST
def memory_version_restore(request: HtmxRequest, memory_id: UUID, version: int) -> HttpResponseBase:
    """Make what an earlier version said current again, as a new version."""
    with tenant_scope(request.tenant.id):
        current = _memory(request, memory_id)
        earlier = MemoryVersion.objects.for_tenant(request.tenant.id).of_memory(memory_id).numbered(version)
    if earlier is None:
        raise Http404
    changes = {name: getattr(earlier, name) for name in RESTORED_FIELDS}
    undo = reverse("memory-version-restore", args=[request.tenant.id, memory_id, current.version])
    said = f"It says again what version {version} said."
    return _perform(request, memory_id, partial(update_memory, changes=changes), said, undo_url=undo)


def _perform(
    request: HtmxRequest,
    memory_id: UUID,
    verb: Callable[..., Memory],
    said: str,
    *,
    undo: str = "",
    undo_url: str = "",
) -> HttpResponseBase:
    """Call a verb on a memory, say what was done with the way back, and show again where it was asked for."""
    try:
        with tenant_scope(request.tenant.id):
            verb(memory=_memory(request, memory_id), by=operator_actor(request.operator), now=timezone.now())
    except PlatformError as error:
        flash_error(request, error.detail)
    else:
        index_now(request.tenant.id, [memory_id])
        taking_back = undo_url or reverse(undo, args=[request.tenant.id, memory_id])
        from_list = _list_query(request)
        listed = "" if from_list is None else f"?{urlencode({'back': from_list})}"
        add_flash(request, said, undo_url=f"{taking_back}{listed}")
    return _again(request, memory_id)


def _again(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    from_list = _list_query(request)
    if from_list is not None:
        return list_again(request, from_list)
    return _memory_page(request, memory_id) if request.htmx else redirect("memory", request.tenant.id, memory_id)


def _list_query(request: HtmxRequest) -> str | None:
    """The query of the list that a verb was asked for from; None where it was the memory's own page."""
    back = request.POST.get("back", request.GET.get("back"))
    return None if back is None else list_return_query(back)


def _memory(request: HtmxRequest, memory_id: UUID) -> Memory:
    found: Memory | None = Memory.objects.for_tenant(request.tenant.id).with_ids([memory_id]).first()
    if found is None:
        raise Http404
    return found


def _memory_page(request: HtmxRequest, memory_id: UUID, form: MemoryEditForm | None = None) -> HttpResponse:
    with tenant_scope(request.tenant.id):
        dossier = read_memory_detail(request.tenant.id, memory_id)
    if dossier is None:
        raise Http404
    page = {
        "section": "memories",
        "dossier": dossier,
        "memory": dossier.memory,
        "form": form or MemoryEditForm(initial=memory_form_initial(dossier.memory), label_suffix=""),
        "is_expired": dossier.memory.expires_at is not None and dossier.memory.expires_at <= timezone.now(),
    }
    template = "memories/store/memory.html#body" if wants_fragment(request) else "memories/store/memory.html"
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form and form.errors else HTTPStatus.OK
    return render_page(request, template, page, status=status)
