"""Small answers of the workbench: at which budget something enters, and what a field may mean."""

from http import HTTPStatus
from time import perf_counter
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from context.profiles.views.form_errors import blame
from context.receipts.results import MEMORY, PARTITION_SUMMARY, Anchor
from context.workbench.forms import EntryForm, SuggestForm
from context.workbench.inclusion_budget import find_admission
from context.workbench.preview import rows_of
from context.workbench.views.preview import FIELDS, FOCI_OFFERED_MAX, run_of, with_drafts
from memories.models import Partition
from memories.search.browsing import look_up_memories
from memories.tenancy.access import actor_of, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, operator_required, show, wants_fragment

PARTITIONS_FOUND_MAX = 20
CHARACTERS_MIN = 2


@operator_required("viewer")
@tenant_required
@require_safe
def context_entry(request: HtmxRequest) -> HttpResponseBase:
    """The smallest larger budget at which an item stands in the context of the address; changes nothing."""
    form = EntryForm(request.GET, label_suffix="")
    page: dict[str, Any] = {"section": "context-preview", "form": form, "query": run_of(request.GET)}
    if form.is_valid():
        try:
            page |= _admission(request, form)
        except PlatformError as error:
            blame(form, error, FIELDS)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    template = (
        "context/workbench/inclusion_budget.html#entry"
        if wants_fragment(request)
        else "context/workbench/inclusion_budget.html"
    )
    return show(request, template, page, status=status)


def _admission(request: HtmxRequest, form: EntryForm) -> dict[str, Any]:
    item = str(form.cleaned_data["item"])
    tenant_id, actor, now = request.tenant.id, actor_of(request.operator), timezone.now()
    wish = with_drafts(request, form.wish())
    found = find_admission(wish, item, tenant_id=tenant_id, actor=actor, now=now, clock=perf_counter)
    with tenant_scope(tenant_id):
        rows = rows_of([Anchor(MEMORY, item, 0), Anchor(PARTITION_SUMMARY, item, 0)], tenant_id)
    inputs = request.GET.copy()
    inputs.pop("item", None)
    if found.entry is not None:
        inputs["max_tokens"] = str(found.entry.budget)
        inputs["before"] = run_of(request.GET)
    return {
        "found": found,
        "memory": rows.memories.get(item),
        "summary": rows.summaries.get(item),
        "entry_query": inputs.urlencode(),
    }


@operator_required("viewer")
@tenant_required
@require_safe
def context_suggest(request: HtmxRequest) -> HttpResponseBase:
    """What the letters typed so far may mean: memories by words or id, or partitions; to a browser the page itself."""
    if not wants_fragment(request):
        page = reverse("context-preview", args=[request.tenant.id])
        return redirect(f"{page}?{request.GET.urlencode()}")
    form = SuggestForm(request.GET)
    if not form.is_valid():
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    words, path = form.words, form.cleaned_data["partition"]
    page_data: dict[str, Any] = {"words": words}
    with tenant_scope(request.tenant.id):
        if len(words) >= CHARACTERS_MIN:
            page_data["memories"] = look_up_memories(
                request.tenant.id, words, count=FOCI_OFFERED_MAX, now=timezone.now()
            )
        if "partition" in request.GET:
            rows = Partition.objects.for_tenant(request.tenant.id)
            page_data["partitions"] = (rows.holding(path) if path else rows).paths(PARTITIONS_FOUND_MAX)
    return show(request, "context/workbench/_workbench_suggestions.html", page_data)
