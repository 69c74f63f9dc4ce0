"""How pages start an evaluation."""

from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import redirect

from context.evaluation.actions.evaluations import request_baseline, request_evaluation
from context.models import EvaluationRun
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.views.page_actions import by_operator
from memory_platform.web.flash_messages import add_flash, watch_job
from memory_platform.web.htmx import HtmxRequest


def start_evaluation(request: HtmxRequest, **settings: Any) -> HttpResponseBase:
    """Queue an evaluation, and one of the profile in use to compare with; redirect to it. Raises `PlatformError`."""
    with tenant_scope(request.tenant.id):
        operator = by_operator(request)
        run = request_evaluation(tenant_id=request.tenant.id, **settings, **operator)
        baseline = request_baseline(run=run, **operator)
    beside = f" {baseline.profile_name} version {baseline.profile_version} is evaluated as well." if baseline else ""
    return follow_evaluation(request, run, f"Evaluation started.{beside}")


def follow_evaluation(request: HtmxRequest, run: EvaluationRun, text: str) -> HttpResponseBase:
    """Redirect to a run that was started, with a message; tell the operator when it ends."""
    add_flash(request, text)
    watch_job(request, "evaluation", run.pk)
    return redirect("evaluation", request.tenant.id, run.pk)
