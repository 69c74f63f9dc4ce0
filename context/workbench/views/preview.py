"""The context workbench: what an agent would get to read, why, what was left out, and what differs from before."""

from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urldefrag, urlsplit
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django_htmx.http import push_url, replace_url

from context.models import GoldenQuestion, Receipt
from context.profiles.budget_profiles import current_budget_profile, current_budget_profiles
from context.profiles.scoring_profiles import VERSION_MARK, listed_scoring_profiles, resolve_scoring_profile
from context.profiles.views.form_errors import add_error_to_form
from context.receipts.request_body import curl_command, request_body
from context.receipts.results import ContextRequest
from context.services.assembly.model_catalog import DEFAULT_MODEL, load_catalog
from context.workbench.forms import SLIDER_MAX_TOKENS, SLIDER_STEP_TOKENS, PreviewForm
from context.workbench.preview import Preview, demo_questions, preview_context, recent_questions
from context.workbench.views.comparison import preview_comparison
from memories.models import Partition, Snapshot
from memories.search.browsing import find_memories_by_id_or_text
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import (
    WHOLE_RESULT_PARAMETER,
    HtmxRequest,
    current_page_path,
    loads_result_later,
    operator_required,
    render_page,
    wants_fragment,
)

SLIDER = {"step": SLIDER_STEP_TOKENS, "max": SLIDER_MAX_TOKENS}
RECEIPTS_OFFERED_MAX, SNAPSHOTS_OFFERED_MAX, FOCI_OFFERED_MAX = 20, 50, 8
#: What stands in an address beside the inputs of a run.
NOT_OF_A_RUN = ("before", "against", "receipt", "snapshot", "item", WHOLE_RESULT_PARAMETER)
#: What changes without being a step to go back to.
NOT_A_STEP = ("max_tokens", "before", WHOLE_RESULT_PARAMETER)
#: What a reset keeps: the question and where it is asked, not by which numbers.
_ASKED = ("query", "partition", "exact", "focus_memory", "focus_summary", "as_of")
FIELDS_OF_FOCUS = {"focus.memory_id": "focus_memory", "focus.summary_id": "focus_summary", "focus": "focus_memory"}
PREVIEW_FIELDS = {
    **FIELDS_OF_FOCUS,
    "since.context_id": "receipt",
    "since.snapshot": "snapshot",
    "render": "style",
}


@operator_required("viewer")
@tenant_required
@require_safe
def context_preview(request: HtmxRequest) -> HttpResponseBase:
    """What an agent would get to read, and why; changes nothing."""
    form = PreviewForm(request.GET or None, label_suffix="")
    page: dict[str, Any] = {"section": "context-preview", "form": form, "before": request.GET.get("before", "")}
    status = HTTPStatus.OK
    if form.is_bound and form.is_valid():
        try:
            page |= {"is_coming": True} if loads_result_later(request) else _answer(request, form)
        except PlatformError as error:
            add_error_to_form(form, error, PREVIEW_FIELDS)
    if form.errors:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    if wants_fragment(request):
        return _at_own_address(
            request, render_page(request, "context/workbench/context_preview.html#fragment", page, status=status)
        )
    with tenant_scope(request.tenant.id):
        page |= _offers(request)
    page |= {"models": _known_models(), "default_model": DEFAULT_MODEL, "slider": SLIDER}
    return render_page(request, "context/workbench/context_preview.html", page, status=status)


def _offers(request: HtmxRequest) -> dict[str, Any]:
    """What the fields of the form offer; inside a scope."""
    tenant_id = request.tenant.id
    return {
        "profile": current_budget_profile(tenant_id),
        "profiles": current_budget_profiles(tenant_id),
        "scoring_profiles": scoring_choices(tenant_id),
        "partitions": Partition.objects.for_tenant(tenant_id).offered_paths(),
        "receipts": Receipt.objects.for_tenant(tenant_id).newest_names(RECEIPTS_OFFERED_MAX),
        "snapshots": list(Snapshot.objects.for_tenant(tenant_id).newest_first()[:SNAPSHOTS_OFFERED_MAX]),
        "suggestions": recent_questions(tenant_id),
        "demo_questions": demo_questions(request.tenant.name),
    }


