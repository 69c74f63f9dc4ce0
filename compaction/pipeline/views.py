"""Jobs and prompt: compact or simulate a session, retry a run, roll up a partition, edit the prompt of summaries."""

from http import HTTPStatus
from itertools import islice
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone

from compaction.models import Run
from compaction.pipeline.actions import request_compaction, retry_compaction_run, roll_back_prompt, save_prompt
from compaction.pipeline.forms import PromptForm
from compaction.pipeline.plans import WHY_NOTHING, plan_session, proposed_compaction
from compaction.pipeline.policies import session_policy
from compaction.pipeline.prompt_trial import PromptTrial, trial_sessions, try_prompt
from compaction.pipeline.prompt_versions import current_prompt, stored_prompt_versions
from compaction.pipeline.session_rows import pressure_parts, read_all_turns
from compaction.pipeline.summarisers import has_model
from compaction.rollups.actions import request_roll_up
from compaction.services.sessions.pressure import planning_reserve
from compaction.services.sessions.session_budget import head_marker_tokens
from compaction.services.simulation.simulator import simulate_session
from compaction.sessions.charts import before_after, simulation_chart
from compaction.sessions.views import get_session_or_404
from compaction.simulation.forms import SimulationForm, simulation_form_values
from context.services.profiles.compaction_policy import CompactionPolicy, problems_of_policy
from memories.models import Partition, PartitionSummary
from memories.partitions.forms import PartitionForm
from memories.services.store.text_diff import diff_words, near_changes
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import shown_state, tenant_page
from memories.tenancy.views.page_actions import (
    by_operator,
    errors_as_flash,
    errors_on_form,
    missing_is_404,
    perform,
    tenant_change,
)
from memory_platform.web.flash_messages import add_flash, watch_job
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.numerals import whole_number
from memory_platform.web.rendering import render_page

ROLL_UPS_SHOWN_MAX = 5


@tenant_page(to_change="operator")
def run_retry(request: HtmxRequest, run_id: UUID) -> HttpResponseBase:
    """Retry a failed run."""
    with tenant_change(request):
        row = get_object_or_404(Run.objects.for_tenant(request.tenant.id), pk=run_id)
        _flash_run(request, retry_compaction_run(run=row, **by_operator(request)), "Job queued again.")
    return redirect("jobs", request.tenant.id)


@tenant_page("viewer", to_change="operator")
def partition_roll_ups(request: HtmxRequest) -> HttpResponseBase:
    """The latest roll-ups of a partition; a POST regenerates its summary of one style."""
    place = PartitionForm(request.POST if request.method == "POST" else request.GET)
    if not place.is_valid():
        raise Http404
    path = place.cleaned_data["partition"]
    with tenant_scope(request.tenant.id):
        partition = get_object_or_404(Partition.objects.for_tenant(request.tenant.id).at([path]))
        if request.method == "POST":
            _request_roll_up(request, partition)
        page = roll_up_list_context(request.tenant.id, path)
    if wants_fragment(request):
        return render_page(request, "compaction/pipeline/_roll_ups.html", {"path": path, **page})
    return redirect(reverse("partitions", args=[request.tenant.id], query={"partition": path}, fragment="roll-ups"))


def roll_up_list_context(tenant_id: UUID, path: str) -> dict[str, Any]:
    """Return the template context of a partition's roll-ups; inside a scope."""
    rows = list(Run.objects.for_tenant(tenant_id).of_partition(path).newest_first()[:ROLL_UPS_SHOWN_MAX])
    return {
        "roll_ups": rows,
        "is_unfinished": any(row.state in (Run.State.QUEUED, Run.State.RUNNING) for row in rows),
        "styles": PartitionSummary.Style.values,
    }


def _request_roll_up(request: HtmxRequest, partition: Partition) -> None:
    style = request.POST.get("style", "")
    with tenant_change(request):
        run = request_roll_up(partition=partition, style=style, **by_operator(request))
        _flash_run(request, run, f"Regenerating the {style} summary.")


def _flash_run(request: HtmxRequest, run: Run, text: str) -> None:
    add_flash(request, text)
    watch_job(request, run.kind, run.pk)


