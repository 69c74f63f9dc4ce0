"""The tenant's memo and the summaries of partitions: read, edited, with their versions."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memories.access import actor_of, tenant_of, tenant_required
from memories.actions import save_summary, set_memo, withdraw_summary
from memories.exceptions import PlatformError, StaleVersion
from memories.forms import PartitionForm, SummaryForm, TextForm
from memories.models import AuditEntry, Partition, PartitionSummary, TenantMemo
from memories.scopes import tenant_scope
from memories.services.partitions import parse_partition
from memory_platform.web import HtmxRequest, complain, flash, operator_required, show, wants_fragment

VERSIONS_MAX = 50
PARTITIONS_SHOWN_MAX = 300


@dataclass(frozen=True)
class TextVersion:
    """A version, the one in force beside it (None where none is), and who saved it where that is known."""

    row: TenantMemo | PartitionSummary
    current: TenantMemo | PartitionSummary | None
    saved_by: str = ""

    @property
    def seen_version(self) -> int:
        """What is in force for whoever saves this text again."""
        return self.current.version if self.current else 0

    @property
    def is_another_text(self) -> bool:
        return self.current is None or self.row.content != self.current.content


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def memo(request: HtmxRequest) -> HttpResponseBase:
    """The text that may lead every context, with its versions."""
    if request.method != "POST":
        return _memo_page(request, None)
    form = TextForm(request.POST, label_suffix="")
    if form.is_valid():
        try:
            with tenant_scope(request.tenant.id):
                saved = set_memo(
                    tenant=tenant_of(request),
                    content=form.cleaned_data["content"],
                    if_version=form.cleaned_data["seen_version"],
                    by=actor_of(request.operator),
                    now=timezone.now(),
                )
        except PlatformError as error:
            form.add_error(error.field if error.field in form.fields else None, error.detail)
        else:
            is_new = saved.version != form.cleaned_data["seen_version"]
            flash(request, f"Version {saved.version} is in force." if is_new else "Nothing was changed.")
            return redirect("memo", request.tenant.id)
    return _memo_page(request, form)


def _memo_page(request: HtmxRequest, form: TextForm | None) -> HttpResponse:
    with tenant_scope(request.tenant.id):
        versions = list(TenantMemo.objects.for_tenant(request.tenant.id).newest_first()[:VERSIONS_MAX])
        savings = AuditEntry.objects.for_tenant(request.tenant.id)
        saved = savings.about_any("tenant_memo", [row.pk for row in versions])
        saved_by = {entry.target_ids[0]: entry.actor_label for entry in saved}
    current = versions[0] if versions else None
    initial = {"seen_version": current.version if current else 0, "content": current.content if current else ""}
    page = {
        "section": "memo",
        "current": current,
        "history": [TextVersion(row, current, saved_by.get(str(row.pk), "")) for row in versions],
        "form": form or TextForm(initial=initial, label_suffix=""),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form and form.errors else HTTPStatus.OK
    return show(request, "memo.html#body" if wants_fragment(request) else "memo.html", page, status=status)


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def summaries(request: HtmxRequest) -> HttpResponseBase:
    """The partitions with their summaries; of the one in the address the texts, the form and the versions."""
    place = PartitionForm(request.GET, label_suffix="")
    path = place.cleaned_data["partition"] if place.is_valid() else ""
    is_chosen = "partition" in request.GET and place.is_valid()
    if request.method != "POST":
        return _summaries_page(request, place, path if is_chosen else None, None)
    if not is_chosen:
        raise Http404
    form = SummaryForm(request.POST, label_suffix="")
    if form.is_valid():
        try:
            with tenant_scope(request.tenant.id):
                saved = save_summary(
                    tenant=tenant_of(request),
                    partition=parse_partition(path),
                    style=form.cleaned_data["style"],
                    content=form.cleaned_data["content"],
                    origin=PartitionSummary.Origin.OPERATOR,
                    if_version=form.cleaned_data["seen_version"],
                    by=actor_of(request.operator),
                    now=timezone.now(),
                )
        except PlatformError as error:
            form.add_error(error.field if error.field in form.fields else None, error.detail)
        else:
            is_new = saved.version != form.cleaned_data["seen_version"]
            flash(request, f"Version {saved.version} is in force." if is_new else "Nothing was changed.")
            return redirect(_address(request, path))
    return _summaries_page(request, place, path, form)


@operator_required("operator")
@tenant_required
@require_POST
def summary_withdraw(request: HtmxRequest) -> HttpResponseBase:
    """Take a summary out of contexts; undoing that brings its text back as a new version."""
    place = PartitionForm(request.POST)
    if not place.is_valid():
        raise Http404
    path = place.cleaned_data["partition"]
    with tenant_scope(request.tenant.id):
        rows = PartitionSummary.objects.for_tenant(request.tenant.id).current().of_partition(path)
        current = rows.of_style(request.POST.get("style", "")).first()
        if current is None:
            raise Http404
        withdraw_summary(summary=current, by=actor_of(request.operator), now=timezone.now())
    again = urlencode({"partition": path, "style": current.style})
    undo = f"{reverse('summary-again', args=[request.tenant.id])}?{again}"
    flash(request, f"The {current.style} summary stands in no context any more. Its versions stay.", undo_url=undo)
    return redirect(_address(request, path))


@operator_required("operator")
@tenant_required
@require_POST
def summary_again(request: HtmxRequest) -> HttpResponseBase:
    """Undo of a withdrawal: what the last version of the style that the address names said is in force again."""
    place = PartitionForm(request.GET)
    if not place.is_valid():
        raise Http404
    path, style = place.cleaned_data["partition"], request.GET.get("style", "")
    with tenant_scope(request.tenant.id):
        rows = PartitionSummary.objects.for_tenant(request.tenant.id).of_partition(path)
        latest = rows.of_style(style).newest_first().first()
    if latest is None:
        raise Http404
    try:
        with tenant_scope(request.tenant.id):
            saved = save_summary(
                tenant=tenant_of(request),
                partition=parse_partition(path),
                style=style,
                content=latest.content,
                origin=latest.origin,
                if_version=0,
                by=actor_of(request.operator),
                now=timezone.now(),
            )
    except StaleVersion:
        complain(request, f"A {style} summary is in force there already.")
    else:
        flash(request, f"The {style} summary is back as version {saved.version}.")
    return redirect(_address(request, path))


def _address(request: HtmxRequest, path: str) -> str:
    return f"{reverse('summaries', args=[request.tenant.id])}?{urlencode({'partition': path})}"


def _summaries_page(
    request: HtmxRequest, place: PartitionForm, path: str | None, typed: SummaryForm | None
) -> HttpResponse:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        partitions = Partition.objects.for_tenant(tenant_id).with_contents(timezone.now())
        page: dict[str, Any] = {
            "section": "summaries",
            "place": place,
            "path": path,
            "partitions": list(partitions.page_by_path(count=PARTITIONS_SHOWN_MAX)),
        }
        if path is not None:
            rows = PartitionSummary.objects.for_tenant(tenant_id).of_partition(path)
            versions = list(rows.newest_first()[:VERSIONS_MAX])
            in_force = {row.style: row for row in versions if row.recorded_to is None}
            history = [TextVersion(row, in_force.get(row.style)) for row in versions]
            page |= {"history": history, "editors": _editors(versions, typed)}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if place.errors or (typed and typed.errors) else HTTPStatus.OK
    template = "summaries.html#body" if wants_fragment(request) else "summaries.html"
    return show(request, template, page, status=status)


def _editors(versions: list[PartitionSummary], typed: SummaryForm | None) -> list[dict[str, Any]]:
    """Each style with its current version, or none, and the form that opens the next one."""
    editors = []
    for style in PartitionSummary.Style.values:
        current = next((row for row in versions if row.style == style and row.recorded_to is None), None)
        latest = next((row for row in versions if row.style == style), None)
        initial = {
            "style": style,
            "seen_version": current.version if current else 0,
            "content": current.content if current else "",
        }
        is_typed = typed is not None and typed["style"].value() == style
        form = typed if is_typed else SummaryForm(initial=initial, label_suffix="", auto_id=f"id_{style}_%s")
        editors.append({"style": style, "current": current, "latest": latest, "form": form})
    return editors
