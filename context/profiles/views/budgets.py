"""The budget profiles: numbers by version, what a change of them does, two versions side by side."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import replace_url

from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile
from context.profiles.actions.budget_profiles import (
    create_budget_profile,
    roll_back_budget_profile,
    save_budget_profile,
)
from context.profiles.budget_fields import BudgetProfileForm, budget_profile_form_values, merge_form_values
from context.profiles.budget_profiles import (
    budget_profile_version,
    budget_profile_versions,
    budget_profiles_for,
    current_budget_profile,
    current_budget_profiles,
    draft_budget_profile,
)
from context.profiles.forms import NewProfileForm
from context.profiles.versions import (
    ProfileFieldComparison,
    changed_numbers,
    field_title,
    labelled_changes,
)
from context.profiles.views.form_errors import add_error_to_form
from context.receipts.results import ContextRequest
from context.services.profiles.compaction_policy import POLICY_FIELDS
from context.workbench.diff import PreviewDiff
from context.workbench.forms import BudgetTrialForm
from context.workbench.preview import Preview
from context.workbench.saved_questions import SavedQuestion, saved_questions
from context.workbench.views.preview import SLIDER, operator_preview_request
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import InvalidInput, PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import (
    HtmxRequest,
    add_flash,
    flash_error,
    loads_result_later,
    operator_required,
    render_page,
    wants_fragment,
)

# Where the columns that are typed in another shape are drawn.
_FIELDS_OF_FORM = {"sections": "room_memories", "include_summaries_at": "levels"} | {
    f"compaction.{name}": f"compaction_{name}" for name in POLICY_FIELDS
}


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def budget_profiles(request: HtmxRequest, name: str = DEFAULT_BUDGET_PROFILE_NAME) -> HttpResponseBase:
    """Show a profile's active numbers and its versions; a draft in the address shows its effect unsaved."""
    is_post = request.method == "POST"
    typed = request.POST if is_post else request.GET if "default_tokens" in request.GET else None
    with tenant_scope(request.tenant.id):
        current = _current(request, name)
        page: dict[str, Any] = {
            "section": "budgets",
            "current": current,
            "profiles": current_budget_profiles(request.tenant.id),
            "versions": _versions(request, name),
            "slider": SLIDER,
            "new_form": NewProfileForm(initial={"based_on": name}, label_suffix=""),
        }
        page["questions"], page["known"] = saved_questions(request.tenant.id, request.tenant.name)
        asked = typed if typed is not None else _first_question(request, name, page["questions"])
    page["trial"] = BudgetTrialForm(asked)
    numbers = budget_profile_form_values(current) if typed is None else merge_form_values(typed.dict(), current)
    page["form"] = BudgetProfileForm(numbers, label_suffix="")
    if is_post and page["form"].is_valid():
        try:
            return _save_budget(request, name, page["form"].changes())
        except PlatformError as error:
            add_error_to_form(page["form"], error, _FIELDS_OF_FORM)
    return _budgets_page(request, page)


def _current(request: HtmxRequest, name: str) -> BudgetProfile:
    try:
        return current_budget_profile(request.tenant.id, name)
    except InvalidInput as error:
        raise Http404 from error


@dataclass(frozen=True)
class BudgetProfileVersionView:
    """A version, and what differs from the one before it."""

    row: BudgetProfile
    labelled: list[tuple[str, ProfileFieldComparison]]


def _versions(request: HtmxRequest, name: str) -> list[BudgetProfileVersionView]:
    rows = budget_profile_versions(request.tenant.id, name)
    return [
        BudgetProfileVersionView(row, labelled_changes(before, row))
        for row, before in zip(rows, [*rows[1:], None], strict=True)
    ]


def _first_question(request: HtmxRequest, name: str, questions: list[SavedQuestion]) -> dict[str, str]:
    """Return the first question that the profile serves, else the first of all; inside a scope."""
    if not questions:
        return {}
    serving = budget_profiles_for(request.tenant.id, [each.partition for each in questions])
    served = [each for each in questions if serving[each.partition].name == name]
    first = (served or questions)[0]
    return {"query": first.query, "partition": first.partition}


def _save_budget(request: HtmxRequest, name: str, changes: Mapping[str, Any]) -> HttpResponseBase:
    seen = _whole_number(request.POST.get("edited_from"))
    with tenant_scope(request.tenant.id):
        saved = save_budget_profile(
            tenant_id=request.tenant.id,
            name=name,
            changes=changes,
            edited_from=seen,
            by=operator_actor(request.operator),
            now=timezone.now(),
        )
    undo = reverse("budget-roll-back", args=[request.tenant.id, name, seen]) if saved.version > seen else ""
    add_flash(request, f"Version {saved.version} is active.", undo_url=undo)
    return _to_profile(request, name)


def _to_profile(request: HtmxRequest, name: str) -> HttpResponseBase:
    if name == DEFAULT_BUDGET_PROFILE_NAME:
        return redirect("budgets", request.tenant.id)
    return redirect("budget", request.tenant.id, name)


