"""A fragment of the workbench: the inclusion budget of an item."""

from dataclasses import replace
from time import perf_counter
from typing import Any

from django.http import HttpResponseBase

from context.assembly.requests import resolve_context_request
from context.receipts.results import MEMORY, PARTITION_SUMMARY, Anchor
from context.workbench.forms import InclusionBudgetForm
from context.workbench.inclusion_budget import find_inclusion_budget
from context.workbench.long_queries import typed_inputs
from context.workbench.preview import anchor_rows
from context.workbench.views.preview import PREVIEW_FIELDS, allow_any_version, operator_caller, preview_query_string
from memories.search.queries.shared_results import shared_results
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import errors_on_form
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page


@tenant_page("viewer")
def context_inclusion_budget(request: HtmxRequest) -> HttpResponseBase:
    """The smallest larger budget whose context includes an item. Changes nothing."""
    form = InclusionBudgetForm(typed_inputs(request.tenant.id, request.GET))
    page: dict[str, Any] = {"section": "context-preview", "form": form, "query": preview_query_string(request.GET)}
    if form.is_valid():
        with errors_on_form(form, PREVIEW_FIELDS):
            page |= _inclusion_budget(request, form)
    return render_page(request, "context/workbench/inclusion_budget.html", page, fragment="entry", form=form)


def _inclusion_budget(request: HtmxRequest, form: InclusionBudgetForm) -> dict[str, Any]:
    item = str(form.cleaned_data["item"])
    preview = replace(allow_any_version(request, form.to_request()), explain=False, preview=True)
    resolved = resolve_context_request(preview, operator_caller(request))
    with shared_results():
        found = find_inclusion_budget(resolved, item, clock=perf_counter)
    with tenant_scope(request.tenant.id):
        rows = anchor_rows([Anchor(MEMORY, item, 0), Anchor(PARTITION_SUMMARY, item, 0)], request.tenant.id)
    inputs = request.GET.copy()
    inputs.pop("item", None)
    if found.inclusion is not None:
        inputs["max_tokens"] = str(found.inclusion.budget)
        inputs["before"] = preview_query_string(request.GET)
    return {
        "found": found,
        **rows.of(item),
        "entry_query": inputs.urlencode(),
        "keep_query": preview_query_string(inputs),
    }
