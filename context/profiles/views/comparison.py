"""Two versions of profiles side by side, for budget and for scoring profiles."""

from typing import Any

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe

from context.profiles.forms import VersionComparisonForm
from context.profiles.kinds import ProfileKind
from context.profiles.versions import compare_versions, labelled_numbers
from context.profiles.views.operations import errors_on_form
from memories.tenancy.access import tenant_required
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, operator_required, render_page


@operator_required("viewer")
@tenant_required
@require_safe
def profile_comparison(request: HtmxRequest, kind: ProfileKind) -> HttpResponseBase:
    """Show two versions, of one profile or of two, number by number."""
    form = VersionComparisonForm(request.GET or None, label_suffix="")
    page: dict[str, Any] = {"section": kind.section, "form": form}
    with tenant_scope(request.tenant.id):
        page["offered"] = kind.compared_versions(request.tenant.id)
        if form.is_bound and form.is_valid():
            with errors_on_form(form):
                numbers = compare_versions(*(kind.version(request.tenant.id, *each) for each in form.named_versions()))
                page["numbers"] = labelled_numbers(numbers)
                page["differing"] = any(number.differs for number in numbers)
    return render_page(request, f"context/profiles/{kind.prefix}_compare.html", page, fragment="result", form=form)
