"""Shared by the views of one review: the page, and a decision with its possible results."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from compaction.models import Compaction, CompactionPrompt
from compaction.pipeline.summarisers import has_model
from compaction.review.forms import ReasonForm, RegenerateForm, ReviewPlaceForm, SummaryTextForm
from compaction.review.queries import ReviewChange, last_review_change, read_queue_place
from compaction.review.review_page import read_review
from compaction.services.pipeline.prompts import PROMPT_VERSION
from memories.tenancy.exceptions import Conflict, NotFound, PlatformError
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.views.page_actions import by_operator
from memory_platform.web.flash_messages import FlashLink, add_flash
from memory_platform.web.forms import PlatformForm
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.numerals import counted
from memory_platform.web.rendering import render_page

PROMPTS_OFFERED_MAX = 50


@dataclass(frozen=True)
class Refusal:
    """Why a decision was refused, what has changed since, and the entered text, which the page keeps."""

    detail: str
    change: ReviewChange | None = None
    typed: str = ""


@dataclass(frozen=True)
class RefusedForms:
    """Invalid forms to render again."""

    text: SummaryTextForm | None = None
    reason: PlatformForm | None = None
    again: RegenerateForm | None = None
    refusal: Refusal | None = None

    @property
    def status(self) -> int:
        is_refused = self.refusal or any(form and form.errors for form in (self.text, self.reason, self.again))
        return HTTPStatus.UNPROCESSABLE_ENTITY if is_refused else HTTPStatus.OK


class ReviewAddress:
    """The query parameters of a review page: order of the queue, last decision, offset of originals."""

    def __init__(self, request: HtmxRequest) -> None:
        form = ReviewPlaceForm(request.GET)
        form.is_valid()
        self.tenant_id = request.tenant.id
        self.order: str = form.cleaned_data.get("order", "")
        self.last: UUID | None = form.cleaned_data.get("last")
        offset = request.GET.get("from", "")
        self.offset = int(offset) if offset.isdecimal() and len(offset) < 8 else 0

    def query(self, **changes: object) -> str:
        """Return a query string with the order and `changes`, with its question mark."""
        fields = {"order": self.order, **changes}
        query = urlencode({name: value for name, value in fields.items() if value})
        return f"?{query}" if query else ""

    @property
    def own_query(self) -> str:
        """The query string of this page, for its forms."""
        return self.query(last=self.last, **{"from": self.offset})

    def of(self, compaction_id: UUID | None, **changes: object) -> str:
        """Return the URL of another review, or of the queue."""
        name, ids = ("reviews", []) if compaction_id is None else ("compaction", [compaction_id])
        return reverse(name, args=[self.tenant_id, *ids]) + self.query(**changes)


Done = TypeVar("Done")


def get_compaction_or_404(request: HtmxRequest, compaction_id: UUID) -> Compaction:
    """Return the row with its titled session; inside a scope. Raises `Http404`."""
    rows = Compaction.objects.for_tenant(request.tenant.id).with_titled_sessions()
    row: Compaction = get_object_or_404(rows, pk=compaction_id)
    return row


def perform_decision(request: HtmxRequest, compaction_id: UUID, action: Callable[..., Done], **values: Any) -> Done:
    """Run the action in the tenant's scope. Raises `Http404`, or `PlatformError` as the action does."""
    try:
        with tenant_scope(request.tenant.id):
            row = get_compaction_or_404(request, compaction_id)
            return action(compaction=row, **values, **by_operator(request))
    except NotFound as error:
        raise Http404 from error


def render_refusal(
    request: HtmxRequest, compaction_id: UUID, error: PlatformError, *, typed: str = "", **forms: Any
) -> HttpResponse:
    """Render the review with the refusal; for a conflict with the change that caused it. `forms` are `RefusedForms`."""
    change = None
    if isinstance(error, Conflict):
        with tenant_scope(request.tenant.id):
            row = get_compaction_or_404(request, compaction_id)
            change = last_review_change(row, reader_id=str(request.operator.user.pk))
    refusal = Refusal(error.detail, change, typed)
    return render_review(request, compaction_id, RefusedForms(refusal=refusal, **forms))