@tenant_page("viewer", to_change="operator")
def session_compact(request: HtmxRequest, session_id: UUID) -> HttpResponseBase:
    """The dry run of a compaction; a POST requests it."""
    if request.method != "POST":
        return _dry_run(request, session_id)
    with tenant_change(request):
        run = request_compaction(session=get_session_or_404(request, session_id), **by_operator(request))
        _flash_run(request, run, "Compaction started. You will be notified when it is done.")
        return redirect("session", request.tenant.id, session_id)
    return _dry_run(request, session_id, status=HTTPStatus.UNPROCESSABLE_ENTITY)


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
            pressure_parts(session),
            window=session.max_context_tokens,
            head_tokens=head_marker_tokens(session.model),
        ),
        "reason": WHY_NOTHING.get(planned.plan.reason, ""),
    }
    return render_page(request, "compaction/pipeline/session_compact.html", page, status=status)


@tenant_page("viewer")
def session_simulate(request: HtmxRequest, session_id: UUID) -> HttpResponseBase:
    """Simulate the session with the settings in the URL; nothing is written."""
    with tenant_scope(request.tenant.id):
        session = get_session_or_404(request, session_id)
        policy = session_policy(session)
        turns = read_all_turns(session)
    own = simulation_form_values(policy, session.max_context_tokens)
    form = SimulationForm(own | request.GET.dict())
    page: dict[str, Any] = {"section": "sessions", "session": session, "form": form, "turns": len(turns)}
    if form.is_valid():
        numbers = form.numbers()
        for problem in problems_of_policy(numbers):
            form.add_error(problem.field, problem.detail)
    if not form.errors:
        tried, window = CompactionPolicy.of(policy.as_record() | numbers), form.cleaned_data["window"]
        done = simulate_session(
            turns,
            tried,
            window,
            directive_tokens=session.directive_tokens,
            reserved_tokens=planning_reserve(window),
            price_per_million=form.cleaned_data["price"],
        )
        page |= {"simulation": done, "chart": simulation_chart(done, tried, window), "window": window}
    template = "compaction/simulation/session_simulate.html"
    return render_page(request, template, page, fragment="fragment", form=form)


_VERSIONS_MAX = 30


@tenant_page("admin", to_change="admin")
def prompt_page(request: HtmxRequest) -> HttpResponseBase:
    """The active prompt and its versions; a POST saves or tries another text."""
    if request.method != "POST":
        return _page(request, None)
    form = PromptForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    if "try" in request.POST:
        return _try_and_respond(request, form)
    fields = {name: form.cleaned_data[name] for name in ("text", "edited_from")}
    with errors_on_form(form):
        saved = perform(request, save_prompt, **fields)
        add_flash(request, f"Version {saved.version} is active.")
        return redirect("prompts", request.tenant.id)
    return _page(request, form)


def _try_and_respond(request: HtmxRequest, form: PromptForm) -> HttpResponse:
    session_id, text = form.cleaned_data["session"], form.cleaned_data["text"]
    trial = None
    if session_id is None:
        form.add_error("session", "Select a session for the test.")
    else:
        with errors_on_form(form, {"": "session", "session_id": "session"}):
            trial = try_prompt(tenant_id=request.tenant.id, session_id=session_id, text=text, now=timezone.now())
    return _page(request, form, trial)


@tenant_page(to_change="admin", state="edited_from")
def prompt_roll_back(request: HtmxRequest, version: int) -> HttpResponseBase:
    """Make the text of an earlier version the active one again."""
    seen = whole_number(shown_state(request, "edited_from"))
    with errors_as_flash(request), missing_is_404():
        saved = perform(request, roll_back_prompt, version=version, edited_from=seen)
        add_flash(request, f"Version {version} restored as version {saved.version}.")
    return redirect("prompts", request.tenant.id)


def _page(request: HtmxRequest, form: PromptForm | None, trial: PromptTrial | None = None) -> HttpResponse:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        version, text = current_prompt(tenant_id)
        *own, built_in = stored_prompt_versions(tenant_id)
        sessions = trial_sessions(tenant_id)
    newest = islice(zip(own, [*own, built_in][1:], strict=True), _VERSIONS_MAX)
    changes = [(row, near_changes(diff_words(before.text, row.text))) for row, before in newest]
    form = form or PromptForm(initial={"text": text, "edited_from": version})
    page: dict[str, Any] = {
        "section": "prompts",
        "version": version,
        "versions": [*changes, (built_in, ())],
        "sessions": sessions,
        "has_model": has_model(),
        "form": form,
        "trial": trial,
    }
    return render_page(request, "compaction/pipeline/prompts.html", page, fragment="body", form=form)
