"""The pages that budget profiles and scoring profiles share: the comparison of two versions, and assignments."""

from difflib import get_close_matches
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from context.models.profiles import ProfileAssignment
from context.profiles.compare_tabs import SIDES, compare_tabs
from context.profiles.forms import AssignmentEndForm, AssignmentForm, VersionComparisonForm
from context.profiles.kinds import SCORING_KIND, ProfileKind
from context.profiles.scoring_profiles import profile_reference
from context.profiles.versions import compare_versions, labelled_numbers
from memories.models import ApiKey, Memory, Partition
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import errors_as_flash, errors_on_form, perform
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page

#: The code of the error of a partition without memories, which an operator may confirm.
EMPTY_PARTITION = "empty_partition"


@tenant_page("viewer")
def profile_comparison(request: HtmxRequest, kind: ProfileKind) -> HttpResponseBase:
    """Show two versions, of one profile or of two, number by number."""
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        typed = _with_versions(kind, tenant_id, request.GET.dict())
        form = VersionComparisonForm(typed if typed.keys() >= set(SIDES) else None, initial=typed)
        page: dict[str, Any] = {"section": kind.section, "form": form}
        page["tabs"] = compare_tabs(tenant_id, f"{kind.prefix}-compare", typed)
        page["kept"] = [(name, value) for name, value in typed.items() if name not in SIDES]
        page["offered"] = kind.compared_versions(tenant_id)
        if form.is_bound and form.is_valid():
            with errors_on_form(form):
                left, right = form.named_versions()
                numbers = compare_versions(*(kind.version(tenant_id, *each) for each in (left, right)))
                if kind is SCORING_KIND:
                    page["on_query"] = urlencode({"left": profile_reference(*left), "right": profile_reference(*right)})
                page["numbers"] = labelled_numbers(numbers)
                page["differing"] = any(number.differs for number in numbers)
    return render_page(request, "context/profiles/versions_compare.html", page, fragment="fragment", form=form)


def _with_versions(kind: ProfileKind, tenant_id: UUID, typed: dict[str, str]) -> dict[str, str]:
    """Complete a side that only names a profile with its active version, else its newest."""
    known = {row.name: row for row in kind.listed(tenant_id)}
    sides = {side: known[typed[side]] for side in SIDES if typed.get(side) in known}
    return typed | {side: f"{row.name} {row.version}" for side, row in sides.items()}


@tenant_page("viewer", to_change="operator", state="shown")
def assignments(request: HtmxRequest, kind: ProfileKind) -> HttpResponseBase:
    """Show the assignments and the form that adds one."""
    if request.method != "POST":
        return _page(request, kind, AssignmentForm(initial=request.GET.dict()))
    form = AssignmentForm(request.POST)
    if form.is_valid() and not _is_empty_partition(request, form):
        with errors_on_form(form, {"budget_profile": "profile_name", "profile": "profile_name"}):
            row = _assign(request, kind, form)
            add_flash(request, f"{row.profile_name} assigned to {_target_text(row)}.")
            return redirect(f"{kind.prefix}-assignments", request.tenant.id)
    return _page(request, kind, form)


def _is_empty_partition(request: HtmxRequest, form: AssignmentForm) -> bool:
    """Add an error for a partition without memories, unless the operator confirmed it; return whether it is empty."""
    path = str(form.cleaned_data["partition"])
    if form.cleaned_data["api_key"] or not path or str(form.cleaned_data["confirmed"]) == path:
        return False
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        if Memory.objects.for_tenant(tenant_id).unarchived().within(path).exists():
            return False
        similar = get_close_matches(path, Partition.objects.for_tenant(tenant_id).offered_paths(), n=1)
    hint = f" Did you mean {similar[0]}?" if similar else ""
    form.add_error("partition", ValidationError(f"{path} contains no memories.{hint}", code=EMPTY_PARTITION))
    return True


@tenant_page(to_change="operator", state="replaces")
def assignment_end(request: HtmxRequest, kind: ProfileKind) -> HttpResponseBase:
    """End the assignment of a key or a partition."""
    form = AssignmentEndForm(request.POST)
    if not form.is_valid():
        flash_error(request, "Not ended. Reload the page and try again.")
        return redirect(f"{kind.prefix}-assignments", request.tenant.id)
    fields = form.cleaned_data
    target = {name: fields[name] for name in ("api_key", "partition")}
    with errors_as_flash(request):
        row = perform(request, kind.assignments.unassign, shown=fields["replaces"], **_target(request, **target))
        again = {"profile_name": row.profile_name, **target}
        undo = reverse(f"{kind.prefix}-assignment-undo", args=[request.tenant.id], query=again)
        add_flash(request, f"Assignment of {row.profile_name} ended.", undo_url=undo)
    return redirect(f"{kind.prefix}-assignments", request.tenant.id)


@tenant_page(to_change="operator")
def assignment_undo(request: HtmxRequest, kind: ProfileKind) -> HttpResponseBase:
    """Undo the end of an assignment: assign the profile in the URL, unless another one was assigned since."""
    form = AssignmentForm(request.GET)
    if form.is_valid():
        with errors_as_flash(request):
            row = _assign(request, kind, form, replaces="")
            add_flash(request, f"{row.profile_name} assigned to {_target_text(row)} again.")
    return redirect(f"{kind.prefix}-assignments", request.tenant.id)


def _assign(
    request: HtmxRequest, kind: ProfileKind, form: AssignmentForm, *, replaces: str | None = None
) -> ProfileAssignment:
    fields = form.cleaned_data
    target = _target(request, fields["api_key"], fields["partition"])
    row: ProfileAssignment = perform(
        request,
        kind.assignments.assign,
        profile_name=fields["profile_name"],
        replaces=replaces,
        shown=fields["shown"],
        **target,
    )
    return row


def _target_text(row: ProfileAssignment) -> str:
    with tenant_scope(row.tenant_id):
        return f"key {row.api_key.name}" if row.api_key else row.partition_path or "the whole tenant"


def _target(request: HtmxRequest, api_key: str, partition: str) -> dict[str, Any]:
    """Return the target for the actions; an unknown key prefix is kept, so that they reject it."""
    if not api_key:
        return {"partition_path": partition}
    with tenant_scope(request.tenant.id):
        key = ApiKey.objects.for_tenant(request.tenant.id).with_prefix(api_key).first()
    return {"api_key_id": key.pk if key else api_key}


def _page(request: HtmxRequest, kind: ProfileKind, form: AssignmentForm) -> HttpResponse:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        rows = kind.assignments.model.objects.for_tenant(tenant_id)
        active = list(rows.active().with_keys().newest_first())
        page = {
            "section": kind.section,
            "form": form,
            "names": kind.assignable_names(tenant_id),
            "is_empty_partition": form.is_bound and form.has_error("partition", EMPTY_PARTITION),
            "rows": active,
            "shown": ",".join(str(row.pk) for row in active) or "none",
            "ended": list(rows.ended().with_keys().newest_first()[:20]),
            "keys": list(ApiKey.objects.for_tenant(tenant_id).by_name()),
            "partitions": Partition.objects.for_tenant(tenant_id).offered_paths(),
        }
    return render_page(request, f"context/profiles/{kind.prefix}_assignments.html", page, form=form)
