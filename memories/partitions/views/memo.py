"""The page of the tenant memo, and the buttons that withdraw and restore partition summaries."""

from urllib.parse import urlencode

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memories.models import AuditEntry, PartitionSummary, TenantMemo
from memories.partitions.actions.memo import set_tenant_memo
from memories.partitions.actions.summaries import save_summary, withdraw_summary
from memories.partitions.forms import PartitionForm, VersionedTextForm
from memories.partitions.text_versions import build_text_versions
from memories.services.partitions.paths import parse_partition
from memories.services.store.content import normalise_content
from memories.services.tokens import count_tokens
from memories.tenancy.access import operator_actor, tenant_of, tenant_required
from memories.tenancy.exceptions import PlatformError, StaleVersion
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, add_flash, flash_error, operator_required, render_page

_VERSIONS_MAX = 50
#: Tokens of a longer text are not counted while typing.
COUNTED_CHARACTERS_MAX = 100_000


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def memo(request: HtmxRequest) -> HttpResponseBase:
    """Show and edit the memo, with its versions."""
    if request.method != "POST":
        return _memo_page(request, None)
    form = VersionedTextForm(request.POST, label_suffix="")
    if form.is_valid():
        try:
            with tenant_scope(request.tenant.id):
                saved = set_tenant_memo(
                    tenant=tenant_of(request),
                    content=form.cleaned_data["content"],
                    if_version=form.cleaned_data["seen_version"],
                    by=operator_actor(request.operator),
                    now=timezone.now(),
                )
        except PlatformError as error:
            form.add_error(error.field if error.field in form.fields else None, error.detail)
        else:
            is_new = saved.version != form.cleaned_data["seen_version"]
            add_flash(request, f"Version {saved.version} is active." if is_new else "No changes made.")
            return redirect("memo", request.tenant.id)
    return _memo_page(request, form)


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
        "form": form or VersionedTextForm(initial=initial, label_suffix=""),
    }
    return render_page(request, "memories/partitions/memo.html", page, fragment="body", form=form)


@operator_required("operator")
@tenant_required
@require_POST
def text_tokens(request: HtmxRequest) -> HttpResponseBase:
    """Count the tokens of a text while it is typed."""
    text = normalise_content(request.POST.get("content", "").replace("\r\n", "\n"))
    tokens = count_tokens(text) if len(text) <= COUNTED_CHARACTERS_MAX else None
    return render_page(request, "memories/partitions/_text_tokens.html", {"tokens": tokens})


@operator_required("viewer")
@tenant_required
@require_safe
def summaries(request: HtmxRequest) -> HttpResponseBase:
    """Redirect the former page of summaries."""
    path = request.GET.get("partition", "")
    return redirect(_address(request, path) if path else reverse("partitions", args=[request.tenant.id]))


@operator_required("operator")
@tenant_required
@require_POST
def summary_withdraw(request: HtmxRequest) -> HttpResponseBase:
    """Withdraw a summary; the undo restores its text as a new version."""
    place = PartitionForm(request.POST)
    if not place.is_valid():
        raise Http404
    path = place.cleaned_data["partition"]
    with tenant_scope(request.tenant.id):
        rows = PartitionSummary.objects.for_tenant(request.tenant.id).current().of_partition(path)
        current = rows.of_style(request.POST.get("style", "")).first()
        if current is None:
            raise Http404
        withdraw_summary(summary=current, by=operator_actor(request.operator), now=timezone.now())
    again = urlencode({"partition": path, "style": current.style})
    undo = f"{reverse('summary-again', args=[request.tenant.id])}?{again}"
    add_flash(request, f"The {current.style} summary was withdrawn. Its versions remain.", undo_url=undo)
    return redirect(_address(request, path))


@operator_required("operator")
@tenant_required
@require_POST
def summary_again(request: HtmxRequest) -> HttpResponseBase:
    """Undo a withdrawal: make the last version's text of the style in the URL active again."""
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
                by=operator_actor(request.operator),
                now=timezone.now(),
            )
    except StaleVersion:
        flash_error(request, f"A {style} summary is already active.")
    else:
        add_flash(request, f"The {style} summary was restored as version {saved.version}.")
    return redirect(_address(request, path))


def _address(request: HtmxRequest, path: str) -> str:
    return f"{reverse('partitions', args=[request.tenant.id])}?{urlencode({'partition': path})}"
