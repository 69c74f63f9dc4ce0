"""Evaluations: the list, a new run, one run with its progress and tables, two runs compared."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect

from context.evaluation.actions.evaluations import (
    cancel_evaluation,
    delete_evaluation,
    request_model_comparison,
    retry_evaluation,
)
from context.evaluation.corpora import COPIED_MEMORIES_MAX
from context.evaluation.forms import EvaluationForm, ModelComparisonForm
from context.evaluation.report import evaluation_report, run_comparison_chart, run_comparison_rows, run_comparison_table
from context.evaluation.views.starting import follow_evaluation, start_evaluation
from context.models import EvaluationRun, GoldenQuestion, ScoringProfileVersion
from context.profiles.scoring_profiles import listed_scoring_profiles
from memories.embeddings.embedders import active_model_name
from memories.embeddings.providers import known_models
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import by_operator, errors_on_form, perform, tenant_change
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page
from memory_platform.web.tables import SortColumn, read_table

_COLUMNS = (SortColumn("requested", "created_at", datetime),)
COMPARED_WITH_MAX = 50


@tenant_page("viewer", to_change="operator")
def evaluations(request: HtmxRequest) -> HttpResponseBase:
    """The runs, newest first, and the form that starts one; polls while one is unfinished."""
    data, files = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    with tenant_scope(request.tenant.id):
        has_golden = GoldenQuestion.objects.for_tenant(request.tenant.id).not_removed().exists()
    # without golden questions, the first choice of the form would be refused
    corpus = EvaluationRun.Corpus.GOLDEN if has_golden else EvaluationRun.Corpus.UPDATED_FACTS
    form = EvaluationForm(data, files, initial={"corpus": corpus})
    if form.is_valid():
        with errors_on_form(form):
            return start_evaluation(request, **form.to_evaluation_settings())
    with tenant_scope(request.tenant.id):
        rows = EvaluationRun.objects.for_tenant(request.tenant.id).without_details()
        table = read_table(request, _COLUMNS, rows.page)
        profiles = listed_scoring_profiles(request.tenant.id)
    page = {"section": "evaluations", "form": form, "profiles": profiles, "table": table}
    page["is_unfinished"] = any(row.is_open for row in table.rows)
    return render_page(request, "context/evaluation/evaluations.html", page, fragment="rows", form=form)


@tenant_page("viewer")
def evaluation(request: HtmxRequest, run_id: UUID) -> HttpResponseBase:
    """One run: its progress, then its tables, its chart, and the comparison with another run."""
    with tenant_scope(request.tenant.id):
        run = _run(request, run_id)
        others = _comparable(request, run)
        other_id = request.GET.get("with", "")
        other = next((row for row in others if str(row.pk) == other_id), None)
        if other_id and other is None:
            raise Http404
        twin = EvaluationRun.objects.for_tenant(request.tenant.id).twin_of(run)
        if not other_id and twin in others:
            other = twin
        page: dict[str, Any] = {"section": "evaluations", "run": run, "others": others, "other": other}
        page["awaited"] = twin if twin and twin.is_open else None
        page["report"] = evaluation_report(run)
        versions = ScoringProfileVersion.objects.for_tenant(request.tenant.id).of_numbers(run.profile_numbers)
        page["draft"] = versions.named(run.profile_name).numbered(run.profile_version).publishable().first()
        if other is not None:
            comparison = page["comparison"] = run_comparison_table(run, other)
            page |= {"pair": run_comparison_rows(run, other, comparison), "chart": run_comparison_chart(run, other)}
    return render_page(request, "context/evaluation/evaluation.html", page, fragment="body")


@tenant_page("viewer", to_change="operator")
def embedding_comparison(request: HtmxRequest) -> HttpResponseBase:
    """The form that compares another embedding model with the active one on the golden questions."""
    with tenant_scope(request.tenant.id):
        active, profiles = active_model_name(request.tenant.id), listed_scoring_profiles(request.tenant.id)
        questions = GoldenQuestion.objects.for_tenant(request.tenant.id).not_removed().count()
    others = [name for name in known_models() if name != active]
    form = ModelComparisonForm(request.POST if request.method == "POST" else None, models=others)
    if form.is_valid():
        with errors_on_form(form):
            run, _ = perform(request, request_model_comparison, **form.cleaned_data)
            return follow_evaluation(request, run, f"Comparison of {run.embedder_model} with {active} started.")
    page = {"section": "embeddings", "form": form, "profiles": profiles, "active": active, "others": others}
    page |= {"questions": questions, "copied_max": COPIED_MEMORIES_MAX}
    return render_page(request, "context/evaluation/embedding_comparison.html", page, form=form)


def _comparable(request: HtmxRequest, run: EvaluationRun) -> list[EvaluationRun]:
    if run.state != EvaluationRun.State.DONE:
        return []
    rows = EvaluationRun.objects.for_tenant(request.tenant.id).in_state(EvaluationRun.State.DONE)
    rows = rows.of_corpus(run.corpus_sha256).without_details().newest_first()
    return [row for row in rows[: COMPARED_WITH_MAX + 1] if row.pk != run.pk]


def _run(request: HtmxRequest, run_id: UUID) -> EvaluationRun:
    run: EvaluationRun = get_object_or_404(EvaluationRun.objects.for_tenant(request.tenant.id), pk=run_id)
    return run


@tenant_page(to_change="operator")
def evaluation_cancel(request: HtmxRequest, run_id: UUID) -> HttpResponseBase:
    """Cancel an unfinished run; it can continue later."""
    with tenant_change(request):
        cancel_evaluation(run=_run(request, run_id), **by_operator(request))
        add_flash(request, "Evaluation cancelled. You can resume it.")
    return redirect("evaluation", request.tenant.id, run_id)


@tenant_page(to_change="operator")
def evaluation_retry(request: HtmxRequest, run_id: UUID) -> HttpResponseBase:
    """Continue a failed or cancelled run."""
    with tenant_change(request):
        return follow_evaluation(
            request, retry_evaluation(run=_run(request, run_id), **by_operator(request)), "Job resumed."
        )
    return redirect("evaluation", request.tenant.id, run_id)


@tenant_page("operator", to_change="operator")
def evaluation_delete(request: HtmxRequest, run_id: UUID) -> HttpResponseBase:
    """Ask for confirmation, then delete a run with its answers."""
    with tenant_scope(request.tenant.id):
        run = _run(request, run_id)
    if request.method != "POST":
        page = {"section": "evaluations", "run": run}
        return render_page(request, "context/evaluation/evaluation_delete.html", page)
    with tenant_change(request):
        delete_evaluation(run=run, **by_operator(request))
        add_flash(request, "Evaluation deleted.")
        return redirect("evaluations", request.tenant.id)
    return redirect("evaluation", request.tenant.id, run_id)