def decide_and_respond(
    request: HtmxRequest,
    compaction_id: UUID,
    action: Callable[..., Compaction],
    text: str | Callable[[Compaction], str],
    *,
    form: PlatformForm | None = None,
    undo: str = "",
    link: FlashLink | None = None,
    refuse: Callable[[PlatformError], HttpResponseBase] | None = None,
    should_continue: bool = False,
) -> HttpResponseBase:
    """Decide and redirect: to the same review, or with `should_continue` to the next one, which offers undo.

    The action gets the fields of the `form`. `refuse` renders an error differently from a refusal of the whole page.
    """
    if form is not None and not form.is_valid():
        return render_review(request, compaction_id, RefusedForms(reason=form))
    values = form.cleaned_data if form else {}
    address = ReviewAddress(request)
    with tenant_scope(request.tenant.id):
        place = read_queue_place(request.tenant.id, compaction_id, order=address.order)
    try:
        row = perform_decision(request, compaction_id, action, **values)
    except PlatformError as error:
        if refuse is not None:
            return refuse(error)
        return render_refusal(request, compaction_id, error, typed=values.get("reason", ""), reason=form)
    undo_url = reverse(undo, args=[request.tenant.id, compaction_id]) if undo else ""
    add_flash(request, text if isinstance(text, str) else text(row), undo_url=undo_url, link=link)
    next_address = address.of(place.following, last=compaction_id) if should_continue else address.of(compaction_id)
    return HttpResponseClientRedirect(next_address) if wants_fragment(request) else redirect(next_address)


def render_review(request: HtmxRequest, compaction_id: UUID, filled: RefusedForms | None = None) -> HttpResponse:
    """The whole page, or its body for htmx; with forms that were refused a 422."""
    filled = filled or RefusedForms()
    address = ReviewAddress(request)
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        row = get_compaction_or_404(request, compaction_id)
        review = read_review(row, offset=address.offset)
        prompts = list(CompactionPrompt.objects.for_tenant(tenant_id).newest_first()[:PROMPTS_OFFERED_MAX])
        place = read_queue_place(tenant_id, compaction_id, order=address.order)
        last = _last_decided(address)
    # With a line break after the text, text added at the end starts a new sentence.
    text = {"text": f"{row.summary_text}\n", "edit_version": row.edit_version}
    page: dict[str, Any] = {
        "section": "reviews",
        "compaction": row,
        "session": row.session,
        "review": review,
        "may_edit": request.operator.can_edit and "edit" in review.allowed,
        "may_strike": request.operator.can_edit and "strike" in review.allowed,
        "swap_url": reverse("compaction-swap", args=[tenant_id, compaction_id]) + address.own_query,
        "place": place,
        "previous_address": place.previous and address.of(place.previous, last=address.last),
        "next_address": place.next and address.of(place.next, last=address.last),
        "query": address.own_query,
        "earlier_query": address.query(last=address.last, **{"from": review.previous_offset or 0}) or "?",
        "later_query": address.query(last=address.last, **{"from": review.next_offset or 0}),
        "queue_address": address.of(None),
        "last": last,
        "form": filled.text or SummaryTextForm(initial=text),
        "reason": filled.reason or ReasonForm(),
        "again": filled.again or RegenerateForm(),
        "refusal": filled.refusal,
        "has_model": has_model(),
        "prompt_versions": [*(prompt.version for prompt in prompts), PROMPT_VERSION],
        "has_keys": request.COOKIES.get("keys") != "off",
    }
    return render_page(request, "compaction/review/compaction.html", page, fragment="body", status=filled.status)


def respond_with_review(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """The review for htmx; otherwise a redirect to it."""
    if wants_fragment(request):
        return render_review(request, compaction_id)
    return redirect(ReviewAddress(request).of(compaction_id))


def describe_summary(row: Compaction, done: str = "Saved") -> str:
    """Return the sentence that reports a changed summary."""
    kept, missing = (len(row.retention.get(name, [])) for name in ("kept", "missing"))
    tokens, facts = counted(row.summary_token_count, "token", "tokens"), counted(kept + missing, "fact", "facts")
    return f"{done}: {tokens}, {kept} of {facts} kept."


def _last_decided(address: ReviewAddress) -> Compaction | None:
    """Return the compaction decided on before this page, if one click can undo it."""
    if address.last is None:
        return None
    rows = Compaction.objects.for_tenant(address.tenant_id).with_id(address.last)
    state = Compaction.State
    last: Compaction | None = rows.in_state(state.APPLIED, state.REJECTED).with_sessions().first()
    return last
