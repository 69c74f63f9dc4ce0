"""The page of background jobs and scheduled tasks."""

from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe

from memories.embeddings.status import failed_embedding_backlogs, waiting_embeddings
from memories.models import EmbeddingModel, Memory
from memories.tenancy.access import tenant_required
from memories.tenancy.queries.rows import Backlog
from memories.tenancy.scopes import tenant_scope
from memory_platform.console.forms import JobFilterForm
from memory_platform.console.jobs import is_any_open, read_job_page
from memory_platform.console.schedule import scheduled_tasks
from memory_platform.web.pages import HtmxRequest, operator_required, render_page, wants_fragment
from memory_platform.web.tables import SortColumn, read_table

_COLUMNS = (SortColumn("asked", "created_at", datetime),)
REASONS_SHOWN_MAX = 5


@operator_required("viewer")
@tenant_required
@require_safe
def job_list(request: HtmxRequest) -> HttpResponseBase:
    """List all background jobs, newest first; polls while some are unfinished."""
    form = JobFilterForm(request.GET, label_suffix="")
    page: dict[str, Any] = {"section": "jobs", "form": form}
    is_whole = not wants_fragment(request)
    with tenant_scope(request.tenant.id):
        if form.is_valid():
            fields = form.cleaned_data
            read = partial(read_job_page, request.tenant.id, fields["kind"], fields["state"])
            table = read_table(request, _COLUMNS, read)
            page |= {"table": table, "is_unfinished": is_any_open(table.rows)}
        if is_whole:
            page |= _embedding_queue(request) | {"scheduled": scheduled_tasks()}
    status = HTTPStatus.OK if form.is_valid() else HTTPStatus.UNPROCESSABLE_ENTITY
    template = f"memory_platform/console/jobs.html{'' if is_whole else '#fragment'}"
    return render_page(request, template, page, status=status)


def _embedding_queue(request: HtmxRequest) -> dict[str, Any]:
    """Return the embedding queue: what waits, what failed and why, and the model that a retry uses."""
    tenant_id = request.tenant.id
    failed = failed_embedding_backlogs([tenant_id]).get(tenant_id, Backlog())
    memories = Memory.objects.for_tenant(tenant_id).with_failed_embedding()
    return {
        "waiting": waiting_embeddings([tenant_id]).get(tenant_id, Backlog()),
        "failed": failed,
        "reasons": memories.tally_by_refusal(REASONS_SHOWN_MAX) if failed.count else [],
        "active_model": EmbeddingModel.objects.for_tenant(tenant_id).active().first() if failed.count else None,
    }
