"""Publishing a version of a scoring profile, rolling back to one, retiring one: each asks first, then does it."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from context.evaluation.publishing_gate import publishing_gate
from context.evaluation.runs import DEFAULT_EVALUATION_BUDGETS
from context.models import ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.actions.scoring_profiles import (
    publish_scoring_profile,
    retire_scoring_profile,
    roll_back_scoring_profile,
)
from context.profiles.forms import PublishForm
from context.profiles.versions import labelled_changes
from context.profiles.views.form_errors import add_error_to_form
from context.profiles.views.scoring import profile_versions, redirect_to_version, selected_version
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, add_flash, flash_error, operator_required, render_page

_ASKING = ["GET", "HEAD", "POST"]


@operator_required("admin")
@tenant_required
@require_http_methods(_ASKING)
def scoring_publish(request: HtmxRequest, name: str, version: int) -> HttpResponseBase:
    """Ask with the gate and what was measured; a POST lets agents name the version."""
    if request.method != "POST":
        return _publish_page(request, name, version, None)
    form = PublishForm(request.POST, label_suffix="")
    if form.is_valid():
        try:
            with tenant_scope(request.tenant.id):
                row = publish_scoring_profile(
                    tenant_id=request.tenant.id,
                    name=name,
                    version=version,
                    adr_reference=form.cleaned_data["adr_reference"],
                    replaces=form.cleaned_data["replaces"],
                    by=operator_actor(request.operator),
                    now=timezone.now(),
                )
        except PlatformError as error:
            add_error_to_form(form, error)
        else:
            before = form.cleaned_data["replaces"]
            undo = reverse("scoring-roll-back", args=[request.tenant.id, name, before]) if before else ""
            add_flash(request, f"Version {row.version} of {name} is published and active.", undo_url=undo)
            return redirect_to_version(request, row)
    return _publish_page(request, name, version, form)


def _publish_page(request: HtmxRequest, name: str, version: int, form: PublishForm | None) -> HttpResponse:
    with tenant_scope(request.tenant.id):
        rows = profile_versions(request, name)
        current = selected_version(rows, str(version))
        in_force = next((row for row in rows if row.is_active), None)
        typed = current.adr_reference if form is None else str(form["adr_reference"].value() or "")
        gate = publishing_gate(current, in_force, adr_reference=typed)
    shown = form or PublishForm(
        initial={"adr_reference": current.adr_reference, "replaces": in_force.version if in_force else 0}
    )
    page = {
        "section": "scoring-profiles",
        "current": current,
        "in_force": in_force,
        "gate": gate,
        "changes": labelled_changes(in_force, current),
        "form": shown,
        "budgets": DEFAULT_EVALUATION_BUDGETS,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if shown.errors else HTTPStatus.OK
    return render_page(request, "context/profiles/scoring_publish.html", page, status=status)


@operator_required("admin")
@tenant_required
@require_http_methods(_ASKING)
def scoring_roll_back(request: HtmxRequest, name: str, version: int) -> HttpResponseBase:
    """Ask with what would change; a POST puts a formerly published version into force again."""
    with tenant_scope(request.tenant.id):
        rows = profile_versions(request, name)
        row = selected_version(rows, str(version))
    in_force = next((each for each in rows if each.is_active), None)
    if request.method != "POST":
        now_in_force = f"version {in_force.version}" if in_force else "none"
        said = [
            f"Requests that name {name}, and its assignments, use version {version} again. Active now: {now_in_force}."
        ]
        way = "Roll forward" if in_force and row.version > in_force.version else "Roll back"
        return _ask(request, row, f"{way} to version", way, said, labelled_changes(in_force, row))
    before = in_force.version if in_force else 0
    return _done(
        request,
        name,
        lambda: roll_back_scoring_profile(
            tenant_id=request.tenant.id,
            name=name,
            version=version,
            replaces=before,
            by=operator_actor(request.operator),
            now=timezone.now(),
        ),
        f"Version {version} of {name} is active again.",
        reverse("scoring-roll-back", args=[request.tenant.id, name, before]) if before not in (0, version) else "",
    )


@operator_required("admin")
@tenant_required
@require_http_methods(_ASKING)
def scoring_retire(request: HtmxRequest, name: str, version: int) -> HttpResponseBase:
    """Ask with what it means; a POST takes a version out of use."""
    with tenant_scope(request.tenant.id):
        row = selected_version(profile_versions(request, name), str(version))
        assigned = ScoringProfileAssignment.objects.for_tenant(request.tenant.id).active().of_profile(name).how_many()
    if request.method != "POST":
        said = ["Receipts that name it stay readable. You can roll back to it."]
        if row.is_active:
            said = ["Requests can no longer name the profile.", *said]
            said += [f"It has assignments ({assigned}); end them first."] if assigned else []
        else:
            said = ["It can no longer be published." if not row.published_at else "It is inactive.", *said]
        return _ask(request, row, "Retire version", "Retire", said, [])
    return _done(
        request,
        name,
        lambda: retire_scoring_profile(
            tenant_id=request.tenant.id,
            name=name,
            version=version,
            by=operator_actor(request.operator),
            now=timezone.now(),
        ),
        f"Version {version} of {name} retired.",
        reverse("scoring-roll-back", args=[request.tenant.id, name, version]) if row.is_active else "",
    )


def _ask(
    request: HtmxRequest,
    row: ScoringProfileVersion,
    question: str,
    verb: str,
    said: list[str],
    changes: list[tuple[str, Any]],
) -> HttpResponse:
    """Return the page or the dialog that asks for confirmation."""
    back = f"{reverse('scoring-profile', args=[request.tenant.id, row.name])}?version={row.version}"
    page = {
        "section": "scoring-profiles",
        "question": f"{question} {row.version} of {row.name}?",
        "verb": verb,
        "said": said,
        "changes": changes,
        "back": back,
        "back_title": row.name,
    }
    return render_page(request, "context/profiles/profile_action.html", page)


def _done(
    request: HtmxRequest, name: str, verb: Callable[[], ScoringProfileVersion], said: str, undo_url: str
) -> HttpResponseBase:
    try:
        with tenant_scope(request.tenant.id):
            row = verb()
    except PlatformError as error:
        flash_error(request, error.detail)
        return redirect("scoring-profile", request.tenant.id, name)
    add_flash(request, said, undo_url=undo_url)
    return redirect_to_version(request, row)
