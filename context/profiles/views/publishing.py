"""Publish, roll back and retire versions of scoring profiles, each after a confirmation page."""

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect

from context.evaluation.report import published_evidence_rows
from context.evaluation.runs import DEFAULT_EVALUATION_BUDGETS
from context.models import ScoringProfileAssignment
from context.profiles.actions.scoring_profiles import (
    publish_scoring_profile,
    retire_scoring_profile,
    roll_back_scoring_profile,
)
from context.profiles.forms import PublishForm
from context.profiles.kinds import SCORING_KIND
from context.profiles.publishing_gate import publishing_gate
from context.profiles.scoring_profiles import scoring_profile_versions
from context.profiles.versions import labelled_changes
from context.profiles.views.operations import (
    active_version,
    ask_to_confirm,
    roll_back_url,
    selected_version,
    version_url,
)
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import shown_state, tenant_page
from memories.tenancy.views.page_actions import errors_as_flash, errors_on_form, missing_is_404, perform
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.numerals import versioned_name, whole_number
from memory_platform.web.rendering import render_page


@tenant_page("admin", to_change="admin", state="replaces")
def scoring_publish(request: HtmxRequest, name: str, version: int) -> HttpResponseBase:
    """Show the publishing requirements; a POST publishes the version."""
    if request.method != "POST":
        return _publish_page(request, name, version, None)
    form = PublishForm(request.POST)
    if form.is_valid():
        with errors_on_form(form, PublishForm.NAMES):
            seen = form.cleaned_data["replaces"]
            named = {"name": name, "version": version, "replaces": seen}
            row = perform(request, publish_scoring_profile, **named, **form.values())
            undo_url = _undo_url(request, name, seen, row.version)
            add_flash(request, f"{versioned_name(name, row.version)} is published and active.", undo_url=undo_url)
            return redirect(version_url(request, row))
    return _publish_page(request, name, version, form)


def _undo_url(request: HtmxRequest, name: str, version: int | None, active: int) -> str:
    return roll_back_url(request, "scoring-rollback", name, version, replaces=active) if version else ""


def _publish_page(request: HtmxRequest, name: str, version: int, form: PublishForm | None) -> HttpResponse:
    with missing_is_404(), tenant_scope(request.tenant.id):
        rows = scoring_profile_versions(request.tenant.id, name)
        current, active = selected_version(rows, str(version)), active_version(rows)
        form = form or PublishForm(initial={"replaces": active.version if active else 0})
        gate = publishing_gate(current, active, **form.values())
    page = {
        "section": "scoring-profiles",
        "current": current,
        "active_version": active,
        "gate": gate,
        "lines": published_evidence_rows(gate.comparison) if gate.comparison else [],
        "changes": labelled_changes(active, current),
        "form": form,
        "budgets": DEFAULT_EVALUATION_BUDGETS,
    }
    return render_page(request, "context/profiles/scoring_publish.html", page, form=form)


@tenant_page("admin", to_change="admin", state="replaces")
def scoring_roll_back(request: HtmxRequest, name: str, version: int) -> HttpResponseBase:
    """Show what would change; a POST reactivates a previously published version."""
    with missing_is_404(), tenant_scope(request.tenant.id):
        rows = scoring_profile_versions(request.tenant.id, name)
    row, active = selected_version(rows, str(version)), active_version(rows)
    before = active.version if active else 0
    if request.method != "POST":
        now = f"version {before}" if active else "none"
        lines = [f"Requests that name {name}, and its assignments, use version {version} again. Active now: {now}."]
        way = "Roll forward" if 0 < before < version else "Roll back"
        question = f"{way} to {versioned_name(name, version)}?"
        changes = labelled_changes(active, row)
        return ask_to_confirm(request, SCORING_KIND, row, question, way, lines, changes, replaces=before)
    with errors_as_flash(request):
        seen = whole_number(shown_state(request, "replaces"))
        perform(request, roll_back_scoring_profile, name=name, version=version, replaces=seen)
        undo_url = _undo_url(request, name, before if before != version else 0, version)
        add_flash(request, f"{versioned_name(name, version)} restored.", undo_url=undo_url)
        return redirect(version_url(request, row))
    return redirect("scoring-profile", request.tenant.id, name)


@tenant_page("admin", to_change="admin")
def scoring_retire(request: HtmxRequest, name: str, version: int) -> HttpResponseBase:
    """Show the consequences; a POST retires the version."""
    with missing_is_404(), tenant_scope(request.tenant.id):
        row = selected_version(scoring_profile_versions(request.tenant.id, name), str(version))
        assigned = ScoringProfileAssignment.objects.for_tenant(request.tenant.id).active().of_profile(name).row_count()
    if request.method != "POST":
        lines = ["Receipts that name it stay readable.", *(["You can roll back to it."] if row.published_at else [])]
        if row.is_active:
            lines = ["Requests can no longer name the profile.", *lines]
            lines += [f"It has assignments ({assigned}); end them first."] if assigned else []
        else:
            lines = ["It is inactive." if row.published_at else "You can no longer publish it.", *lines]
        return ask_to_confirm(request, SCORING_KIND, row, f"Retire {versioned_name(name, version)}?", "Retire", lines)
    with errors_as_flash(request):
        perform(request, retire_scoring_profile, name=name, version=version)
        undo_url = _undo_url(request, name, version if row.is_active else 0, 0)
        add_flash(request, f"{versioned_name(name, version)} retired.", undo_url=undo_url)
        return redirect(version_url(request, row))
    return redirect("scoring-profile", request.tenant.id, name)
