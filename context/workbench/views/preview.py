"""The context workbench: what an agent would read and why, what is excluded, and the difference to the previous run."""

from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urldefrag, urlencode, urlsplit
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.urls import reverse
from django.utils import timezone
from django_htmx.http import push_url, replace_url

from context.assembly.diff import snapshot_recorded_at
from context.assembly.orchestrator import assemble_context
from context.assembly.sources import ContextCaller
from context.models import GoldenQuestion, Receipt
from context.profiles.budget_profiles import (
    VERSION_MARK,
    current_budget_profile,
    current_budget_profiles,
    referenced_budget_profile,
)
from context.profiles.scoring_profiles import listed_scoring_profiles, resolve_scoring_profile
from context.receipts.request_body import curl_command, request_body
from context.receipts.results import AssembledContext, ContextRequest
from context.receipts.storing import read_receipt
from context.services.assembly.model_catalog import DEFAULT_MODEL, load_catalog
from context.workbench.forms import SLIDER_MAX_TOKENS, SLIDER_STEP_TOKENS, PreviewForm
from context.workbench.long_queries import QUERY_ID, typed_inputs
from context.workbench.preview import Preview, build_preview
from context.workbench.preview_diff import PreviewDiff
from context.workbench.saved_questions import demo_questions, recent_questions
from memories.models import Partition, Snapshot
from memories.search.browsing import find_memories_by_id_or_text
from memories.search.queries.shared_results import shared_results
from memories.tenancy.audit import record_shown
from memories.tenancy.exceptions import NotFound, PlatformError
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_of, tenant_page
from memories.tenancy.views.page_actions import by_operator, errors_on_form
from memory_platform.web.htmx import HtmxRequest, current_page_path, wants_fragment
from memory_platform.web.numerals import version_label, versioned_name
from memory_platform.web.rendering import WHOLE_RESULT_PARAMETER, loads_result_later, render_page

SLIDER = {"step": SLIDER_STEP_TOKENS, "max": SLIDER_MAX_TOKENS}
RECEIPTS_OFFERED_MAX, SNAPSHOTS_OFFERED_MAX, FOCI_OFFERED_MAX = 20, 50, 8
#: Query parameters that are not inputs of a run.
NOT_OF_A_RUN = ("before", "against", "receipt", "snapshot", "item", "memory", WHOLE_RESULT_PARAMETER)
#: Parameters whose change adds no entry to the browser history.
NOT_A_STEP = ("max_tokens", "before", WHOLE_RESULT_PARAMETER)
#: Parameters that a reset keeps: the query and its scope, not the settings.
_KEPT = ("query", QUERY_ID, "partition", "exact", "focus_memory", "focus_summary", "as_of")
FIELDS_OF_FOCUS = {"focus.memory_id": "focus_memory", "focus.summary_id": "focus_summary", "focus": "focus_memory"}
PREVIEW_FIELDS = {**FIELDS_OF_FOCUS, "since.context_id": "receipt", "since.snapshot": "snapshot", "render": "style"}


@tenant_page("viewer")
def context_preview(request: HtmxRequest) -> HttpResponseBase:
    """What an agent would read, and why. Changes nothing."""
    form = PreviewForm(typed_inputs(request.tenant.id, request.GET) or None)
    page: dict[str, Any] = {"section": "context-preview", "form": form, "before": request.GET.get("before", "")}
    if form.is_bound and form.is_valid():
        with errors_on_form(form, PREVIEW_FIELDS):
            page |= {"is_coming": True} if loads_result_later(request) else _answer(request, form)
    if not wants_fragment(request):
        with tenant_scope(request.tenant.id):
            page |= _offers(request, form)
        models = [name for family in load_catalog().families for name in family.names]
        page |= {"models": models, "default_model": DEFAULT_MODEL, "slider": SLIDER}
    response = render_page(request, "context/workbench/context_preview.html", page, fragment="fragment", form=form)
    return _at_own_address(request, response) if wants_fragment(request) else response


