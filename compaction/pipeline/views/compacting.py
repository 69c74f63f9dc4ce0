"""Compact a session by hand: dry run and request; simulate another policy."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from compaction.pipeline.actions.compactions import request_compaction
from compaction.pipeline.plans import WHY_NOTHING, plan_session
from compaction.pipeline.policies import session_policy
from compaction.pipeline.session_rows import read_all_turns
from compaction.services.simulation.simulator import simulate_session
from compaction.sessions.charts import before_after, simulation_chart
from compaction.sessions.timeline import proposed_compaction
from compaction.sessions.views import get_session_or_404
from compaction.simulation.forms import SimulationForm, simulation_form_values
from context.services.profiles.compaction_policy import CompactionPolicy, problems_of_policy
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


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def session_compact(request: HtmxRequest, session_id: UUID) -> HttpResponseBase:
    """The dry run of a compaction; a POST requests it."""
    if request.method == "POST":
        return _request(request, session_id)
    return _dry_run(request, session_id)


def _request(request: HtmxRequest, session_id: UUID) -> HttpResponseBase:
    try:
        with tenant_scope(request.tenant.id):
            session = get_session_or_404(request, session_id)
            run = request_compaction(session=session, by=operator_actor(request.operator), now=timezone.now())
    except PlatformError as error:
        flash_error(request, error.detail)
        return _dry_run(request, session_id, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    add_flash(request, "Compaction started. You will be notified when it is done.")
    watch_job(request, run.kind, run.pk)
    return redirect("session", request.tenant.id, session_id)


def _dry_run(request: HtmxRequest, session_id: UUID, *, status: int = HTTPStatus.OK) -> HttpResponse:
    with tenant_scope(request.tenant.id):
        session = get_session_or_404(request, session_id)
        policy = session_policy(session)
        planned = plan_session(session, policy, is_forced=True)
        proposed = proposed_compaction(session)
    page: dict[str, Any] = {
        "section": "sessions",
        "session": session,
        "policy": policy,
        "plan": planned.plan,
        "planned": planned,
        "proposed": proposed,
        "bars": before_after(
            planned.plan,
            planned.turns,
            window=session.max_context_tokens,
            directive_tokens=session.directive_tokens,
            summary_tokens=planned.summary_tokens,
        ),
        "reason": WHY_NOTHING.get(planned.plan.reason, ""),
    }
    return render_page(request, "compaction/pipeline/session_compact.html", page, status=status)


@operator_required("viewer")
@tenant_required
@require_safe
def session_simulate(request: HtmxRequest, session_id: UUID) -> HttpResponseBase:
    """Simulate the session under other numbers, given in the URL; nothing is written."""
    with tenant_scope(request.tenant.id):
        session = get_session_or_404(request, session_id)
        policy = session_policy(session)
        turns = read_all_turns(session)
    own = simulation_form_values(policy, session.max_context_tokens)
    form = SimulationForm(own | request.GET.dict(), label_suffix="")
    page: dict[str, Any] = {"section": "sessions", "session": session, "form": form, "turns": len(turns)}
    if form.is_valid():
        numbers = form.numbers()
        for problem in problems_of_policy(numbers):
            form.add_error(problem.field, problem.detail)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    if not form.errors:
        tried, window = CompactionPolicy.of(policy.as_record() | numbers), form.cleaned_data["window"]
        price = form.cleaned_data["price"]
        directive = session.directive_tokens
        done = simulate_session(turns, tried, window, directive_tokens=directive, price_per_million=price)
        page |= {"simulation": done, "chart": simulation_chart(done, tried, window), "window": window}
    template = (
        "compaction/simulation/session_simulate.html#fragment"
        if wants_fragment(request)
        else "compaction/simulation/session_simulate.html"
    )
    return render_page(request, template, page, status=status)
