"""The effect of unsaved settings in a form on the saved questions. GET only; nothing is changed."""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

from django import forms
from django.http import HttpResponseBase

from context.models import ScoringProfileVersion
from context.profiles.budget_fields import bound_budget_form
from context.profiles.budget_profiles import draft_budget_profile, find_budget_profile
from context.profiles.kinds import BUDGET_KIND, ProfileKind
from context.profiles.scoring_fields import SCORING_FORM_FIELDS, ScoringProfileForm, scoring_profile_form_values
from context.profiles.scoring_profiles import apply_number_changes, scoring_profile_versions
from context.profiles.versions import changed_numbers
from context.profiles.views.operations import selected_version, version_url
from context.receipts.results import ContextRequest
from context.services.profiles.scoring_profiles import ScoringProfile
from context.workbench.saved_questions import saved_question_effects, saved_questions
from context.workbench.views.preview import operator_caller
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import errors_on_form, missing_is_404
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.numerals import versioned_name
from memory_platform.web.rendering import render_page


@tenant_page("viewer")
def profile_effect(request: HtmxRequest, kind: ProfileKind, name: str) -> HttpResponseBase:
    """Show the effect of the entered numbers on the saved questions, compared with those of the edited version."""
    page = (_budget_effect if kind is BUDGET_KIND else _scoring_effect)(request, name)
    page["section"] = kind.section
    return render_page(request, "context/profiles/saved_effect.html", page, fragment="effect", form=page["form"])


def _budget_effect(request: HtmxRequest, name: str) -> dict[str, Any]:
    """Return the effect of all entered settings, or of `max_tokens` alone as the default budget.

    A new default budget is compared without the budgets of the questions themselves, which would hide its effect.
    """
    with missing_is_404(), tenant_scope(request.tenant.id):
        current = find_budget_profile(request.tenant.id, name)
    new_budget = request.GET.get("max_tokens")
    typed: Mapping[str, Any] | None = request.GET if "default_tokens" in request.GET else None
    if new_budget is not None:
        typed = dict(bound_budget_form(None, current).as_pairs()) | {"default_tokens": new_budget}
    form = bound_budget_form(typed, current)
    before = after = ContextRequest(draft=current, preview=True)
    page: dict[str, Any] = {"title": name, "back": version_url(request, current), "form": form}
    if form.is_valid():
        with errors_on_form(form):
            draft = draft_budget_profile(current, form.changes())
            after = ContextRequest(draft=draft, preview=True) if changed_numbers(current, draft) else before
            page["budgets"] = (current.default_tokens, draft.default_tokens) if new_budget is not None else None
    page["is_beside_form"] = wants_fragment(request) and new_budget is None
    return page | _tried(request, form, before, after, has_own_budgets=new_budget is None)


def _scoring_effect(request: HtmxRequest, name: str) -> dict[str, Any]:
    with missing_is_404(), tenant_scope(request.tenant.id):
        versions = scoring_profile_versions(request.tenant.id, name)
    base = selected_version(versions, request.GET.get("version") or str(versions[0].version))
    typed = request.GET if "relevance" in request.GET else scoring_profile_form_values(base.numbers)
    form = ScoringProfileForm(typed)
    page = {"title": versioned_name(name, base.version), "back": version_url(request, base), "form": form}
    return page | try_scoring_profile(request, base, form)


def try_scoring_profile(request: HtmxRequest, base: ScoringProfileVersion, form: ScoringProfileForm) -> dict[str, Any]:
    """Return the saved questions and the effect of the entered numbers; errors are added to the form."""
    numbers = base.numbers
    if form.is_valid():
        with errors_on_form(form, SCORING_FORM_FIELDS):
            numbers = apply_number_changes(base, form.changes(base.numbers))
    sides = (ScoringProfile.from_numbers(base.name, base.version, each) for each in (base.numbers, numbers))
    return _tried(request, form, *(ContextRequest(scoring=side, preview=True) for side in sides))


def _tried(
    request: HtmxRequest,
    form: forms.Form,
    before: ContextRequest,
    after: ContextRequest,
    *,
    has_own_budgets: bool = True,
) -> dict[str, Any]:
    caller = operator_caller(request)
    with tenant_scope(caller.tenant_id):
        questions, known = saved_questions(caller.tenant_id, request.tenant.name, now=caller.now)
    if not has_own_budgets:
        questions = [replace(each, max_tokens=None) for each in questions]
    page: dict[str, Any] = {"questions": questions, "known": known}
    if not form.errors:
        with errors_on_form(form):
            page["effect"] = saved_question_effects(questions, before, after, caller, clock=perf_counter)
    return page
