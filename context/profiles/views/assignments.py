"""Whom the profiles are for: keys, partitions, the tenant. The same pages for budget and for scoring profiles."""

from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from context.models.assignments import ProfileAssignment
from context.profiles.forms import AssignmentForm
from context.profiles.views.form_errors import add_error_to_form
from context.profiles.views.kinds import ProfileKind
from memories.models import ApiKey, Partition
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, add_flash, flash_error, operator_required, render_page


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def assignments(request: HtmxRequest, kind: ProfileKind) -> HttpResponseBase:
    """Show which profile counts for whom, and the form that changes it."""
    if request.method != "POST":
        return _page(request, kind, AssignmentForm(initial=request.GET.dict(), label_suffix=""))
    form = AssignmentForm(request.POST, label_suffix="")
    if form.is_valid():
        try:
            row = _assign(request, kind, form)
        except PlatformError as error:
            add_error_to_form(form, error, {"budget_profile": "profile_name", "profile": "profile_name"})
        else:
            add_flash(request, f"{row.profile_name} assigned.")
            return _to_assignments(request, kind)
    return _page(request, kind, form)


@operator_required("operator")
@tenant_required
@require_POST
def assignment_end(request: HtmxRequest, kind: ProfileKind) -> HttpResponseBase:
    """End what is assigned to a key or a partition."""
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
        undo = f"{reverse(f'{kind.prefix}-assignment-again', args=[request.tenant.id])}?{again}"
        add_flash(request, f"Assignment of {row.profile_name} ended.", undo_url=undo)
    return _to_assignments(request, kind)


@operator_required("operator")
@tenant_required
@require_POST
def assignment_undo(request: HtmxRequest, kind: ProfileKind) -> HttpResponseBase:
    """Undo an end: assign what the address names, unless something else was assigned since."""
    form = AssignmentForm(request.GET)
    if form.is_valid():
        try:
            row = _assign(request, kind, form, replaces="")
        except PlatformError as error:
            flash_error(request, error.detail)
        else:
            add_flash(request, f"{row.profile_name} assigned again.")
    return _to_assignments(request, kind)


def _assign(
    request: HtmxRequest, kind: ProfileKind, form: AssignmentForm, *, replaces: str | None = None
) -> ProfileAssignment:
    fields = form.cleaned_data
    with tenant_scope(request.tenant.id):
        return kind.assign(
            tenant_id=request.tenant.id,
            profile_name=fields["profile_name"],
            **_target(_key_id(request, fields["api_key"]), fields["partition"]),
            replaces=replaces,
            by=operator_actor(request.operator),
            now=timezone.now(),
        )


def _to_assignments(request: HtmxRequest, kind: ProfileKind) -> HttpResponseBase:
    return redirect(f"{kind.prefix}-assignments", request.tenant.id)


def _key_id(request: HtmxRequest, prefix: str) -> str | None:
    """Return the key of a visible prefix, the prefix itself (which the action refuses) if unknown, None for no key."""
    if not prefix:
        return None
    key = ApiKey.objects.for_tenant(request.tenant.id).with_prefix(prefix).first()
    return key.pk if key else prefix


def _target(api_key_id: str | None, partition: str) -> dict[str, Any]:
    return {"api_key_id": api_key_id} if api_key_id else {"partition_path": partition}


def _page(request: HtmxRequest, kind: ProfileKind, form: AssignmentForm) -> HttpResponse:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        rows = kind.assignments.objects.for_tenant(tenant_id)
        page = {
            "section": kind.section,
            "form": form,
            "names": kind.assignable_names(tenant_id),
            "rows": list(rows.active().with_keys().newest_first()),
            "ended": list(rows.ended().with_keys().newest_first()[:20]),
            "keys": list(ApiKey.objects.for_tenant(tenant_id).by_name()),
            "partitions": Partition.objects.for_tenant(tenant_id).offered_paths(),
        }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render_page(request, kind.template("assignments"), page, status=status)
