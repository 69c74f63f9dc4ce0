"""Pages of budget profiles: numbers by version, and the effect of changing them."""

from collections.abc import Mapping
from http import HTTPStatus
from itertools import zip_longest
from typing import Any

from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django_htmx.http import replace_url

from context.models import DEFAULT_BUDGET_PROFILE_NAME, BudgetProfile
from context.profiles.actions.budget_profiles import (
    create_budget_profile,
    rename_budget_profile,
    restore_budget_profile,
    retire_budget_profile,
    roll_back_budget_profile,
    save_budget_profile,
)
from context.profiles.budget_fields import bound_budget_form
from context.profiles.budget_profiles import (
    budget_profile_version,
    budget_profile_versions,
    budget_profiles_for,
    current_budget_profiles,
    draft_budget_profile,
    find_budget_profile,
    retired_budget_profiles,
)
from context.profiles.forms import NewProfileForm, RenameProfileForm
from context.profiles.kinds import BUDGET_KIND
from context.profiles.versions import changed_numbers, field_title, labelled_changes
from context.profiles.views.operations import ask_to_confirm, roll_back_url
from context.receipts.results import ContextRequest
from context.services.profiles.compaction_policy import POLICY_FIELDS
from context.workbench.forms import BudgetTrialForm
from context.workbench.long_queries import is_long_query
from context.workbench.preview import build_previews
from context.workbench.preview_diff import PreviewDiff
from context.workbench.saved_questions import SavedQuestion, saved_questions
from context.workbench.views.preview import SLIDER, assemble_operator_preview
from memories.search.queries.shared_results import shared_results
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import shown_state, tenant_page
from memories.tenancy.views.page_actions import (
    add_error_to_form,
    errors_as_flash,
    errors_on_form,
    missing_is_404,
    perform,
)
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.numerals import whole_number
from memory_platform.web.rendering import loads_result_later, render_page

# The form fields of columns whose inputs have other names.
_FIELDS_OF_FORM = {"sections": "limit_memories", "include_summaries_at": "levels"} | {
    f"compaction.{name}": f"compaction_{name}" for name in POLICY_FIELDS
}


@tenant_page("viewer", to_change="operator")
def budget_profiles(request: HtmxRequest, name: str = DEFAULT_BUDGET_PROFILE_NAME) -> HttpResponseBase:
    """Show a profile's active settings and its versions; for a draft in the URL, also its effect."""
    is_post = request.method == "POST"
    typed = request.POST if is_post else request.GET if "default_tokens" in request.GET else None
    with missing_is_404(), tenant_scope(request.tenant.id):
        page = (_effect_inputs if wants_fragment(request) else _profile_page)(request, name, typed)
    page["form"] = form = bound_budget_form(typed, page["current"])
    if is_post and form.is_valid():
        with errors_on_form(form, _FIELDS_OF_FORM):
            return _saved(request, name, form.changes())
    return _page_with_effect(request, page)


def _effect_inputs(
    request: HtmxRequest, name: str, typed: QueryDict | None, questions: list[SavedQuestion] | None = None
) -> dict[str, Any]:
    """Return the inputs for the effect of the form; inside a scope."""
    current = find_budget_profile(request.tenant.id, name)
    if typed is None and questions is None:
        questions, _ = saved_questions(request.tenant.id, request.tenant.name, now=timezone.now())
    trial = BudgetTrialForm(typed if typed is not None else _first_question(request, name, questions or []))
    # A preview keeps the version that its form was opened with, so that saving it finds a version saved since.
    seen = whole_number(request.GET.get("edited_from"))
    edited_from = current.version if seen < 0 else seen
    return {"section": "budgets", "current": current, "trial": trial, "edited_from": edited_from}


