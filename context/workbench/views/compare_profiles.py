"""The contexts of two profiles side by side; nothing is stored or counted."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponseBase
from django.utils import timezone

from context.profiles.budget_profiles import VERSION_MARK, current_budget_profile, current_budget_profiles
from context.profiles.compare_tabs import CONTEXTS, SIDES, compare_tabs
from context.profiles.kinds import BUDGET_KIND
from context.receipts.results import AssembledContext
from context.workbench.forms import SideBySideForm
from context.workbench.long_queries import QUERY_ID, typed_inputs
from context.workbench.preview import build_previews
from context.workbench.preview_diff import PreviewDiff, side_by_side
from context.workbench.saved_questions import demo_questions, recent_questions
from context.workbench.views.preview import (
    FIELDS_OF_FOCUS,
    NOT_OF_A_RUN,
    assemble_operator_preview,
    scoring_choices,
    with_selected,
)
from memories.models import Partition
from memories.search.queries.shared_results import shared_results
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import errors_on_form
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.numerals import version_label
from memory_platform.web.rendering import loads_result_later, render_page

#: Fields of the page's form; every other input of a run is passed on unchanged.
TYPED = ("query", "partition", "max_tokens", "left", "right", "left_budget", "right_budget")
#: Inputs of a single run that a pair of runs does not have.
NOT_OF_A_PAIR = (*NOT_OF_A_RUN, "profile", "budget_profile")


@tenant_page("viewer")
def compare_profiles(request: HtmxRequest) -> HttpResponseBase:
    """Two scoring profiles, and optionally budget profiles, on the same query; each in any version. Changes nothing."""
    is_fragment = wants_fragment(request)
    values = typed_inputs(request.tenant.id, request.GET).items()
    typed = {name: value for name, value in values if isinstance(value, str)}
    page: dict[str, Any] = {"section": "context-preview", "scoring_profiles": []}
    if not (is_fragment and typed.get("right")):
        with tenant_scope(request.tenant.id):
            page["scoring_profiles"] = scoring_choices(request.tenant.id)
    form = page["form"] = SideBySideForm(_both_named(typed, page["scoring_profiles"]))
    is_requested = bool(request.GET.keys() & {"query", QUERY_ID, "partition", "focus_memory", "focus_summary"})
    if form.is_valid() and is_requested:
        page |= {"is_coming": True} if loads_result_later(request) else _answer(request, form)
    page["scoring_profiles"] = with_selected(page["scoring_profiles"], *(form[side].value() for side in SIDES))
    inputs = {name: value for name, value in request.GET.dict().items() if name in (*form.fields, QUERY_ID)}
    page["tabs"] = compare_tabs(request.tenant.id, CONTEXTS, inputs | {side: typed[side] for side in SIDES})
    page["kept"] = [
        (field.name, field.value()) for field in form if field.value() and field.name not in (*TYPED, *NOT_OF_A_PAIR)
    ]
    if not is_fragment:
        with tenant_scope(request.tenant.id):
            page["profile"] = current_budget_profile(request.tenant.id)
            budgets = (form[f"{side}_budget"].value() for side in SIDES)
            page["budget_profiles"] = with_selected(_budget_versions(request.tenant.id), *budgets)
            page["partitions"] = Partition.objects.for_tenant(request.tenant.id).offered_paths()
            page["suggestions"] = recent_questions(request.tenant.id) or demo_questions(request.tenant.name)
    return render_page(request, "context/workbench/profiles_compare.html", page, fragment="fragment", form=form)


def _both_named(typed: dict[str, str], choices: list[tuple[str, str]]) -> dict[str, str]:
    """Return the form's data; a missing side is the run's own profile on the left, another one on the right."""
    typed.setdefault("left", typed.get("profile", ""))
    if not typed.get("right"):
        others = [value for value, _ in choices if value != (typed["left"] or choices[0][0])]
        typed["right"] = others[-1] if others else choices[0][0]
    for side in ("left_budget", "right_budget"):
        typed.setdefault(side, typed.get("budget_profile", ""))
    return typed


def _budget_versions(tenant_id: UUID) -> list[tuple[str, str]]:
    """Return the active budget profiles by name, then other versions."""
    active = current_budget_profiles(tenant_id)
    known = {f"{row.name} {row.version}" for row in active}
    others = [each for each in BUDGET_KIND.compared_versions(tenant_id) if each not in known]
    named = [(row.name, row.name) for row in active]
    return [*named, *((each.replace(" ", VERSION_MARK), version_label(each)) for each in others)]


def _answer(request: HtmxRequest, form: SideBySideForm) -> dict[str, Any]:
    now = timezone.now()
    with shared_results():
        sides = [context for side in ("left", "right") if (context := _side(request, form, side, now))]
        if form.errors:
            return {}
        left, right = build_previews(sides, request.tenant.id, with_excluded=False)
    fields = form.cleaned_data
    own = {name: value for name, value in request.GET.items() if name not in ("left", "right", *NOT_OF_A_PAIR)}
    return {
        "pair": (pair := PreviewDiff(left, right)),
        **side_by_side(pair),
        # as long as both columns, and closed: loaded when it is opened
        "has_table": "table" in request.GET or not wants_fragment(request),
        "open_left": _workbench(own, fields["left"], fields["left_budget"]),
        "open_right": _workbench(own, fields["right"], fields["right_budget"]),
    }


def _side(request: HtmxRequest, form: SideBySideForm, side: str, now: datetime) -> AssembledContext | None:
    if form.errors:
        return None
    names = {"profile": side, "budget_profile": f"{side}_budget"}
    chosen = {name: form.cleaned_data[field] for name, field in names.items()}
    with errors_on_form(form, FIELDS_OF_FOCUS | names):
        side_request = replace(form.to_request(), **chosen, explain=False)
        return assemble_operator_preview(request, side_request, now)
    return None


def _workbench(own: Mapping[str, Any], profile: str, budget_profile: str) -> str:
    run = {name: value for name, value in own.items() if name not in ("left_budget", "right_budget")}
    return urlencode(run | {"profile": profile, "budget_profile": budget_profile})
