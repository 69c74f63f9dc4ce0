"""The page that chooses the memory to merge with."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from memories.models import Memory
from memories.search.browsing import MemoryFilter, search_memory_list
from memories.store.forms import QUERY_MAX_CHARACTERS, MergeSearchForm
from memories.tenancy.access import tenant_required
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, operator_required, render_page

#: Memories offered without a search.
_OFFERED_MAX = 12


@operator_required("operator")
@tenant_required
@require_safe
def memory_merge(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """List the most similar memories or search results; each links to a preview of the merge."""
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        memory = Memory.objects.for_tenant(tenant_id).with_id(memory_id).first()
    if memory is None:
        raise Http404
    form = MergeSearchForm(request.GET, label_suffix="")
    page: dict[str, Any] = {"section": "memories", "memory": memory, "own_id": memory.pk, "form": form}
    if form.is_valid():
        text = form.cleaned_data["q"] or memory.content[:QUERY_MAX_CHARACTERS]
        found = search_memory_list(tenant_id, text, MemoryFilter(), now=timezone.now())
        hits = [hit for hit in found.hits if hit.memory.pk != memory.pk]
        if not form.cleaned_data["q"]:
            hits.sort(key=lambda hit: hit.similarity or 0.0, reverse=True)
        page["hits"] = hits[:_OFFERED_MAX]
    return render_page(request, "memories/store/memory_merge.html", page, fragment="fragment", form=form)
