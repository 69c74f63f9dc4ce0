"""The pages of snapshots and their comparison."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from memories.models import Partition, Snapshot
from memories.partitions.actions.snapshots import create_snapshot, delete_snapshot
from memories.partitions.forms import ComparisonForm, SnapshotForm
from memories.partitions.queries.changes import CHANGE_KINDS
from memories.partitions.snapshot_comparison import SnapshotDiff, diff_points_in_time
from memories.services.store.moments import PointInTime
from memories.tenancy.access import operator_actor, tenant_of, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, add_flash, loads_result_later, operator_required, render_page

SNAPSHOTS_SHOWN_MAX = 200
TODAY = "today"


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def snapshots(request: HtmxRequest) -> HttpResponseBase:
    """List snapshots, the latest recorded time first, with the form that creates one."""
    if request.method != "POST":
        return _list_page(request, SnapshotForm(label_suffix=""))
    form = SnapshotForm(request.POST, label_suffix="")
    if form.is_valid():
        try:
            with tenant_scope(request.tenant.id):
                made = create_snapshot(
                    tenant=tenant_of(request),
                    name=form.cleaned_data["name"],
                    recorded_at=form.cleaned_data["recorded_at"],
                    by=operator_actor(request.operator),
                    now=timezone.now(),
                )
        except PlatformError as error:
            form.add_error(error.field if error.field in form.fields else None, error.detail)
        else:
            add_flash(request, f"Snapshot {made.name} created.")
            return redirect("snapshots", request.tenant.id)
    return _list_page(request, form)


def _list_page(request: HtmxRequest, form: SnapshotForm) -> HttpResponse:
    with tenant_scope(request.tenant.id):
        rows = list(Snapshot.objects.for_tenant(request.tenant.id).newest_first()[:SNAPSHOTS_SHOWN_MAX])
    page = {"section": "snapshots", "rows": list(zip(rows, [*rows[1:], None], strict=False)), "form": form}
    return render_page(request, "memories/partitions/snapshots.html", page, fragment="body", form=form)


@operator_required("viewer")
@tenant_required
@require_safe
def snapshot(request: HtmxRequest, snapshot_id: UUID) -> HttpResponseBase:
    """Compare a snapshot with another one or today, everywhere or in one partition."""
    now = timezone.now()
    form = ComparisonForm(request.GET, label_suffix="")
    if not form.is_valid():
        raise Http404
    wanted = form.cleaned_data
    with tenant_scope(request.tenant.id):
        rows = list(Snapshot.objects.for_tenant(request.tenant.id).newest_first()[:SNAPSHOTS_SHOWN_MAX])
        one = _named(rows, str(snapshot_id))
        with_id = wanted["with"] or TODAY
        other = None if with_id == TODAY else _named(rows, with_id)
        page: dict[str, Any] = {
            "section": "snapshots",
            "snapshot": one,
            "other": other,
            "others": [row for row in rows if row.pk != one.pk],
            "form": form,
            "partitions": Partition.objects.for_tenant(request.tenant.id).offered_paths(),
        }
        page |= {"is_coming": True} if loads_result_later(request) else _compared(request, one, other, wanted, now)
    return render_page(request, "memories/partitions/snapshot.html", page, fragment="result")


def _compared(
    request: HtmxRequest, one: Snapshot, other: Snapshot | None, wanted: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """Return the differences of the two, the earlier one first; inside a scope."""
    first, second = sorted((one.recorded_at, other.recorded_at if other else now))
    difference = diff_points_in_time(
        tenant_id=request.tenant.id,
        before=PointInTime.recorded(first),
        after=PointInTime.recorded(second),
        reach=wanted["partition"],
        kind=wanted["kind"] or None,
        behind=wanted["behind"],
    )
    return {
        "first": first,
        "second": second,
        "difference": difference,
        "lists": [_listed(request, difference, kind) for kind in CHANGE_KINDS if difference.changes[kind]],
        "is_turned": other is not None and other.recorded_at < one.recorded_at,
    }


def _listed(request: HtmxRequest, difference: SnapshotDiff, kind: str) -> dict[str, Any]:
    """Return one list of changes with its tally and the query of its next page."""
    rows = difference.changes[kind]
    query = request.GET.copy()
    query["kind"], query["behind"] = kind, str(rows[-1].memory_id)
    more = query.urlencode() if kind in difference.follows else ""
    return {"kind": kind, "rows": rows, "tally": difference.tallies[kind], "more": more}


def _named(rows: list[Snapshot], snapshot_id: str) -> Snapshot:
    found = next((row for row in rows if str(row.pk) == snapshot_id), None)
    if found is None:
        raise Http404
    return found


@operator_required("operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def snapshot_delete(request: HtmxRequest, snapshot_id: UUID) -> HttpResponseBase:
    """Confirm, then delete the name; no memory or version is lost."""
    with tenant_scope(request.tenant.id):
        found = Snapshot.objects.for_tenant(request.tenant.id).with_id(snapshot_id).first()
        if found is None:
            raise Http404
        if request.method == "POST":
            delete_snapshot(snapshot=found, by=operator_actor(request.operator), now=timezone.now())
    if request.method != "POST":
        return render_page(
            request, "memories/partitions/snapshot_delete.html", {"section": "snapshots", "snapshot": found}
        )
    add_flash(request, f"Snapshot {found.name} deleted. You can recreate it by its time.")
    return redirect("snapshots", request.tenant.id)
