"""What the numbers in a form would do to the saved questions, before they are saved; GET only, changes nothing."""

from http import HTTPStatus
from time import perf_counter
from typing import Any

from django import forms
from django.http import Http404, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from context.models import BudgetProfile, ScoringProfileVersion
from context.profiles.budget_fields import BudgetProfileForm, merge_form_values
from context.profiles.budget_fields import budget_profile_form_values as typed_from_budget
from context.profiles.budget_profiles import current_budget_profile, draft_budget_profile
from context.profiles.scoring_fields import SCORING_FORM_FIELDS, ScoringProfileForm, scoring_profile_form_values
from context.profiles.scoring_profiles import apply_number_changes, scoring_profile_versions
from context.profiles.versions import changed_numbers
from context.profiles.views.form_errors import add_error_to_form
from context.receipts.results import ContextRequest
from context.services.profiles.scoring_profiles import ScoringProfile
from context.workbench.saved_questions import saved_question_effects, saved_questions
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import InvalidInput, PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, operator_required, render_page, wants_fragment


@operator_required("viewer")
@tenant_required
@require_safe
def budget_effect(request: HtmxRequest, name: str) -> HttpResponseBase:
    """Show the typed numbers of a budget profile on the saved questions, against those in force."""
    try:
        with tenant_scope(request.tenant.id):
            current = current_budget_profile(request.tenant.id, name)
    except InvalidInput as error:
        raise Http404 from error
    is_typed = "default_tokens" in request.GET
    numbers = merge_form_values(request.GET.dict(), current) if is_typed else typed_from_budget(current)
    form = BudgetProfileForm(numbers, label_suffix="")
    page = {
        "section": "budgets",
        "title": name,
        "back": reverse("budget", args=[request.tenant.id, name]),
        "form": form,
        # the form beside it shows each refusal at its field
        "is_told": wants_fragment(request),
    }
    return _shown(request, page | try_budget_profile(request, current, form))


def try_budget_profile(request: HtmxRequest, current: BudgetProfile, form: BudgetProfileForm) -> dict[str, Any]:
    """Return the saved questions and what the typed numbers change; errors are added to the form."""
    before = after = ContextRequest(draft=current, preview=True)
    if form.is_valid():
        try:
            draft = draft_budget_profile(current, form.changes())
        except PlatformError as error:
            add_error_to_form(form, error)
        else:
            after = ContextRequest(draft=draft, preview=True) if changed_numbers(current, draft) else before
    return _tried(request, form, before, after)


@operator_required("viewer")
@tenant_required
@require_safe
def scoring_effect(request: HtmxRequest, name: str) -> HttpResponseBase:
    """Show the typed numbers of a scoring profile on the saved questions, against those of the edited version."""
    try:
        with tenant_scope(request.tenant.id):
            versions = scoring_profile_versions(request.tenant.id, name)
    except PlatformError as error:
        raise Http404 from error
    wanted = request.GET.get("version", "")
    base = next((row for row in versions if str(row.version) == wanted or not wanted), None)
    if base is None:
        raise Http404
    is_typed = "relevance" in request.GET
    form = ScoringProfileForm(request.GET if is_typed else scoring_profile_form_values(base.numbers), label_suffix="")
    address = f"{reverse('scoring-profile', args=[request.tenant.id, name])}?version={base.version}"
    page = {"section": "scoring-profiles", "title": f"{name} {base.version}", "back": address, "form": form}
    return _shown(request, page | try_scoring_profile(request, base, form))


def try_scoring_profile(request: HtmxRequest, base: ScoringProfileVersion, form: ScoringProfileForm) -> dict[str, Any]:
    """Return the same as `try_budget_profile` for the numbers of a scoring profile."""
    numbers = base.numbers
    if form.is_valid():
        try:
            numbers = apply_number_changes(base, form.changes(base.numbers))
        except PlatformError as error:
            add_error_to_form(form, error, SCORING_FORM_FIELDS)
    sides = (ScoringProfile.from_numbers(base.name, base.version, each) for each in (base.numbers, numbers))
    return _tried(request, form, *(ContextRequest(scoring=side, preview=True) for side in sides))


def _tried(request: HtmxRequest, form: forms.Form, before: ContextRequest, after: ContextRequest) -> dict[str, Any]:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        questions, known = saved_questions(tenant_id, request.tenant.name)
    page: dict[str, Any] = {"questions": questions, "known": known}
    if not form.errors:
        try:
            by, now = operator_actor(request.operator), timezone.now()
            page["effect"] = saved_question_effects(
                questions, before, after, tenant_id=tenant_id, actor=by, now=now, clock=perf_counter
            )
        except PlatformError as error:
            form.add_error(None, error.detail)
    return page


def _shown(request: HtmxRequest, page: dict[str, Any]) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if page["form"].errors else HTTPStatus.OK
    template = (
        "context/profiles/saved_effect.html#effect" if wants_fragment(request) else "context/profiles/saved_effect.html"
    )
    return render_page(request, template, page, status=status)
