"""The budget curve: what each further token of a context brings, and where that stops."""

from http import HTTPStatus
from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from context.budget_curve import CURVE_BUDGETS, curve_of
from context.forms import PreviewForm
from context.models import GoldenQuestion
from context.views.blame import blame
from memories.access import actor_of, tenant_required
from memories.exceptions import PlatformError
from memories.scopes import tenant_scope
from memory_platform.web import HtmxRequest, operator_required, show

#: What of a preview's address the form of the page shows itself, or what a curve has no use for.
DRAWN_ANEW = ("query", "partition", "max_tokens", "before", "keep")


@operator_required("viewer")
@tenant_required
@require_safe
def budget_curve(request: HtmxRequest) -> HttpResponseBase:
    """The inputs of a preview at every budget; the address is that of the preview. Changes nothing."""
    form = PreviewForm(request.GET or None, label_suffix="")
    kept = [(name, value) for name, value in request.GET.items() if name not in DRAWN_ANEW]
    budgets = ", ".join(map(str, CURVE_BUDGETS))
    page: dict[str, Any] = {"section": "context-preview", "form": form, "kept": kept, "curve_budgets": budgets}
    if form.is_bound and form.is_valid():
        try:
            page["curve"] = curve_of(
                form.wish(), tenant_id=request.tenant.id, actor=actor_of(request.operator), now=timezone.now()
            )
        except PlatformError as error:
            blame(form, error)
    with tenant_scope(request.tenant.id):
        page["golden_count"] = GoldenQuestion.objects.for_tenant(request.tenant.id).standing().how_many()
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return show(request, "budget_curve.html", page, status=status)
