"""The pages of the tenant memo and of snapshots, and the buttons that withdraw and restore partition summaries."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone

from memories.models import AuditEntry, Partition, PartitionSummary, Snapshot, TenantMemo
from memories.partitions import actions
from memories.partitions.forms import ComparisonForm, PartitionForm, SnapshotForm, VersionedTextForm
from memories.partitions.queries.changes import CHANGE_KINDS
from memories.partitions.snapshot_comparison import SnapshotDiff, diff_points_in_time
from memories.partitions.text_versions import build_text_versions
from memories.services.partitions.paths import parse_partition
from memories.services.store.content import normalise_content
from memories.services.store.moments import PointInTime
from memories.services.tokens import count_tokens
from memories.tenancy.exceptions import StaleVersion
from memories.tenancy.forms import with_unix_line_ends
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import action_arguments, by_operator, submit
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import loads_result_later, render_page

_VERSIONS_MAX = 50
#: The tokens of longer texts are not counted while they are entered.
COUNTED_CHARACTERS_MAX = 100_000
SNAPSHOTS_SHOWN_MAX = 200
TODAY = "today"


@tenant_page("viewer", to_change="operator")
def memo(request: HtmxRequest) -> HttpResponseBase:
    """Show and edit the memo, with its versions."""
    if request.method != "POST":
        return _memo_page(request, None)
    form = VersionedTextForm(request.POST)

    def act() -> TenantMemo:
        content, seen = form.cleaned_data["content"], form.cleaned_data["seen_version"]
        return actions.set_tenant_memo(content=content, if_version=seen, **action_arguments(request))

    saved = submit(request, form, act)
    if saved is None:
        return _memo_page(request, form)
    add_flash(request, form.result_text(saved.version))
    return redirect("memo", request.tenant.id)


def _memo_page(request: HtmxRequest, form: VersionedTextForm | None) -> HttpResponse:
    with tenant_scope(request.tenant.id):
        versions = list(TenantMemo.objects.for_tenant(request.tenant.id).newest_first()[:_VERSIONS_MAX])
        savings = AuditEntry.objects.for_tenant(request.tenant.id)
        saved = savings.about_any("tenant_memo", [row.pk for row in versions])
        labels = {entry.target_ids[0]: entry.actor_label for entry in saved}
    current = versions[0] if versions else None
    initial = {"seen_version": current.version if current else 0, "content": current.content if current else ""}
    page = {
        "section": "memo",
        "current": current,
        "history": build_text_versions(versions, {row.pk: labels.get(str(row.pk), "") for row in versions}),
        "form": form or VersionedTextForm(initial=initial),
    }
    return render_page(request, "memories/partitions/memo.html", page, fragment="body", form=form)


@tenant_page(to_change="operator")
def text_tokens(request: HtmxRequest) -> HttpResponseBase:
    """Return the tokens of a text while it is entered."""
    text = normalise_content(with_unix_line_ends(request.POST.get("content", "")))
    tokens = count_tokens(text) if len(text) <= COUNTED_CHARACTERS_MAX else None
    return render_page(request, "memories/partitions/_text_tokens.html", {"tokens": tokens})


@tenant_page("viewer")
def summaries(request: HtmxRequest) -> HttpResponseBase:
    """Redirect the former page of summaries."""
    path = request.GET.get("partition", "")
    return redirect(_address(request, path) if path else reverse("partitions", args=[request.tenant.id]))


@tenant_page(to_change="operator", state="seen_version")
def summary_withdraw(request: HtmxRequest) -> HttpResponseBase:
    """Withdraw a summary; the undo restores its text as a new version."""
    path = _partition_in(request.POST)
    with tenant_scope(request.tenant.id):
        rows = PartitionSummary.objects.for_tenant(request.tenant.id).current().of_partition(path)
        current = get_object_or_404(rows.of_style(request.POST.get("style", "")))
        if request.POST.get("seen_version") != str(current.version):
            flash_error(request, "Someone saved another text in the meantime. Read it before you withdraw it.")
            return redirect(_address(request, path))
        actions.withdraw_summary(summary=current, **by_operator(request))
    again = {"partition": path, "style": current.style}
    undo = reverse("summary-restore", args=[request.tenant.id], query=again)
    add_flash(request, f"The {current.style} summary was withdrawn. Its versions remain.", undo_url=undo)
    return redirect(_address(request, path))


@tenant_page(to_change="operator")
def summary_restore(request: HtmxRequest) -> HttpResponseBase:
    """Undo a withdrawal: make the last version's text of the style in the URL active again."""
    path, style = _partition_in(request.GET), request.GET.get("style", "")
    with tenant_scope(request.tenant.id):
        rows = PartitionSummary.objects.for_tenant(request.tenant.id).of_partition(path)
        latest = rows.of_style(style).newest_first().first()
        if latest is None:
            raise Http404
    try:
        with tenant_scope(request.tenant.id):
            values = {"style": style, "content": latest.content, "origin": latest.origin, "if_version": 0}
            saved = actions.save_summary(partition=parse_partition(path), **values, **action_arguments(request))
    except StaleVersion:
        flash_error(request, f"A {style} summary is already active.")
    else:
        add_flash(request, f"The {style} summary was restored as version {saved.version}.")
    return redirect(_address(request, path))