def _answer(request: HtmxRequest, form: PreviewForm) -> dict[str, Any]:
    """The context of the form, and how it differs from what it is compared with."""
    if form.searched_focus:
        return _choice_of_focus(request, form.searched_focus)
    preview, fields = operator_preview_request(request, form.wish()), form.cleaned_data
    own = preview_query_string(request.GET)
    keeps = fields["before"] and fields["against"] == "keep"
    return {
        "preview": preview,
        "window": preview.window(fields["directive"] or 0),
        "before": fields["before"] if keeps else own,
        "query": own,
        "reset_query": _only(request.GET, _ASKED),
        "golden": _golden(request, form, own),
        "is_draft": VERSION_MARK in fields["profile"],
        "curl": curl_command(request_body(preview.context.request), request.build_absolute_uri(reverse("api-context"))),
        **preview_comparison(request, form, preview, own, operator_preview_request),
    }


def _choice_of_focus(request: HtmxRequest, words: str) -> dict[str, Any]:
    """Which memories may be meant by words, each with the address that takes it for the focus."""
    with tenant_scope(request.tenant.id):
        found = find_memories_by_id_or_text(request.tenant.id, words, count=FOCI_OFFERED_MAX, now=timezone.now())
    return {"foci": [(memory, _with(request.GET, focus_memory=str(memory.pk))) for memory in found], "words": words}


def _golden(request: HtmxRequest, form: PreviewForm, own: str) -> dict[str, Any] | None:
    """What a button needs to note a memory for this question; None for who may not, and without a question."""
    text = form.cleaned_data["query"].strip()
    if not text or not request.operator.can_edit:
        return None
    partition, as_of = form.cleaned_data["partition"], form.cleaned_data["as_of"]
    with tenant_scope(request.tenant.id):
        rows = GoldenQuestion.objects.for_tenant(request.tenant.id).standing().asking(text, partition, as_of)
        known = rows.with_counts(timezone.now()).first()
        wanted = rows.wanted_ids() if known else {}
    asked = {"text": text, "partition": partition, "asked_at": "" if as_of is None else as_of.isoformat(), "back": own}
    return asked | ({"id": known.pk, "count": known.memory_count, "wanted": wanted.get(known.pk, [])} if known else {})


def preview_query_string(query: QueryDict) -> str:
    """The inputs of a run as a query string, without what it is compared with."""
    inputs = query.copy()
    for name in NOT_OF_A_RUN:
        inputs.pop(name, None)
    return inputs.urlencode()


def _only(query: QueryDict, names: tuple[str, ...]) -> str:
    inputs = query.copy()
    for name in [name for name in inputs if name not in names or not inputs[name]]:
        inputs.pop(name)
    return inputs.urlencode()


def _with(query: QueryDict, **values: str) -> str:
    inputs = query.copy()
    for name, value in values.items():
        inputs[name] = value
    return inputs.urlencode()


def operator_preview_request(request: HtmxRequest, wish: ContextRequest) -> Preview:
    """`wish` as the operator may look at it: the tenant's whole reach, now, by a draft of a scoring profile as well."""
    wish = allow_draft_profile(request, wish)
    return preview_context(
        wish, tenant_id=request.tenant.id, actor=operator_actor(request.operator), now=timezone.now()
    )


def allow_draft_profile(request: HtmxRequest, wish: ContextRequest) -> ContextRequest:
    """The same with the numbers of the scoring profile it names, in whatever state."""
    if not wish.profile:
        return wish
    with tenant_scope(request.tenant.id):
        scoring = resolve_scoring_profile(
            request.tenant.id,
            name=wish.profile,
            partition_path=wish.partition,
            api_key_id=None,
            allow_drafts=True,
        )
    return replace(wish, profile="", scoring=scoring)


def _at_own_address(request: HtmxRequest, response: HttpResponse) -> HttpResponse:
    """Give the state an address: a moved slider replaces the last one, anything else is a step to go back to.

    What a page asks for when it is open is at its address, which may name a place in the page.
    """
    address = request.get_full_path()
    if urldefrag(current_page_path(request)).url == address:
        return response
    is_only_the_budget = _without_budget(address) == _without_budget(current_page_path(request))
    return replace_url(response, address) if is_only_the_budget else push_url(response, address)


def _without_budget(address: str) -> dict[str, list[str]]:
    return {name: values for name, values in parse_qs(urlsplit(address).query).items() if name not in NOT_A_STEP}


def scoring_choices(tenant_id: UUID) -> list[tuple[str, str]]:
    """What may rank a preview: every profile in force by its name, of others exactly the newest version."""
    return [
        (row.name, row.name)
        if row.is_in_force
        else (f"{row.name}{VERSION_MARK}{row.version}", f"{row.name} {row.version}")
        for row in listed_scoring_profiles(tenant_id)
    ]


def _known_models() -> list[str]:
    return [name for family in load_catalog().families for name in family.names]
