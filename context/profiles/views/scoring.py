"""The scoring profiles: numbers by version, their weights, and drafts."""

from collections import defaultdict
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from context.evaluation.report import evaluation_report, published_evidence_rows
from context.evaluation.runs import DEFAULT_EVALUATION_BUDGETS
from context.evaluation.views.starting import start_evaluation
from context.models import EvaluationRun, GoldenQuestion, ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.actions.scoring_profiles import create_scoring_profile, edit_scoring_profile
from context.profiles.forms import NewProfileForm
from context.profiles.publishing_gate import publishing_gate
from context.profiles.scoring_fields import (
    SCORING_FORM_FIELDS,
    SCORING_NUMBERS,
    ScoringProfileForm,
    scoring_profile_form_values,
    weight_views,
)
from context.profiles.scoring_profiles import listed_scoring_profiles, profile_reference, scoring_profile_versions
from context.profiles.versions import field_title, labelled_changes
from context.profiles.views.effects import try_scoring_profile
from context.profiles.views.operations import active_version, selected_version, version_url
from context.services.profiles.publishing import QUESTIONS_MIN
from context.services.profiles.scoring_profiles import DEFAULT_SCORING_PROFILE_NAME
from context.workbench.saved_questions import saved_questions
from memories.models import AuditEntry
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import errors_as_flash, errors_on_form, missing_is_404, perform
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.numerals import whole_number
from memory_platform.web.rendering import render_page

RUNS_SHOWN_MAX = 10
CHANGES_SHOWN_MAX = 30


@tenant_page("viewer")
def scoring_profiles(request: HtmxRequest) -> HttpResponseBase:
    """Show the built-in profiles and the tenant's own, each with its state and its assignments."""
    return _list_page(request, NewProfileForm(initial={"based_on": DEFAULT_SCORING_PROFILE_NAME}))


def _list_page(request: HtmxRequest, form: NewProfileForm) -> HttpResponse:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        rows = listed_scoring_profiles(tenant_id)
        newest = {row.name: row for row in ScoringProfileVersion.objects.for_tenant(tenant_id).newest()}
        assigned = defaultdict(list)
        for each in ScoringProfileAssignment.objects.for_tenant(tenant_id).active().with_keys().newest_first():
            assigned[each.profile_name].append(each)
    profiles = [
        {
            "row": row,
            "weights": weight_views(row.numbers),
            "newest": newest.get(row.name, row),
            "targets": assigned[row.name],
        }
        for row in rows
    ]
    page = {"section": "scoring-profiles", "form": form, "profiles": profiles}
    return render_page(request, "context/profiles/scoring_profiles.html", page, form=form)


@tenant_page(to_change="operator")
def scoring_create(request: HtmxRequest) -> HttpResponseBase:
    """Create a draft with the numbers of another profile, or of one version of it."""
    form = NewProfileForm(request.POST)
    if form.is_valid():
        name, based_on = form.cleaned_data["name"], form.cleaned_data["based_on"] or DEFAULT_SCORING_PROFILE_NAME
        base, _, version = based_on.partition(" ")
        with errors_on_form(form):
            perform(
                request,
                create_scoring_profile,
                name=name,
                based_on=base,
                based_on_version=whole_number(version) if version else None,
            )
            add_flash(request, f"{name} is a draft. Agents may name it once it is published.")
            return redirect("scoring-profile", request.tenant.id, name)
    return _list_page(request, form)


@tenant_page("viewer", to_change="operator", state="edited_from")
def scoring_profile(request: HtmxRequest, name: str) -> HttpResponseBase:
    """Show one version with its settings and the form that makes a draft of it; the sum is updated with the input."""
    is_post = request.method == "POST"
    with missing_is_404(), tenant_scope(request.tenant.id):
        page = _profile_page(request, name, request.POST.get("edited_from") or request.GET.get("version"))
    base = page["current"]
    is_typed = is_post or "relevance" in request.GET
    typed = (request.POST if is_post else request.GET) if is_typed else scoring_profile_form_values(base.numbers)
    form = page["form"] = ScoringProfileForm(typed)
    if wants_fragment(request):
        return render_page(request, "context/profiles/scoring_profile.html#sum", page)
    if is_post and "try" in request.POST:
        page |= try_scoring_profile(request, base, form)
    elif is_post and form.is_valid():
        with errors_on_form(form, SCORING_FORM_FIELDS):
            changes = form.changes(base.numbers)
            row = perform(request, edit_scoring_profile, name=name, changes=changes, edited_from=base.version)
            is_new = row.version != base.version
            text = f"Version {row.version} is a draft." if is_new else "No differences, so no version was saved."
            add_flash(request, text)
            if "evaluate" in request.POST:
                with errors_as_flash(request):
                    return _evaluate(request, row)
            return redirect(version_url(request, row))
        page["newer_changes"] = labelled_changes(base, page["newest"])
    return render_page(request, "context/profiles/scoring_profile.html", page, form=form)


def _evaluate(request: HtmxRequest, row: ScoringProfileVersion) -> HttpResponseBase:
    """Evaluate a draft on golden questions if there are enough to publish it, else on updated facts."""
    with tenant_scope(request.tenant.id):
        questions = GoldenQuestion.objects.for_tenant(request.tenant.id).not_removed().row_count()
    corpus = EvaluationRun.Corpus.GOLDEN if questions >= QUESTIONS_MIN else EvaluationRun.Corpus.UPDATED_FACTS
    return start_evaluation(request, corpus_kind=corpus, profile=profile_reference(row.name, row.version))


def _profile_page(request: HtmxRequest, name: str, version: str | None) -> dict[str, Any]:
    """Return everything but the form; inside a scope."""
    tenant_id = request.tenant.id
    versions = scoring_profile_versions(tenant_id, name)
    current, active = selected_version(versions, version), active_version(versions)
    gate = (
        None if current.published_at or current.is_shipped else publishing_gate(current, active, argument={}, reason="")
    )
    comparison = gate.comparison if gate else current.evidence_comparison
    runs = EvaluationRun.objects.for_tenant(tenant_id).proving_numbers(current.numbers).newest_first()
    assignments = ScoringProfileAssignment.objects.for_tenant(tenant_id).active().of_profile(name)
    changes = AuditEntry.objects.for_tenant(tenant_id).about_any("scoring_profile", [name]).newest_first()
    shown = list(runs.without_details()[:RUNS_SHOWN_MAX])
    report = evaluation_report(shown[0]) if shown else None
    questions, known = saved_questions(tenant_id, request.tenant.name, now=timezone.now())
    bases = {f"{row.name} {row.version}": row for row in versions}
    return {
        "section": "scoring-profiles",
        "current": current,
        "active_version": active,
        "newest": versions[0],
        "has_former": current.is_active and any(row.published_at and not row.is_active for row in versions),
        "versions": [{"row": row, "labelled": labelled_changes(bases.get(row.based_on), row)} for row in versions],
        "weights": weight_views(current.numbers),
        "numbers": [(field_title(field), field, current.numbers[field]) for field in SCORING_NUMBERS],
        "gate": gate,
        "comparison": comparison,
        "lines": published_evidence_rows(comparison) if comparison else [],
        "runs": shown,
        "budgets": DEFAULT_EVALUATION_BUDGETS,
        "questions_min": QUESTIONS_MIN,
        "table": report.tables[0] if report else None,
        "targets": list(assignments.with_keys().newest_first()),
        "changes": list(changes[:CHANGES_SHOWN_MAX]),
        "new_form": NewProfileForm(initial={"based_on": f"{name} {current.version}"}),
        "questions": questions,
        "known": known,
    }
