"""The page of the partition tree. For the partition in the URL, it also shows the summaries and their versions."""

from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from compaction.pipeline.views import roll_up_list_context
from compaction.rollups import partition_tree
from memories.models import PartitionSummary, TenantMemo
from memories.partitions.actions import save_summary
from memories.partitions.forms import PartitionsForm, SummaryForm
from memories.services.partitions.paths import PartitionPath
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_of, tenant_page
from memories.tenancy.views.page_actions import by_operator, errors_on_form
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.rendering import render_page

_ROOT = PartitionPath()


@tenant_page("viewer", to_change="operator")
def partitions(request: HtmxRequest) -> HttpResponseBase:
    """Show the tree, search results, or one partition next to the tree; a POST saves a summary of that partition."""
    form = PartitionsForm(request.GET)
    is_chosen = "partition" in request.GET and form.is_valid()
    if request.method != "POST":
        return _page(request, form, None)
    if not is_chosen:
        raise Http404
    form_values = SummaryForm(request.POST)
    saved = _saved(request, form.place(), form_values) if form_values.is_valid() else None
    if saved is None:
        return _page(request, form, form_values)
    add_flash(request, form_values.result_text(saved.version))
    return redirect(reverse("partitions", args=[request.tenant.id], query={"partition": form.place().path}))


def _saved(request: HtmxRequest, place: PartitionPath, form_values: SummaryForm) -> PartitionSummary | None:
    with errors_on_form(form_values), tenant_scope(request.tenant.id):
        return save_summary(
            tenant=tenant_of(request),
            partition=place,
            style=form_values.cleaned_data["style"],
            content=form_values.cleaned_data["content"],
            origin=PartitionSummary.Origin.OPERATOR,
            if_version=form_values.cleaned_data["seen_version"],
            **by_operator(request),
        )
    return None


def _page(request: HtmxRequest, form: PartitionsForm, form_values: SummaryForm | None) -> HttpResponse:
    now = timezone.now()
    is_valid = form.is_valid()
    place = form.place() if is_valid and "partition" in request.GET else None
    text, after = (form.cleaned_data[name] for name in ("q", "after")) if is_valid else ("", "")
    page: dict[str, Any] = {"section": "partitions", "form": form, "place": place, "text": text, "after": after}
    with tenant_scope(request.tenant.id):
        if text:
            page["tree"] = partition_tree.find_partitions(request.tenant.id, text, after=after, now=now)
        else:
            page["tree"] = partition_tree.read_partition_tree(request.tenant.id, place or _ROOT, after=after, now=now)
        if place is not None:
            facts = page["tree"].opened or partition_tree.read_partition_facts(request.tenant.id, place.path, now=now)
            page |= _chosen(request, place, facts, form_values)
    is_refused = not is_valid or (form_values is not None and bool(form_values.errors))
    status = HTTPStatus.UNPROCESSABLE_ENTITY if is_refused else HTTPStatus.OK
    fragment = "#fragment" if wants_fragment(request) else ""
    return render_page(request, f"compaction/rollups/partitions.html{fragment}", page, status=status)


def _chosen(
    request: HtmxRequest, place: PartitionPath, facts: partition_tree.PartitionFacts, form_values: SummaryForm | None
) -> dict[str, Any]:
    tenant_id = request.tenant.id
    chosen: dict[str, Any] = {
        "path": place.path,
        "lineage": [(step.path, step.path.rpartition("/")[2]) for step in place.ancestors() if step.depth],
        "facts": facts,
        "memo": TenantMemo.objects.for_tenant(tenant_id).current().first(),
    }
    if place.depth:
        chosen["summaries"] = partition_tree.read_summaries(tenant_id, place.path, form_values)
        chosen |= roll_up_list_context(tenant_id, place.path)
    return chosen


@tenant_page("viewer")
def partition_children(request: HtmxRequest) -> HttpResponseBase:
    """Show the children of a partition for an opened node; without htmx, the page with that node open."""
    form = PartitionsForm(request.GET)
    if not form.is_valid():
        raise Http404
    if not wants_fragment(request):
        return redirect(f"{reverse('partitions', args=[request.tenant.id])}?{request.GET.urlencode()}")
    place, after = form.place(), form.cleaned_data["after"]
    with tenant_scope(request.tenant.id):
        tree = partition_tree.read_partition_branch(request.tenant.id, place, after=after, now=timezone.now())
    page = {"nodes": tree.nodes, "rest_after": tree.rest_after, "parent": place.path}
    return render_page(request, "compaction/rollups/_partition_nodes.html", page)