def _profile_page(request: HtmxRequest, name: str, typed: QueryDict | None) -> dict[str, Any]:
    """Return everything but the form and its effect; inside a scope."""
    rows = budget_profile_versions(request.tenant.id, name)
    questions, known = saved_questions(request.tenant.id, request.tenant.name, now=timezone.now())
    return _effect_inputs(request, name, typed, questions) | {
        "profiles": current_budget_profiles(request.tenant.id),
        "retired": retired_budget_profiles(request.tenant.id),
        "versions": [
            {"row": row, "labelled": labelled_changes(before, row)} for row, before in zip_longest(rows, rows[1:])
        ],
        "slider": SLIDER,
        "new_form": NewProfileForm(initial={"based_on": name}),
        "questions": questions,
        "known": known,
    }


def _first_question(request: HtmxRequest, name: str, questions: list[SavedQuestion]) -> dict[str, str]:
    """Return the first short question that the profile serves, else the first of all short ones."""
    questions = [each for each in questions if not is_long_query(each.query)]
    if not questions:
        return {}
    serving = budget_profiles_for(request.tenant.id, [each.partition for each in questions])
    first = next((each for each in questions if serving[each.partition].name == name), questions[0])
    return {"query": first.query, "partition": first.partition}


def _saved(request: HtmxRequest, name: str, changes: Mapping[str, Any]) -> HttpResponseBase:
    seen = whole_number(request.POST.get("edited_from"))
    saved = perform(request, save_budget_profile, name=name, changes=changes, edited_from=seen)
    add_flash(request, f"Version {saved.version} is active.", undo_url=_undo_url(request, saved, seen))
    return _to_profile(request, name)


def _undo_url(request: HtmxRequest, saved: BudgetProfile, before: int) -> str:
    if saved.version == before:
        return ""
    return roll_back_url(request, "budget-rollback", saved.name, before, replaces=saved.version)


def _to_profile(request: HtmxRequest, name: str) -> HttpResponseBase:
    if name == DEFAULT_BUDGET_PROFILE_NAME:
        return redirect("budgets", request.tenant.id)
    return redirect("budget", request.tenant.id, name)


def _page_with_effect(request: HtmxRequest, page: dict[str, Any]) -> HttpResponse:
    form, trial = page["form"], page["trial"]
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if form.is_valid() and trial.is_valid():
        try:
            page |= _drafted(request, page["current"], form.changes(), trial.cleaned_data["partition"])
            page |= {"is_coming": True} if loads_result_later(request) else _effect(request, page)
            status = HTTPStatus.OK
        except PlatformError as error:
            add_error_to_form(trial if error.field in trial.fields else form, error, _FIELDS_OF_FORM)
    response = render_page(request, "context/profiles/budget_profiles.html", page, status=status, fragment="fragment")
    return replace_url(response, request.get_full_path()) if wants_fragment(request) else response


def _drafted(
    request: HtmxRequest, current: BudgetProfile, changes: Mapping[str, Any], partition: str
) -> dict[str, Any]:
    """Return the draft, its changes, and the profile of the partition of the question."""
    draft = draft_budget_profile(current, changes)
    with tenant_scope(request.tenant.id):
        serving = budget_profiles_for(request.tenant.id, [partition])[partition]
    changed = [field_title(number.field) for number in changed_numbers(current, draft)]
    return {"draft": draft, "draft_is_current": not changed, "serving": serving, "changed": changed}


