"""What pages change: an evaluation that starts, and changes that may be refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from context.evaluation.actions.evaluations import request_baseline, request_evaluation
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.flash_messages import add_flash, flash_error, watch_job
from memory_platform.web.htmx import HtmxRequest


@contextmanager
def tenant_change(request: HtmxRequest) -> Iterator[None]:
    """Run the block in the tenant's scope; on a `PlatformError`, roll back and show the reason on the next page."""
    try:
        with tenant_scope(request.tenant.id):
            yield
    except PlatformError as error:
        flash_error(request, error.detail)


def start_evaluation(request: HtmxRequest, **settings: Any) -> HttpResponseBase:
    """Queue an evaluation, and one of the profile in use to compare with; lead to it. Raises `PlatformError`."""
    with tenant_scope(request.tenant.id):
        by, now = operator_actor(request.operator), timezone.now()
        run = request_evaluation(tenant_id=request.tenant.id, **settings, by=by, now=now)
        baseline = request_baseline(run=run, by=by, now=now)
    beside = f", with one of {baseline.profile_name} {baseline.profile_version} to compare" if baseline else ""
    add_flash(request, f"Evaluation started{beside}.")
    watch_job(request, "evaluation", run.pk)
    return redirect("evaluation", request.tenant.id, run.pk)
