"""The review of compactions: what waits, one beside its originals, and the decisions about it."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from compaction.actions.compactions import append_missing, approve, edit_summary, regenerate, reject, roll_back
from compaction.forms import OptionalReasonForm, ReasonForm, RegenerateForm, SummaryTextForm
from compaction.models import Compaction, CompactionPrompt
from compaction.review import read_queue, read_review
from compaction.services.prompts import PROMPT_VERSION
from compaction.summarisers import has_model
from memories.access import actor_of, tenant_required
from memories.exceptions import NotFound, PlatformError
from memories.scopes import tenant_scope
from memory_platform.web import HtmxRequest, complain, flash, operator_required, show, wants_fragment, watch


@operator_required("viewer")
@tenant_required
@require_safe
def reviews(request: HtmxRequest) -> HttpResponseBase:
    """Compactions that wait for a decision, and what became of others lately."""
    with tenant_scope(request.tenant.id):
        queue = read_queue(request.tenant.id)
    page = {"section": "reviews", "queue": queue}
    return show(request, "reviews.html#body" if wants_fragment(request) else "reviews.html", page)


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def compaction(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """One compaction: the originals beside the summary, what it keeps and lost; a POST saves another text."""
    if request.method != "POST":
        return _page(request, compaction_id)
    form = SummaryTextForm(request.POST, label_suffix="")
    if not form.is_valid():
        return _page(request, compaction_id, form=form)
    fields = form.cleaned_data
    verb = partial(edit_summary, text=fields["text"], edit_version=fields["edit_version"])
    return _perform(request, compaction_id, verb, _told, form=form)


def _told(row: Compaction) -> str:
    """What a new text takes and keeps."""
    kept, missing = (len(row.retention.get(name, [])) for name in ("kept", "missing"))
    return f"Saved: {row.summary_token_count:,} tokens, {kept} of {kept + missing} facts kept."


@operator_required("operator")
@tenant_required
@require_POST
def compaction_append(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Append one missing fact to the summary, or all of them."""
    chosen = request.POST.getlist("fact")
    return _perform(request, compaction_id, partial(append_missing, facts=chosen or None), _told)


@operator_required("operator")
@tenant_required
@require_POST
def compaction_approve(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Put a proposal into the session's context."""
    form = OptionalReasonForm(request.POST, label_suffix="")
    if not form.is_valid():
        return _page(request, compaction_id, reason=form)
    said = "Approved: the summary stands in the session's context."
    return _perform(request, compaction_id, partial(approve, reason=form.cleaned_data["reason"]), said)


@operator_required("operator")
@tenant_required
@require_POST
def compaction_reject(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Refuse a proposal, saying why."""
    form = ReasonForm(request.POST, label_suffix="")
    if not form.is_valid():
        return _page(request, compaction_id, reason=form)
    verb = partial(reject, reason=form.cleaned_data["reason"])
    return _perform(request, compaction_id, verb, "Rejected: the session stays as it is.")


@operator_required("operator")
@tenant_required
@require_POST
def compaction_regenerate(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Have a proposal made anew, by another model or prompt where they are given."""
    form = RegenerateForm(request.POST, label_suffix="")
    if not form.is_valid():
        return _page(request, compaction_id, again=form)
    fields = form.cleaned_data
    try:
        with tenant_scope(request.tenant.id):
            row = _compaction(request, compaction_id)
            who, now = actor_of(request.operator), timezone.now()
            verb = partial(regenerate, model=fields["model"], prompt_version=fields["prompt_version"])
            run = verb(compaction=row, by=who, now=now)
    except PlatformError as error:
        complain(request, error.detail)
    else:
        flash(request, "A new one is being made; this one stands until then.")
        watch(request, run.kind, run.pk)
    return redirect("compaction", request.tenant.id, compaction_id)


@operator_required("operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def compaction_roll_back(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Asks first; a POST returns the session to what it was before."""
    if request.method == "POST":
        form = OptionalReasonForm(request.POST, label_suffix="")
        if not form.is_valid():
            return _page(request, compaction_id, reason=form)
        said = "Rolled back: the session is exactly what it was before."
        return _perform(request, compaction_id, partial(roll_back, reason=form.cleaned_data["reason"]), said)
    with tenant_scope(request.tenant.id):
        review = read_review(_compaction(request, compaction_id))
    page = {"section": "reviews", "compaction": review.compaction, "review": review}
    return show(request, "compaction_roll_back.html", page)


def _perform(
    request: HtmxRequest,
    compaction_id: UUID,
    verb: Callable[..., Compaction],
    said: str | Callable[[Compaction], str],
    *,
    form: SummaryTextForm | None = None,
) -> HttpResponseBase:
    """Decide; somebody else's earlier decision is told as a message, a refused text at its field."""
    try:
        with tenant_scope(request.tenant.id):
            row = verb(
                compaction=_compaction(request, compaction_id), by=actor_of(request.operator), now=timezone.now()
            )
    except NotFound as error:
        raise Http404 from error
    except PlatformError as error:
        if form is not None:
            form.add_error(error.field if error.field in form.fields else None, error.detail)
            return _page(request, compaction_id, form=form)
        complain(request, error.detail)
    else:
        flash(request, said if isinstance(said, str) else said(row))
    return redirect(reverse("compaction", args=[request.tenant.id, compaction_id]))


def _compaction(request: HtmxRequest, compaction_id: UUID) -> Compaction:
    rows = Compaction.objects.for_tenant(request.tenant.id).with_id(compaction_id)
    row: Compaction | None = rows.with_sessions().first()
    if row is None:
        raise Http404
    return row


def _page(
    request: HtmxRequest,
    compaction_id: UUID,
    *,
    form: SummaryTextForm | None = None,
    reason: ReasonForm | None = None,
    again: RegenerateForm | None = None,
) -> HttpResponse:
    offset = request.GET.get("from", "")
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        row = _compaction(request, compaction_id)
        review = read_review(row, offset=int(offset) if offset.isdecimal() and len(offset) < 8 else 0)
        versions = [each.version for each in CompactionPrompt.objects.for_tenant(tenant_id).newest_first()[:50]]
    initial = {"text": row.summary_text, "edit_version": row.edit_version}
    page: dict[str, Any] = {
        "section": "reviews",
        "compaction": row,
        "session": row.session,
        "review": review,
        "form": form or SummaryTextForm(initial=initial, label_suffix=""),
        "reason": reason or ReasonForm(label_suffix=""),
        "again": again or RegenerateForm(label_suffix=""),
        "has_model": has_model(),
        "prompt_versions": [*versions, PROMPT_VERSION],
    }
    refused = any(each is not None and each.errors for each in (form, reason, again))
    status = HTTPStatus.UNPROCESSABLE_ENTITY if refused else HTTPStatus.OK
    return show(request, "compaction.html#body" if wants_fragment(request) else "compaction.html", page, status=status)
