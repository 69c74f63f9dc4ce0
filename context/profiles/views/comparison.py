"""Two versions of profiles side by side, for budget and for scoring profiles."""

from http import HTTPStatus
from typing import Any

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe

from context.profiles.forms import VersionComparisonForm
from context.profiles.versions import labelled_numbers
from context.profiles.views.form_errors import add_error_to_form
from context.profiles.views.kinds import ProfileKind
from memories.tenancy.access import tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, operator_required, render_page, wants_fragment


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
            try:
                numbers = kind.compare(request.tenant.id, *form.named_versions())
                page["numbers"] = labelled_numbers(numbers)
                page["differing"] = any(number.differs for number in numbers)
            except PlatformError as error:
                add_error_to_form(form, error)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    template = kind.template("compare") + ("#result" if wants_fragment(request) else "")
    return render_page(request, template, page, status=status)
