"""Review compactions: the queue, decisions, comparison, and the text of a summary."""

from functools import partial
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from compaction.models import Compaction, Run
from compaction.review import actions
from compaction.review.editing import DOES_NOT_SHRINK, measure_revision, validate_summary_text
from compaction.review.forms import (
    OptionalReasonForm,
    ReasonForm,
    RegenerateForm,
    ReviewStateForm,
    RollBackForm,
    SummaryTextForm,
)
from compaction.review.presence import Reviewer, note_presence
from compaction.review.queries import ORDERS, compare_proposals, last_review_change, read_review_queue
from compaction.review.review_page import memories_archived_by_roll_back, read_review
from compaction.review.views.review_responses import (
    RefusedForms,
    ReviewAddress,
    decide_and_respond,
    describe_summary,
    get_compaction_or_404,
    perform_decision,
    render_refusal,
    render_review,
    respond_with_review,
)
from compaction.services.pipeline.journal_entries import STRUCK, stored_count
from memories.services.store.text_diff import diff_words
from memories.tenancy.exceptions import InvalidInput, PlatformError
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memory_platform.web.flash_messages import FlashLink, add_flash, watch_job
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.numerals import counted
from memory_platform.web.rendering import render_page
from memory_platform.web.templatetags.figures import pluralized


@tenant_page("viewer")
def review_queue(request: HtmxRequest) -> HttpResponseBase:
    """Summaries that wait for a review, and recent decisions."""
    address = ReviewAddress(request)
    with tenant_scope(request.tenant.id):
        queue = read_review_queue(request.tenant.id, order=address.order)
    page = {
        "section": "reviews",
        "queue": queue,
        "orders": ORDERS.items(),
        "order": address.order,
        "query": address.query(),
        "last": address.last,
        "has_keys": request.COOKIES.get("keys") != "off",
    }
    return render_page(request, "compaction/review/reviews.html", page, fragment="body")