def _offers(request: HtmxRequest, form: PreviewForm) -> dict[str, Any]:
    tenant_id = request.tenant.id
    budgets = [(row.name, row.name) for row in current_budget_profiles(tenant_id)]
    return {
        "profile": current_budget_profile(tenant_id),
        "budget_profiles": with_selected(budgets, form["budget_profile"].value()),
        "scoring_profiles": with_selected(scoring_choices(tenant_id), form["profile"].value()),
        "partitions": Partition.objects.for_tenant(tenant_id).offered_paths(),
        "receipts": Receipt.objects.for_tenant(tenant_id).newest_names(RECEIPTS_OFFERED_MAX),
        "snapshots": list(Snapshot.objects.for_tenant(tenant_id).newest_first()[:SNAPSHOTS_OFFERED_MAX]),
        "suggestions": recent_questions(tenant_id),
        "demo_questions": demo_questions(request.tenant.name),
    }


def _answer(request: HtmxRequest, form: PreviewForm) -> dict[str, Any]:
    """Return the context of the form, and how it differs from what it is compared with."""
    if form.searched_focus:
        return _choice_of_focus(request, form.searched_focus)
    now, fields = timezone.now(), form.cleaned_data
    with shared_results():
        preview = operator_preview_request(request, form.to_request(), now)
        comparison = _comparison(request, form, preview, own := preview_query_string(request.GET), now)
    keeps = fields["before"] and fields["against"] == "keep"
    return {
        "preview": preview,
        "window": preview.window(fields["directive"] or 0),
        "before": fields["before"] if keeps else own,
        "query": own,
        "reset_query": urlencode({name: value for name, value in request.GET.items() if name in _KEPT and value}),
        "golden": _golden(request, form, own),
        "names_version": VERSION_MARK in fields["profile"] + fields["budget_profile"],
        "curl": curl_command(request_body(preview.context.request), request.build_absolute_uri(reverse("api-context"))),
        **comparison,
    }


def _comparison(request: HtmxRequest, form: PreviewForm, preview: Preview, own: str, now: datetime) -> dict[str, Any]:
    """Return the difference to the context that the form names, with its title and URL; empty if there is none.

    Raises `NotFound` for an unknown receipt or snapshot.
    """
    fields, tenant_id = form.cleaned_data, request.tenant.id
    named: dict[str, Any]
    recorded_at = None
    match fields["against"]:
        case "nothing":
            return {}
        case "receipt":
            earlier: Preview | None = _receipt_preview(request, fields["receipt"])
            address = reverse("receipt", args=[tenant_id, fields["receipt"]])
            named = {"title": "vs receipt", "address": address}
        case "snapshot":
            moment = snapshot_recorded_at(fields["snapshot"], tenant_id)
            earlier = operator_preview_request(request, replace(form.to_request(), moment=moment), now)
            recorded_at = moment.at if moment else None
            named = {"title": f"vs snapshot {fields['snapshot']}", "address": ""}
        case _:
            before = fields["before"]
            earlier = _run_before(request, before, now) if before and before != own else None
            # Collapsed, and with space from the first run on, so that the page does not jump while a budget moves.
            named = {"title": "vs previous run", "address": f"?{before}", "is_folded": True}
    if earlier is None:
        return {"has_no_earlier_run": True}
    return {"earlier": earlier, "change": PreviewDiff(earlier, preview, recorded_at), "versus": named}


def _receipt_preview(request: HtmxRequest, receipt_id: UUID) -> Preview:
    tenant_id = request.tenant.id
    try:
        with tenant_scope(tenant_id):
            stored = read_receipt(tenant_id=tenant_id, receipt_id=receipt_id, reach="")
    except NotFound as error:
        raise NotFound(error.code, error.detail, "since.context_id") from error
    record_shown("read_context", "receipt", receipt_id, tenant_id=tenant_id, **by_operator(request))
    return build_preview(stored.context, tenant_id)


def _run_before(request: HtmxRequest, query_string: str, now: datetime) -> Preview | None:
    """Return the run before, from its inputs and current data; None if they are no longer valid."""
    form = PreviewForm(typed_inputs(request.tenant.id, QueryDict(query_string)))
    if not form.is_valid():
        return None
    try:
        return operator_preview_request(request, form.to_request(), now)
    except PlatformError:
        return None


def _choice_of_focus(request: HtmxRequest, words: str) -> dict[str, Any]:
    """Return the memories that match the words, each with the query string that makes it the focus."""
    with tenant_scope(request.tenant.id):
        found = find_memories_by_id_or_text(request.tenant.id, words, count=FOCI_OFFERED_MAX, **by_operator(request))
    inputs, foci = request.GET.copy(), []
    for memory in found:
        inputs["focus_memory"] = str(memory.pk)
        foci.append((memory, inputs.urlencode()))
    return {"foci": foci, "words": words}


