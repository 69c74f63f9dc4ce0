"""Whom the profiles are for: keys, partitions, the tenant. The same pages for budget and for scoring profiles."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from context.models import BudgetProfileAssignment, ScoringProfileAssignment
from context.models.assignments import ProfileAssignment
from context.profiles.actions.assignments import (
    assign_budget_profile,
    assign_scoring_profile,
    unassign_budget_profile,
    unassign_scoring_profile,
)
from context.profiles.budget_profiles import current_budget_profiles
from context.profiles.forms import AssignmentForm
from context.profiles.scoring_profiles import published_profile_names
from context.profiles.views.form_errors import add_error_to_form
from memories.models import ApiKey, Partition
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, add_flash, flash_error, operator_required, render_page


@dataclass(frozen=True)
class ProfileAssignmentPage:
    """One of the two kinds of profiles: its rows and verbs, its pages' addresses, and what can be assigned."""

    section: str
    template: str
    rows: type[ProfileAssignment]
    assign: Callable[..., ProfileAssignment]
    unassign: Callable[..., ProfileAssignment]
    names: Callable[[UUID], list[str]]
    page: str
    again: str


_BUDGETS = ProfileAssignmentPage(
    section="budgets",
    template="context/profiles/budget_assignments.html",
    rows=BudgetProfileAssignment,
    assign=assign_budget_profile,
    unassign=unassign_budget_profile,
    names=lambda tenant_id: [row.name for row in current_budget_profiles(tenant_id)],
    page="budget-assignments",
    again="budget-assignment-again",
)
_SCORING = ProfileAssignmentPage(
    section="scoring-profiles",
    template="context/profiles/scoring_assignments.html",
    rows=ScoringProfileAssignment,
    assign=assign_scoring_profile,
    unassign=unassign_scoring_profile,
    names=published_profile_names,
    page="scoring-assignments",
    again="scoring-assignment-again",
)


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def assignments(request: HtmxRequest) -> HttpResponseBase:
    """Which budget profile counts for whom, and the form that changes it."""
    return _assigned(request, _BUDGETS)


@operator_required("operator")
@tenant_required
@require_POST
def assignment_end(request: HtmxRequest) -> HttpResponseBase:
    """End what is assigned to a key or a partition."""
    return _ended(request, _BUDGETS)


@operator_required("operator")
@tenant_required
@require_POST
def assignment_undo(request: HtmxRequest) -> HttpResponseBase:
    """Undo of an end: assign what the address names."""
    return _again(request, _BUDGETS)


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def scoring_assignments(request: HtmxRequest) -> HttpResponseBase:
    """Which scoring profile counts for whom, and the form that changes it."""
    return _assigned(request, _SCORING)


@operator_required("operator")
@tenant_required
@require_POST
def scoring_assignment_end(request: HtmxRequest) -> HttpResponseBase:
    """End what is assigned to a key or a partition."""
    return _ended(request, _SCORING)


@operator_required("operator")
@tenant_required
@require_POST
def scoring_assignment_undo(request: HtmxRequest) -> HttpResponseBase:
    """Undo of an end: assign what the address names."""
    return _again(request, _SCORING)


def _assigned(request: HtmxRequest, kind: ProfileAssignmentPage) -> HttpResponseBase:
    if request.method != "POST":
        return _page(request, kind, AssignmentForm(initial=request.GET.dict(), label_suffix=""))
    form = AssignmentForm(request.POST, label_suffix="")
    if form.is_valid():
        fields = form.cleaned_data
        try:
            with tenant_scope(request.tenant.id):
                row = kind.assign(
                    tenant_id=request.tenant.id,
                    profile_name=fields["profile_name"],
                    **_target(_key_id(request, fields["api_key"]), fields["partition"]),
                    by=operator_actor(request.operator),
                    now=timezone.now(),
                )
        except PlatformError as error:
            add_error_to_form(form, error, {"budget_profile": "profile_name", "profile": "profile_name"})
        else:
            add_flash(request, f"{row.profile_name} counts there from now on.")
            return redirect(kind.page, request.tenant.id)
    return _page(request, kind, form)


def _ended(request: HtmxRequest, kind: ProfileAssignmentPage) -> HttpResponseBase:
    key_prefix, partition = request.POST.get("api_key", ""), request.POST.get("partition", "")
    try:
        with tenant_scope(request.tenant.id):
            row = kind.unassign(
                tenant_id=request.tenant.id,
                **_target(_key_id(request, key_prefix), partition),
                by=operator_actor(request.operator),
                now=timezone.now(),
            )
    except PlatformError as error:
        flash_error(request, error.detail)
    else:
        again = urlencode({"profile_name": row.profile_name, "api_key": key_prefix, "partition": partition})
        undo = f"{reverse(kind.again, args=[request.tenant.id])}?{again}"
        add_flash(request, f"{row.profile_name} counts there no more.", undo_url=undo)
    return redirect(kind.page, request.tenant.id)


def _again(request: HtmxRequest, kind: ProfileAssignmentPage) -> HttpResponseBase:
    form = AssignmentForm(request.GET)
    if form.is_valid():
        fields = form.cleaned_data
        try:
            with tenant_scope(request.tenant.id):
                kind.assign(
                    tenant_id=request.tenant.id,
                    profile_name=fields["profile_name"],
                    **_target(_key_id(request, fields["api_key"]), fields["partition"]),
                    replaces="",
                    by=operator_actor(request.operator),
                    now=timezone.now(),
                )
        except PlatformError as error:
            flash_error(request, error.detail)
        else:
            add_flash(request, f"{fields['profile_name']} counts there again.")
    return redirect(kind.page, request.tenant.id)


def _key_id(request: HtmxRequest, prefix: str) -> str | None:
    """The key of a visible prefix; the prefix itself where there is none, which the verb refuses. None for no key."""
    if not prefix:
        return None
    key = ApiKey.objects.for_tenant(request.tenant.id).with_prefix(prefix).first()
    return key.pk if key else prefix


def _target(api_key_id: str | None, partition: str) -> dict[str, Any]:
    return {"api_key_id": api_key_id} if api_key_id else {"partition_path": partition}


def _page(request: HtmxRequest, kind: ProfileAssignmentPage, form: AssignmentForm) -> HttpResponse:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        rows = kind.rows.objects.for_tenant(tenant_id)
        page = {
            "section": kind.section,
            "form": form,
            "names": kind.names(tenant_id),
            "rows": list(rows.in_force().with_keys().newest_first()),
            "ended": list(rows.ended().with_keys().newest_first()[:20]),
            "keys": list(ApiKey.objects.for_tenant(tenant_id).by_name()),
            "partitions": Partition.objects.for_tenant(tenant_id).offered_paths(),
        }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render_page(request, kind.template, page, status=status)
