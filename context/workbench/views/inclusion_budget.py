"""Fragments of the workbench: the inclusion budget of an item, and suggestions for a field."""

from http import HTTPStatus
from time import perf_counter
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from context.profiles.views.form_errors import add_error_to_form
from context.receipts.results import MEMORY, PARTITION_SUMMARY, Anchor
from context.workbench.forms import InclusionBudgetForm, SuggestionForm
from context.workbench.inclusion_budget import find_inclusion_budget
from context.workbench.preview import anchor_rows
from context.workbench.views.preview import FOCI_OFFERED_MAX, PREVIEW_FIELDS, allow_draft_profile, preview_query_string
from memories.models import Partition
from memories.search.browsing import find_memories_by_id_or_text
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memory_platform.web.pages import HtmxRequest, render_page, wants_fragment

PARTITIONS_FOUND_MAX = 20
_CHARACTERS_MIN = 2


@tenant_page("viewer")
def context_inclusion_budget(request: HtmxRequest) -> HttpResponseBase:
    """The smallest larger budget whose context includes an item. Changes nothing."""
    form = InclusionBudgetForm(request.GET, label_suffix="")
    page: dict[str, Any] = {"section": "context-preview", "form": form, "query": preview_query_string(request.GET)}
    if form.is_valid():
        try:
            page |= _inclusion_budget(request, form)
        except PlatformError as error:
            add_error_to_form(form, error, PREVIEW_FIELDS)
    return render_page(request, "context/workbench/inclusion_budget.html", page, fragment="entry", form=form)


def _inclusion_budget(request: HtmxRequest, form: InclusionBudgetForm) -> dict[str, Any]:
    item = str(form.cleaned_data["item"])
    tenant_id, actor, now = request.tenant.id, operator_actor(request.operator), timezone.now()
    preview = allow_draft_profile(request, form.to_request())
    found = find_inclusion_budget(preview, item, tenant_id=tenant_id, actor=actor, now=now, clock=perf_counter)
    with tenant_scope(tenant_id):
        rows = anchor_rows([Anchor(MEMORY, item, 0), Anchor(PARTITION_SUMMARY, item, 0)], tenant_id)
    inputs = request.GET.copy()
    inputs.pop("item", None)
    if found.inclusion is not None:
        inputs["max_tokens"] = str(found.inclusion.budget)
        inputs["before"] = preview_query_string(request.GET)
    return {"found": found, **rows.of(item), "entry_query": inputs.urlencode()}


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
            now = timezone.now()
            found = find_memories_by_id_or_text(request.tenant.id, words, count=FOCI_OFFERED_MAX, now=now)
            page_data["memories"] = found
        if "partition" in request.GET:
            rows = Partition.objects.for_tenant(request.tenant.id)
            page_data["partitions"] = (rows.holding(path) if path else rows).paths(PARTITIONS_FOUND_MAX)
    return render_page(request, "context/workbench/_workbench_suggestions.html", page_data)