@tenant_page(to_change="operator", state="edit_version")
def compaction_approve(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Approve a proposal and go to the next one."""
    return _decide_approval(request, compaction_id, form=OptionalReasonForm(request.POST))


def _decide_approval(request: HtmxRequest, compaction_id: UUID, **options: Any) -> HttpResponseBase:
    options |= {"undo": "compaction-undo-approval", "should_continue": True}
    return decide_and_respond(request, compaction_id, actions.approve_compaction, _describe_approval, **options)


def _describe_approval(row: Compaction) -> str:
    stored, struck = stored_count(row.journal), sum(entry["status"] == STRUCK for entry in row.journal)
    text = f"Approved. The summary is in the session's context, {counted(stored, 'fact is', 'facts are')} stored"
    return f"{text}, {struck} struck." if struck else f"{text}."


@tenant_page(to_change="operator")
def compaction_undo_approval(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Roll an approved compaction back and return it to the queue."""
    text = "Approval undone. It waits for review again."
    return decide_and_respond(request, compaction_id, actions.undo_approval, text)


@tenant_page(to_change="operator", state="edit_version")
def compaction_reject(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Reject a proposal with a reason and go to the next one."""
    options: dict[str, Any] = {"form": ReasonForm(request.POST), "undo": "compaction-reopen", "should_continue": True}
    text = "Rejected. The session does not change."
    return decide_and_respond(request, compaction_id, actions.reject_compaction, text, **options)


@tenant_page(to_change="operator", state="edit_version")
def compaction_mark_reviewed(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Mark an applied summary as reviewed."""
    form = OptionalReasonForm(request.POST)
    return decide_and_respond(request, compaction_id, actions.mark_compaction_reviewed, _describe_review, form=form)


def _describe_review(row: Compaction) -> str:
    stored = stored_count(entry for entry in row.journal if entry.get("is_possible_instruction"))
    return f"Marked as reviewed, {counted(stored, 'fact is', 'facts are')} stored." if stored else "Marked as reviewed."


@tenant_page(to_change="operator")
def compaction_reopen(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Return a rejected or superseded proposal to the queue."""
    return decide_and_respond(request, compaction_id, actions.reopen_compaction, "Reopened.")


@tenant_page("operator", to_change="operator")
def compaction_roll_back(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Ask for confirmation; a POST rolls the compaction back."""
    with tenant_scope(request.tenant.id):
        row = get_compaction_or_404(request, compaction_id)
        archived = memories_archived_by_roll_back(row)
        if request.method != "POST":
            page = {"section": "reviews", "compaction": row, "review": read_review(row), "archived_count": archived}
            return render_page(request, "compaction/review/compaction_roll_back.html", page)
    text = "Rolled back. The session is in its earlier state."
    if archived:
        text += f" {pluralized(archived, 'memory,memories')} from it {'is' if archived == 1 else 'are'} archived."
    text += " Reopen it to review it again."
    session = FlashLink(reverse("session", args=[request.tenant.id, row.session_id]), "View session")
    form = RollBackForm(request.POST)
    return decide_and_respond(request, compaction_id, actions.roll_back_compaction, text, link=session, form=form)


@tenant_page(to_change="operator")
def compaction_regenerate(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Regenerate a proposal, by another model or prompt if given."""
    form = RegenerateForm(request.POST)
    if not form.is_valid():
        return render_review(request, compaction_id, RefusedForms(again=form))
    try:
        run = perform_decision(request, compaction_id, actions.regenerate_compaction, **form.cleaned_data)
    except PlatformError as error:
        if error.field not in form.fields:
            return render_refusal(request, compaction_id, error)
        form.add_error(error.field, error.detail)
        return render_review(request, compaction_id, RefusedForms(again=form))
    add_flash(request, "Regeneration started. The current proposal stays until it is done.")
    watch_job(request, run.kind, run.pk)
    return redirect(ReviewAddress(request).of(compaction_id))


@tenant_page("viewer")
def compaction_compare(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Compare a regenerated proposal with the one before it."""
    with tenant_scope(request.tenant.id):
        row = get_compaction_or_404(request, compaction_id)
        comparison = compare_proposals(row)
    if comparison is None:
        return redirect("compaction", request.tenant.id, compaction_id)
    page = {"section": "reviews", "compaction": row, "session": row.session, "comparison": comparison}
    return render_page(request, "compaction/review/compaction_compare.html", page)


@tenant_page(to_change="viewer")
def compaction_presence(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Record the reader and return the other readers and what changed since the page was rendered."""
    form = ReviewStateForm(request.POST)
    template, user = "compaction/review/_review_presence.html", request.operator.user
    with tenant_scope(request.tenant.id):
        row = get_compaction_or_404(request, compaction_id)
        if not form.is_valid():
            return render_page(request, template, {}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        seen = form.cleaned_data
        is_changed = (row.state, row.edit_version) != (seen["state"], seen["edit_version"])
        change = last_review_change(row, reader_id=str(user.pk)) if is_changed else None
        runs = Run.objects.for_tenant(request.tenant.id).of_session(row.session_id).open()
        is_over = seen["is_running"] and runs.first() is None
    reviewer = Reviewer(str(user.pk), user.get_username(), request.operator.role)
    others = note_presence(
        tenant_id=request.tenant.id, compaction_id=compaction_id, reviewer=reviewer, now=timezone.now()
    )
    page = {
        "compaction": row,
        "others": others,
        "is_changed": is_changed,
        "change": change,
        "is_over": is_over,
        "address": ReviewAddress(request).of(compaction_id),
    }
    return render_page(request, template, page)


@tenant_page("viewer", to_change="operator")
def compaction_detail(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """One compaction with its originals and facts; a POST saves another text, or saves and approves it."""
    if request.method != "POST":
        return render_review(request, compaction_id)
    form = SummaryTextForm(request.POST)
    if not form.is_valid():
        return render_review(request, compaction_id, RefusedForms(text=form))
    if request.POST.get("then") == "approve":
        refuse = partial(_refused_text, request, compaction_id, form)
        return _decide_approval(request, compaction_id, form=form, refuse=refuse)
    try:
        row = perform_decision(request, compaction_id, actions.edit_compaction_summary, **form.cleaned_data)
    except PlatformError as error:
        return _refused_text(request, compaction_id, form, error)
    add_flash(request, describe_summary(row))
    return respond_with_review(request, compaction_id)


def _refused_text(
    request: HtmxRequest, compaction_id: UUID, form: SummaryTextForm, error: PlatformError
) -> HttpResponseBase:
    """Render a fault of the text; after another person's edit, the entered text ready to replace theirs."""
    if error.field in form.fields:
        form.add_error(error.field, error.detail)
        return render_review(request, compaction_id, RefusedForms(text=form))
    typed = form.cleaned_data["text"]
    with tenant_scope(request.tenant.id):
        row = get_compaction_or_404(request, compaction_id)
    again = SummaryTextForm(initial={"text": typed, "edit_version": row.edit_version})
    return render_refusal(request, compaction_id, error, typed=typed, text=again)


@tenant_page(to_change="operator")
def compaction_trial(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """The tokens and facts of a text while it is entered, as saving would give them. Stores nothing."""
    form = SummaryTextForm(request.POST)
    page: dict[str, object] = {"form": form}
    with tenant_scope(request.tenant.id):
        row = get_compaction_or_404(request, compaction_id)
        if form.is_valid():
            try:
                wording = validate_summary_text(form.cleaned_data["text"], row)
            except InvalidInput as error:
                form.add_error("text", error.detail)
            else:
                trial = measure_revision(row, row.session, wording)
                page |= {"compaction": row, "trial": trial, "changes": diff_words(row.summary_text, wording)}
                if not trial.is_smaller:
                    form.add_error("text", DOES_NOT_SHRINK)
    return render_page(request, "compaction/review/_review_trial.html", page, form=form)