def _partition_in(sent: Mapping[str, Any]) -> str:
    form = PartitionForm(sent)
    if not form.is_valid():
        raise Http404
    return str(form.cleaned_data["partition"])


def _address(request: HtmxRequest, path: str) -> str:
    return reverse("partitions", args=[request.tenant.id], query={"partition": path})


@tenant_page("viewer", to_change="operator")
def snapshots(request: HtmxRequest) -> HttpResponseBase:
    """List snapshots, the latest recorded time first, with the form that creates one."""
    form = SnapshotForm(request.POST if request.method == "POST" else None)
    made = submit(request, form, lambda: actions.create_snapshot(**form.cleaned_data, **action_arguments(request)))
    if made is not None:
        add_flash(request, f"Snapshot {made.name} created.")
        return redirect("snapshots", request.tenant.id)
    with tenant_scope(request.tenant.id):
        rows = _snapshots_of(request)
    page = {"section": "snapshots", "rows": list(zip(rows, [*rows[1:], None], strict=False)), "form": form}
    return render_page(request, "memories/partitions/snapshots.html", page, fragment="body", form=form)


@tenant_page("viewer")
def snapshot(request: HtmxRequest, snapshot_id: UUID) -> HttpResponseBase:
    """Compare a snapshot with another one or today, everywhere or in one partition."""
    now = timezone.now()
    form = ComparisonForm(request.GET)
    if not form.is_valid():
        raise Http404
    fields = form.cleaned_data
    with tenant_scope(request.tenant.id):
        rows = {str(row.pk): row for row in _snapshots_of(request)}
        with_id = fields["with"] or TODAY
        one, other = rows.get(str(snapshot_id)), rows.get(with_id)
        if one is None or (other is None and with_id != TODAY):
            raise Http404
        page: dict[str, Any] = {
            "section": "snapshots",
            "snapshot": one,
            "other": other,
            "others": [row for row in rows.values() if row.pk != one.pk],
            "form": form,
            "partitions": Partition.objects.for_tenant(request.tenant.id).offered_paths(),
        }
        page |= {"is_coming": True} if loads_result_later(request) else _compared(request, one, other, fields, now)
    return render_page(request, "memories/partitions/snapshot.html", page, fragment="result")


def _snapshots_of(request: HtmxRequest) -> list[Snapshot]:
    return list(Snapshot.objects.for_tenant(request.tenant.id).newest_first()[:SNAPSHOTS_SHOWN_MAX])


def _compared(
    request: HtmxRequest, one: Snapshot, other: Snapshot | None, fields: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """Return the differences of the two, the earlier one first; inside a scope."""
    first, second = sorted((one.recorded_at, other.recorded_at if other else now))
    difference = diff_points_in_time(
        tenant_id=request.tenant.id,
        before=PointInTime.recorded(first),
        after=PointInTime.recorded(second),
        reach=fields["partition"],
        kind=fields["kind"] or None,
        behind=fields["behind"],
    )
    return {
        "first": first,
        "second": second,
        "difference": difference,
        "lists": [_listed(request, difference, kind) for kind in CHANGE_KINDS if difference.changes[kind]],
        "is_turned": other is not None and other.recorded_at < one.recorded_at,
    }


def _listed(request: HtmxRequest, difference: SnapshotDiff, kind: str) -> dict[str, Any]:
    rows = difference.changes[kind]
    query = request.GET.copy()
    query["kind"], query["behind"] = kind, str(rows[-1].memory_id)
    more = query.urlencode() if kind in difference.follows else ""
    return {"kind": kind, "rows": rows, "tally": difference.tallies[kind], "more": more}


@tenant_page("operator", to_change="operator")
def snapshot_delete(request: HtmxRequest, snapshot_id: UUID) -> HttpResponseBase:
    """Confirm, then delete the name; no memory or version is lost."""
    with tenant_scope(request.tenant.id):
        found = get_object_or_404(Snapshot.objects.for_tenant(request.tenant.id), pk=snapshot_id)
        if request.method == "POST":
            actions.delete_snapshot(snapshot=found, **by_operator(request))
    if request.method != "POST":
        page = {"section": "snapshots", "snapshot": found}
        return render_page(request, "memories/partitions/snapshot_delete.html", page)
    add_flash(request, f"Snapshot {found.name} deleted. You can recreate it from its time.")
    return redirect("snapshots", request.tenant.id)
