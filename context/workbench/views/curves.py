"""The page of the budget curve: what a larger budget adds to the context of a question."""

from typing import Any

from django.http import HttpResponseBase

from context.models import GoldenQuestion
from context.workbench.budget_curve import CURVE_BUDGETS, budget_curve_of_request
from context.workbench.forms import PreviewForm
from context.workbench.long_queries import QUERY_ID, typed_inputs
from context.workbench.views.preview import NOT_OF_A_RUN, allow_any_version, operator_caller, preview_query_string
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import errors_on_form
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import loads_result_later, render_page

#: Parameters of a preview that the page's form shows itself, or that a curve does not use.
NOT_PASSED_ON = ("query", QUERY_ID, "partition", "max_tokens", *NOT_OF_A_RUN)


@tenant_page("viewer")
def budget_curve(request: HtmxRequest) -> HttpResponseBase:
    """Show the budget curve of a preview, given by the same query string. Changes nothing."""
    form = PreviewForm(typed_inputs(request.tenant.id, request.GET) or None)
    kept = [(name, value) for name, value in request.GET.items() if name not in NOT_PASSED_ON]
    budgets = ", ".join(map(str, CURVE_BUDGETS))
    page: dict[str, Any] = {"section": "context-preview", "form": form, "kept": kept, "curve_budgets": budgets}
    if form.is_bound and form.is_valid():
        with errors_on_form(form):
            page |= {"is_coming": True} if loads_result_later(request) else _curve(request, form)
    with tenant_scope(request.tenant.id):
        page["golden_count"] = GoldenQuestion.objects.for_tenant(request.tenant.id).not_removed().row_count()
    return render_page(request, "context/workbench/budget_curve.html", page, fragment="result", form=form)


def _curve(request: HtmxRequest, form: PreviewForm) -> dict[str, Any]:
    curve = budget_curve_of_request(allow_any_version(request, form.to_request()), operator_caller(request))
    if curve.recommended is None:
        return {"curve": curve}
    inputs = request.GET.copy()
    inputs["max_tokens"] = str(curve.recommended)
    return {"curve": curve, "recommended_query": preview_query_string(inputs)}