def _budgets_page(request: HtmxRequest, page: dict[str, Any]) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if page["form"].is_valid() and page["trial"].is_valid():
        try:
            trial = page["trial"].cleaned_data
            page |= _drafted(request, page["current"], page["form"].changes(), trial)
            page |= {"is_coming": True} if loads_result_later(request) else _effect(request, page, trial)
            status = HTTPStatus.OK
        except PlatformError as error:
            is_trial = error.field in page["trial"].fields
            add_error_to_form(page["trial"] if is_trial else page["form"], error, _FIELDS_OF_FORM)
    if not wants_fragment(request):
        return render_page(request, "context/profiles/budget_profiles.html", page, status=status)
    return replace_url(
        render_page(request, "context/profiles/budget_profiles.html#fragment", page, status=status),
        request.get_full_path(),
    )


def _drafted(
    request: HtmxRequest, current: BudgetProfile, changes: Mapping[str, Any], trial: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the draft, what it changes, and the profile that serves where the question is asked."""
    draft = draft_budget_profile(current, changes)
    with tenant_scope(request.tenant.id):
        serving = budget_profiles_for(request.tenant.id, [trial["partition"]])[trial["partition"]]
    changed = [field_title(number.field) for number in changed_numbers(current, draft)]
    return {"draft": draft, "draft_is_current": not changed, "serving": serving, "changed": changed}


def _effect(request: HtmxRequest, page: Mapping[str, Any], trial: Mapping[str, Any]) -> dict[str, Any]:
    """Return the trial question answered with the numbers in force and, where they differ, with the draft."""

    def answered(profile: BudgetProfile) -> Preview:
        return operator_preview_request(request, ContextRequest(**trial, draft=profile, explain=True, preview=True))

    before = answered(page["current"])
    after = answered(page["draft"]) if page["changed"] else before
    return {"before": before, "after": after, "change": PreviewDiff(before, after)}


@operator_required("operator")
@tenant_required
@require_POST
def budget_create(request: HtmxRequest) -> HttpResponseBase:
    """Make a new profile, with the numbers of another one to begin with."""
    form = NewProfileForm(request.POST, label_suffix="")
    if form.is_valid():
        name = form.cleaned_data["name"]
        try:
            with tenant_scope(request.tenant.id):
                create_budget_profile(
                    tenant_id=request.tenant.id,
                    name=name,
                    based_on=form.cleaned_data["based_on"] or DEFAULT_BUDGET_PROFILE_NAME,
                    by=operator_actor(request.operator),
                    now=timezone.now(),
                )
        except PlatformError as error:
            add_error_to_form(form, error)
        else:
            add_flash(request, f"Profile {name} created. Assign it or request it by name.")
            return _to_profile(request, name)
    with tenant_scope(request.tenant.id):
        page = {"section": "budgets", "form": form, "profiles": current_budget_profiles(request.tenant.id)}
    return render_page(request, "context/profiles/budget_new.html", page, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@operator_required("operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def budget_roll_back(request: HtmxRequest, name: str, version: int) -> HttpResponseBase:
    """Ask with what would change; a POST puts the numbers of an older version into force again."""
    tenant_id = request.tenant.id
    try:
        with tenant_scope(tenant_id):
            current = _current(request, name)
            if request.method != "POST":
                return _ask_roll_back(request, current, budget_profile_version(tenant_id, name, version))
            saved = roll_back_budget_profile(
                tenant_id=tenant_id,
                name=name,
                version=version,
                edited_from=current.version,
                by=operator_actor(request.operator),
                now=timezone.now(),
            )
    except InvalidInput as error:
        raise Http404 from error
    except PlatformError as error:
        flash_error(request, error.detail)
        return _to_profile(request, name)
    before = current.version
    undo = reverse("budget-roll-back", args=[tenant_id, name, before]) if saved.version > before else ""
    former = f"numbers of version {version}" if version else "defaults"
    add_flash(request, f"The {former} are active again, as version {saved.version}.", undo_url=undo)
    return _to_profile(request, name)


def _ask_roll_back(request: HtmxRequest, current: BudgetProfile, former: BudgetProfile) -> HttpResponse:
    numbers = f"numbers of version {former.version}" if former.version else "defaults"
    changes = labelled_changes(current, former)
    differs = f"become version {current.version + 1}" if changes else "are in force already"
    page = {
        "section": "budgets",
        "question": f"Roll {current.name} back to {f'version {former.version}' if former.version else 'the defaults'}?",
        "verb": "Roll back",
        "said": [f"The {numbers} {differs}. No version is lost."],
        "changes": changes,
        "back": reverse("budget", args=[request.tenant.id, current.name]),
        "back_title": current.name,
    }
    return render_page(request, "context/profiles/profile_action.html", page)


def _whole_number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else -1
