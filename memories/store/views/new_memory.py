"""The page that adds a memory."""

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from memories.embeddings.indexer import index_now
from memories.models import Memory, Partition
from memories.services.store.drafts import NewMemory
from memories.store.actions.store import store_memories
from memories.store.forms import COMMON_KINDS, MemoryNewForm
from memories.store.store_results import StoreStatus
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import action_arguments, submit
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page


@tenant_page("operator", to_change="operator")
def memory_new(request: HtmxRequest) -> HttpResponseBase:
    """Show the form; store a memory as `POST memories` of the API with `If-None-Match: *`, and open its page."""
    if request.method != "POST":
        names = ("partition", "kind")
        given = {name: request.GET[name] for name in names if name in request.GET}
        # the values that a memory has if the API is given its text alone
        defaults = {name: getattr(NewMemory(""), name) for name in ("kind", "confidence", "metadata")}
        return _page(request, MemoryNewForm(initial=defaults | given))
    form = MemoryNewForm(request.POST)
    memory = _stored(request, form)
    if memory is None:
        return _page(request, form)
    index_now(request.tenant.id, [memory.pk])
    return redirect("memory", request.tenant.id, memory.pk)


def _stored(request: HtmxRequest, form: MemoryNewForm) -> Memory | None:
    """Store the memory and report the result; return None after errors, which are added to the form."""
    stored = submit(request, form, lambda: store_memories(rows=[form.new_memory()], **action_arguments(request)))
    if stored is None:
        return None
    (result,) = stored
    if result.stale_field:
        form.same_source = _same_source(request, form.new_memory())
        form.add_error("source_id", "A memory of this partition already has this source ID.")
        return None
    for problem in result.problems:
        form.add_error(problem.field if problem.field in form.fields else None, problem.detail)
    if result.memory is not None:
        _flash_result(request, result.memory, result.status)
    return result.memory


def _same_source(request: HtmxRequest, row: NewMemory) -> Memory | None:
    with tenant_scope(request.tenant.id):
        live = Memory.objects.for_tenant(request.tenant.id).live(timezone.now())
        found: Memory | None = live.of_sources([(row.partition.path, row.source_id)]).first()
        return found


def _flash_result(request: HtmxRequest, memory: Memory, status: str) -> None:
    if status == StoreStatus.CREATED:
        undo = reverse("memory-archive", args=[request.tenant.id, memory.pk])
        add_flash(request, "Memory stored.", undo_url=undo)
    else:
        add_flash(request, "Already stored: the partition has this text. Nothing was changed.")


def _page(request: HtmxRequest, form: MemoryNewForm) -> HttpResponse:
    with tenant_scope(request.tenant.id):
        partitions = Partition.objects.for_tenant(request.tenant.id).offered_paths()
    page = {"section": "memories", "form": form, "partitions": partitions, "kinds": COMMON_KINDS}
    return render_page(request, "memories/store/memory_new.html", page, form=form)
