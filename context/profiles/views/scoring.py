"""The scoring profiles: numbers by version, what they weigh, drafts, the gate to publishing, and the way back."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from context.evaluation.publishing_gate import publishing_gate
from context.evaluation.report import evaluation_report
from context.evaluation.runs import DEFAULT_EVALUATION_BUDGETS
from context.models import EvaluationRun, ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.actions.scoring_profiles import create_scoring_profile, edit_scoring_profile
from context.profiles.forms import NewProfileForm
from context.profiles.scoring_fields import (
    SCORING_FORM_FIELDS,
    SCORING_NUMBERS,
    ScoringProfileForm,
    scoring_profile_form_values,
    weight_views,
)
from context.profiles.scoring_profiles import (
    listed_scoring_profiles,
    scoring_profile_versions,
)
from context.profiles.versions import ProfileFieldComparison, field_title, labelled_changes
from context.profiles.views.effects import try_scoring_profile
from context.profiles.views.form_errors import add_error_to_form
from context.services.profiles.scoring_profiles import DEFAULT_SCORING_PROFILE_NAME
from context.workbench.saved_questions import saved_questions
from memories.models import AuditEntry
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, add_flash, operator_required, render_page, wants_fragment

RUNS_SHOWN_MAX = 10
CHANGES_SHOWN_MAX = 30


@dataclass(frozen=True)
class ScoringProfileVersionView:
    """A version, and what differs from the one it was made from."""

    row: ScoringProfileVersion
    labelled: list[tuple[str, ProfileFieldComparison]]


@operator_required("viewer")
@tenant_required
@require_safe
def scoring_profiles(request: HtmxRequest) -> HttpResponseBase:
    """Show what is shipped and the tenant's own, each with its state and whom it is for."""
    return _list_page(request, NewProfileForm(initial={"based_on": DEFAULT_SCORING_PROFILE_NAME}, label_suffix=""))