def _effect(request: HtmxRequest, page: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contexts of the trial question with the active numbers and, if they differ, with the draft."""

    trial, now = page["trial"].cleaned_data, timezone.now()

    profiles = [page["current"], page["draft"]] if page["changed"] else [page["current"]]
    with shared_results():
        contexts = [
            assemble_operator_preview(request, ContextRequest(**trial, draft=profile, preview=True), now)
            for profile in profiles
        ]
        previews = build_previews(contexts, request.tenant.id, with_excluded=False)
    before, after = previews[0], previews[-1]
    return {"before": before, "after": after, "change": PreviewDiff(before, after)}


@tenant_page(to_change="operator")
def budget_create(request: HtmxRequest) -> HttpResponseBase:
    """Create a profile with the numbers of another one."""
    form = NewProfileForm(request.POST)
    if form.is_valid():
        with errors_on_form(form):
            name, based_on = form.cleaned_data["name"], form.cleaned_data["based_on"] or DEFAULT_BUDGET_PROFILE_NAME
            perform(request, create_budget_profile, name=name, based_on=based_on)
            add_flash(request, f"Profile {name} created. Assign it or request it by name.")
            return _to_profile(request, name)
    with tenant_scope(request.tenant.id):
        page = {"section": "budgets", "form": form, "profiles": current_budget_profiles(request.tenant.id)}
    return render_page(request, "context/profiles/budget_new.html", page, form=form)


@tenant_page(to_change="operator")
def budget_retire(request: HtmxRequest, name: str) -> HttpResponseBase:
    """Retire a profile; the message offers to restore it."""
    with missing_is_404(), tenant_scope(request.tenant.id):
        find_budget_profile(request.tenant.id, name)
    with errors_as_flash(request):
        perform(request, retire_budget_profile, name=name)
        undo = reverse("budget-restore", args=[request.tenant.id, name])
        add_flash(request, f"Profile {name} retired.", undo_url=undo)
        return redirect("budgets", request.tenant.id)
    return _to_profile(request, name)


@tenant_page(to_change="operator")
def budget_restore(request: HtmxRequest, name: str) -> HttpResponseBase:
    """Make a retired profile active again."""
    with missing_is_404(), tenant_scope(request.tenant.id):
        budget_profile_versions(request.tenant.id, name)
    with errors_as_flash(request):
        perform(request, restore_budget_profile, name=name)
        add_flash(request, f"Profile {name} restored.")
    return _to_profile(request, name)


@tenant_page("operator", to_change="operator")
def budget_rename(request: HtmxRequest, name: str) -> HttpResponseBase:
    """Show the form that renames a profile; a POST renames it."""
    with missing_is_404(), tenant_scope(request.tenant.id):
        current = find_budget_profile(request.tenant.id, name)
    is_post = request.method == "POST"
    form = RenameProfileForm(request.POST if is_post else None, initial={"name": name})
    if is_post and form.is_valid():
        with errors_on_form(form):
            renamed = perform(request, rename_budget_profile, name=name, new_name=form.cleaned_data["name"])
            add_flash(request, f"{name} is now {renamed.name}. Requests with the name {name} are rejected.")
            return _to_profile(request, renamed.name)
    page = {"section": "budgets", "form": form, "current": current}
    return render_page(request, "context/profiles/budget_rename.html", page, form=form)


@tenant_page("operator", to_change="operator", state="replaces")
def budget_roll_back(request: HtmxRequest, name: str, version: int) -> HttpResponseBase:
    """Show what would change; a POST reactivates the settings of an older version."""
    with missing_is_404(), tenant_scope(request.tenant.id):
        current = find_budget_profile(request.tenant.id, name)
        former = budget_profile_version(request.tenant.id, name, version)
    if request.method != "POST":
        return _ask_roll_back(request, current, former)
    with errors_as_flash(request):
        seen = whole_number(shown_state(request, "replaces"))
        saved = perform(request, roll_back_budget_profile, name=name, version=version, replaces=seen)
        text = f"{f'Version {version}' if version else 'Built-in settings'} restored as version {saved.version}."
        add_flash(request, text, undo_url=_undo_url(request, saved, seen))
    return _to_profile(request, name)


def _ask_roll_back(request: HtmxRequest, current: BudgetProfile, former: BudgetProfile) -> HttpResponse:
    numbers = f"settings of version {former.version}" if former.version else "built-in settings"
    target = f"version {former.version}" if former.version else "the built-in settings"
    changes = labelled_changes(current, former)
    differs = f"become version {current.version + 1}" if changes else "are already active"
    explanation = [f"The {numbers} {differs}. No version is lost."]
    question, shown = f"Roll {current.name} back to {target}?", current.version
    return ask_to_confirm(request, BUDGET_KIND, current, question, "Roll back", explanation, changes, replaces=shown)