def _golden(request: HtmxRequest, form: PreviewForm, own: str) -> dict[str, Any] | None:
    """Return the inputs of the golden-question button; None without a question or without permission."""
    text = form.cleaned_data["query"].strip()
    if not text or not request.operator.can_edit:
        return None
    partition, as_of = form.cleaned_data["partition"], form.cleaned_data["as_of"]
    with tenant_scope(request.tenant.id):
        rows = GoldenQuestion.objects.for_tenant(request.tenant.id).not_removed().with_question(text, partition, as_of)
        known = rows.with_evidence(timezone.now()).first()
    values = {"text": text, "partition": partition, "as_of": "" if as_of is None else as_of.isoformat(), "back": own}
    values["max_tokens"] = form.cleaned_data["max_tokens"] or ""
    return values | ({"id": known.pk, "question": known} if known else {})


def preview_query_string(query: QueryDict) -> str:
    """Return the inputs of a run as a query string, without what it is compared with."""
    inputs = query.copy()
    for name in NOT_OF_A_RUN:
        inputs.pop(name, None)
    return inputs.urlencode()


def operator_caller(request: HtmxRequest, now: datetime | None = None) -> ContextCaller:
    """Return the operator, who reaches the whole tenant, as the caller of a context, by default at this time."""
    tenant, by = tenant_of(request), operator_actor(request.operator)
    return ContextCaller(tenant.pk, by, now or timezone.now(), revision=tenant.settings_revision)


def operator_preview_request(request: HtmxRequest, context_request: ContextRequest, now: datetime) -> Preview:
    """Return the preview for an operator: of the whole tenant, also with any version of a profile."""
    return build_preview(assemble_operator_preview(request, context_request, now), request.tenant.id)


def assemble_operator_preview(request: HtmxRequest, context_request: ContextRequest, now: datetime) -> AssembledContext:
    """Return the context of `operator_preview_request`, without its rows."""
    preview = replace(allow_any_version(request, context_request), preview=True)
    return assemble_context(preview, operator_caller(request, now))


def allow_any_version(request: HtmxRequest, context_request: ContextRequest) -> ContextRequest:
    """Return the request with the numbers of the scoring profile, in any state, and of the budget version it names."""
    changes: dict[str, Any] = {}
    tenant_id, name, budget = request.tenant.id, context_request.profile, context_request.budget_profile
    if not name and VERSION_MARK not in budget:
        return context_request
    with tenant_scope(tenant_id):
        if name:
            path = context_request.partition or ""
            scoring = resolve_scoring_profile(tenant_id, name, path, None, allow_drafts=True)
            changes |= {"profile": "", "scoring": scoring}
        if VERSION_MARK in budget:
            changes |= {"budget_profile": "", "draft": referenced_budget_profile(tenant_id, budget)}
    return replace(context_request, **changes)


def _at_own_address(request: HtmxRequest, response: HttpResponse) -> HttpResponse:
    """Set the browser's URL: a moved slider replaces the history entry, any other change adds one.

    A fragment that a page loads for its own URL changes nothing; that URL may contain an anchor.
    """
    address = request.get_full_path()
    if urldefrag(current_page_path(request)).url == address:
        return response
    is_only_the_budget = _without_budget(address) == _without_budget(current_page_path(request))
    return replace_url(response, address) if is_only_the_budget else push_url(response, address)


def _without_budget(address: str) -> dict[str, list[str]]:
    return {name: values for name, values in parse_qs(urlsplit(address).query).items() if name not in NOT_A_STEP}


def scoring_choices(tenant_id: UUID) -> list[tuple[str, str]]:
    """Return the scoring profiles of the form: active ones by name, others by name and newest version."""
    rows = [(row.name, row.version, row.is_active) for row in listed_scoring_profiles(tenant_id)]
    return [
        (name, name) if is_active else (f"{name}{VERSION_MARK}{version}", versioned_name(name, version))
        for name, version, is_active in rows
    ]


def with_selected(choices: list[tuple[str, str]], *selected: str | None) -> list[tuple[str, str]]:
    """Return the choices and the selected profiles that are not among them: other versions, or drafts by name alone."""
    known = {value for value, _ in choices}
    others = [value for value in dict.fromkeys(selected) if value and value not in known]
    return [*choices, *((value, version_label(value.replace(VERSION_MARK, " "))) for value in others)]
