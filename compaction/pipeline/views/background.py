"""Jobs: retry a failed run; the roll-ups of one partition."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from compaction.models import Run
from compaction.pipeline.actions.compactions import retry_compaction_run
from compaction.rollups.actions import request_roll_up
from memories.models import Partition, PartitionSummary
from memories.partitions.forms import PartitionForm
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import (
    HtmxRequest,
    add_flash,
    flash_error,
    operator_required,
    render_page,
    wants_fragment,
    watch_job,
)

#: Job states by run state.
STATES_OF_JOBS = {"queued": "unfinished", "running": "unfinished", "failed": "failed", "done": "done"}
ROLL_UPS_SHOWN_MAX = 5


@operator_required("viewer")
@tenant_required
@require_safe
def former_run_list(request: HtmxRequest) -> HttpResponseBase:
    """Redirect the former URL of the list of runs to the list of jobs."""
    kind = request.GET.get("kind", "")
    state = STATES_OF_JOBS.get(request.GET.get("state", ""), "")
    query = {"kind": kind if kind in Run.Kind.values else "runs"} | ({"state": state} if state else {})
    return redirect(f"{reverse('jobs', args=[request.tenant.id])}?{urlencode(query)}")


def is_run_open(run: Run) -> bool:
    """Return whether the run is queued or running."""
    return run.state in (Run.State.QUEUED, Run.State.RUNNING)


@operator_required("operator")
@tenant_required
@require_POST
def run_retry(request: HtmxRequest, run_id: UUID) -> HttpResponseBase:
    """Retry a failed run."""
    try:
        with tenant_scope(request.tenant.id):
            row = Run.objects.for_tenant(request.tenant.id).with_id(run_id).first()
            if row is None:
                raise Http404
            run = retry_compaction_run(run=row, by=operator_actor(request.operator), now=timezone.now())
    except PlatformError as error:
        flash_error(request, error.detail)
    else:
        add_flash(request, "Job queued again.")
        watch_job(request, run.kind, run.pk)
    return redirect("jobs", request.tenant.id)


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def partition_roll_ups(request: HtmxRequest) -> HttpResponseBase:
    """The latest roll-ups of a partition; a POST regenerates its summary of one style."""
    place = PartitionForm(request.POST if request.method == "POST" else request.GET)
    if not place.is_valid():
        raise Http404
    path = place.cleaned_data["partition"]
    with tenant_scope(request.tenant.id):
        partition = Partition.objects.for_tenant(request.tenant.id).at([path]).first()
        if partition is None:
            raise Http404
        if request.method == "POST":
            _request_roll_up(request, partition)
        found = roll_up_list_context(request.tenant.id, path)
    if wants_fragment(request):
        return render_page(request, "compaction/pipeline/_roll_ups.html", {"path": path, **found})
    query = urlencode({"partition": path})
    return redirect(f"{reverse('partitions', args=[request.tenant.id])}?{query}#roll-ups")


def roll_up_list_context(tenant_id: UUID, path: str) -> dict[str, Any]:
    """Return the template context of a partition's roll-ups; inside a scope."""
    found = list(Run.objects.for_tenant(tenant_id).of_partition(path).newest_first()[:ROLL_UPS_SHOWN_MAX])
    return {
        "roll_ups": found,
        "is_unfinished": any(map(is_run_open, found)),
        "styles": PartitionSummary.Style.values,
    }


def _request_roll_up(request: HtmxRequest, partition: Partition) -> None:
    style = request.POST.get("style", "")
    try:
        with tenant_scope(request.tenant.id):
            run = request_roll_up(
                partition=partition, style=style, by=operator_actor(request.operator), now=timezone.now()
            )
    except PlatformError as error:
        flash_error(request, error.detail)
    else:
        add_flash(request, f"Regenerating the {style} summary.")
        watch_job(request, run.kind, run.pk)