def _list_page(request: HtmxRequest, form: NewProfileForm) -> HttpResponse:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        rows = listed_scoring_profiles(tenant_id)
        newest = {row.name: row for row in ScoringProfileVersion.objects.for_tenant(tenant_id).newest()}
        assigned: dict[str, list[ScoringProfileAssignment]] = {}
        for each in ScoringProfileAssignment.objects.for_tenant(tenant_id).active().with_keys().newest_first():
            assigned.setdefault(each.profile_name, []).append(each)
    page = {
        "section": "scoring-profiles",
        "form": form,
        "profiles": [
            {
                "row": row,
                "weights": weight_views(row.numbers),
                "newest": newest.get(row.name, row),
                "targets": assigned.get(row.name, []),
            }
            for row in rows
        ],
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render_page(request, "context/profiles/scoring_profiles.html", page, status=status)


@operator_required("operator")
@tenant_required
@require_POST
def scoring_create(request: HtmxRequest) -> HttpResponseBase:
    """Make a new draft, with the numbers of another profile, or of one version of it, to begin with."""
    form = NewProfileForm(request.POST, label_suffix="")
    if form.is_valid():
        name, based_on = form.cleaned_data["name"], form.cleaned_data["based_on"] or DEFAULT_SCORING_PROFILE_NAME
        base, _, version = based_on.partition(" ")
        try:
            with tenant_scope(request.tenant.id):
                create_scoring_profile(
                    tenant_id=request.tenant.id,
                    name=name,
                    based_on=base,
                    based_on_version=parse_whole_number(version) if version else None,
                    by=operator_actor(request.operator),
                    now=timezone.now(),
                )
        except PlatformError as error:
            add_error_to_form(form, error)
        else:
            add_flash(request, f"{name} is a draft. Agents may name it once it is published.")
            return redirect("scoring-profile", request.tenant.id, name)
    return _list_page(request, form)


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def scoring_profile(request: HtmxRequest, name: str) -> HttpResponseBase:
    """Show one version with its numbers and the form that makes a draft of it; the sum follows the typing."""
    is_post = request.method == "POST"
    page = _profile_page(request, name, request.POST.get("edited_from") or request.GET.get("version"))
    is_typed = is_post or "relevance" in request.GET
    typed = (
        (request.POST if is_post else request.GET) if is_typed else scoring_profile_form_values(page["current"].numbers)
    )
    form = page["form"] = ScoringProfileForm(typed, label_suffix="")
    if wants_fragment(request):
        return render_page(request, "context/profiles/scoring_profile.html#sum", page)
    if is_post and "try" in request.POST:
        page |= try_scoring_profile(request, page["current"], form)
    elif is_post and form.is_valid():
        try:
            return _saved(request, page["current"], form.changes(page["current"].numbers))
        except PlatformError as error:
            add_error_to_form(form, error, SCORING_FORM_FIELDS)
    return _drawn(request, page, form)


def _saved(request: HtmxRequest, base: ScoringProfileVersion, changes: Mapping[str, Any]) -> HttpResponseBase:
    with tenant_scope(request.tenant.id):
        row = edit_scoring_profile(
            tenant_id=request.tenant.id,
            name=base.name,
            changes=changes,
            edited_from=base.version,
            by=operator_actor(request.operator),
            now=timezone.now(),
        )
    is_new = row.version != base.version
    add_flash(request, f"Version {row.version} is a draft." if is_new else "No differences, so no version was saved.")
    return redirect_to_version(request, row)


def redirect_to_version(request: HtmxRequest, row: ScoringProfileVersion) -> HttpResponseBase:
    return redirect(f"{reverse('scoring-profile', args=[request.tenant.id, row.name])}?version={row.version}")


def _drawn(request: HtmxRequest, page: dict[str, Any], form: ScoringProfileForm) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound and form.errors else HTTPStatus.OK
    return render_page(request, "context/profiles/scoring_profile.html", page, status=status)


def _profile_page(request: HtmxRequest, name: str, version: str | None) -> dict[str, Any]:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        versions = profile_versions(request, name)
        current = selected_version(versions, version)
        in_force = next((row for row in versions if row.is_active), None)
        gate = (
            publishing_gate(current, in_force, adr_reference=current.adr_reference) if not current.is_shipped else None
        )
        runs = EvaluationRun.objects.for_tenant(tenant_id).proving_numbers(current.numbers).newest_first()
        assignments = ScoringProfileAssignment.objects.for_tenant(tenant_id).active().of_profile(name)
        changes = AuditEntry.objects.for_tenant(tenant_id).about_any("scoring_profile", [name]).newest_first()
        shown = list(runs.without_details()[:RUNS_SHOWN_MAX])
        report = evaluation_report(shown[0]) if shown else None
        questions, known = saved_questions(tenant_id, request.tenant.name)
        return {
            "section": "scoring-profiles",
            "current": current,
            "in_force": in_force,
            "newest": versions[0],
            "has_former": current.is_active and any(row.published_at and not row.is_active for row in versions),
            "versions": [
                ScoringProfileVersionView(row, labelled_changes(previous_version(versions, row), row))
                for row in versions
            ],
            "weights": weight_views(current.numbers),
            "numbers": [(field_title(field), field, current.numbers[field]) for field in SCORING_NUMBERS],
            "gate": gate,
            "runs": shown,
            "budgets": DEFAULT_EVALUATION_BUDGETS,
            "table": report.tables[0] if report else None,
            "targets": list(assignments.with_keys().newest_first()),
            "changes": list(changes[:CHANGES_SHOWN_MAX]),
            "new_form": NewProfileForm(initial={"based_on": f"{name} {current.version}"}, label_suffix=""),
            "questions": questions,
            "known": known,
        }


def profile_versions(request: HtmxRequest, name: str) -> list[ScoringProfileVersion]:
    try:
        return scoring_profile_versions(request.tenant.id, name)
    except PlatformError as error:
        raise Http404 from error


def selected_version(versions: list[ScoringProfileVersion], version: str | None) -> ScoringProfileVersion:
    """Return the version in the address; without one that in force, else the newest."""
    if version is None:
        return next((row for row in versions if row.is_active), versions[0])
    found = next((row for row in versions if row.version == parse_whole_number(version)), None)
    if found is None:
        raise Http404
    return found


def previous_version(versions: list[ScoringProfileVersion], row: ScoringProfileVersion) -> ScoringProfileVersion | None:
    return next((each for each in versions if str(each.version) == row.based_on.removeprefix(f"{row.name} ")), None)


def parse_whole_number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else -1
