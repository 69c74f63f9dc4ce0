"""Suggestions for a field of the workbench: memories and partitions that match the typed text."""

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from context.workbench.forms import SuggestionForm
from context.workbench.views.preview import FOCI_OFFERED_MAX
from memories.models import Partition
from memories.search.browsing import suggested_memories
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.rendering import render_page

PARTITIONS_FOUND_MAX = 20
_CHARACTERS_MIN = 2


@tenant_page("viewer")
def context_suggestions(request: HtmxRequest) -> HttpResponseBase:
    """Suggestions for typed text: memories by words or id, or partitions; without htmx the whole page."""
    if not wants_fragment(request):
        page = reverse("context-preview", args=[request.tenant.id])
        return redirect(f"{page}?{request.GET.urlencode()}")
    form = SuggestionForm(request.GET)
    if not form.is_valid():
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    words, path = form.words, form.cleaned_data["partition"]
    page_data: dict[str, Any] = {"words": words}
    with tenant_scope(request.tenant.id):
        if len(words) >= _CHARACTERS_MIN:
            page_data["memories"] = suggested_memories(
                request.tenant.id, words, count=FOCI_OFFERED_MAX, now=timezone.now()
            )
        if "partition" in request.GET:
            rows = Partition.objects.for_tenant(request.tenant.id)
            page_data["partitions"] = (rows.path_containing(path) if path else rows).paths(PARTITIONS_FOUND_MAX)
    return render_page(request, "context/workbench/_workbench_suggestions.html", page_data)
