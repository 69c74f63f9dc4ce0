"""Review compactions: the queue, decisions and comparison."""

from functools import partial
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from compaction.models import Run
from compaction.review.actions import (
    approve_compaction,
    regenerate_compaction,
    reject_compaction,
    reopen_compaction,
    roll_back_compaction,
)
from compaction.review.forms import OptionalReasonForm, ReasonForm, RegenerateForm, ReviewStateForm
from compaction.review.page import memories_archived_by_roll_back, read_review
from compaction.review.presence import Reviewer, note_presence
from compaction.review.queries import (
    ORDERS,
    add_session_titles,
    compare_proposals,
    last_review_change,
    read_review_queue,
)
from compaction.review.views.page import (
    RefusedForms,
    ReviewAddress,
    decide_and_respond,
    describe_refusal,
    get_compaction_or_404,
    render_review,
)
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import (
    FlashLink,
    HtmxRequest,
    add_flash,
    operator_required,
    render_page,
    wants_fragment,
    watch_job,
)
from memory_platform.web.templatetags.figures import pluralized


@operator_required("viewer")
@tenant_required
@require_safe
def review_queue(request: HtmxRequest) -> HttpResponseBase:
    """Proposals that wait for a decision, and recent decisions."""
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
    return render_page(
        request,
        "compaction/review/reviews.html#body" if wants_fragment(request) else "compaction/review/reviews.html",
        page,
    )


@operator_required("operator")
@tenant_required
@require_POST
def compaction_approve(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Approve a proposal and go to the next one."""
    form = OptionalReasonForm(request.POST, label_suffix="")
    if not form.is_valid():
        return render_review(request, compaction_id, RefusedForms(reason=form))
    said = "Approved. The summary is in the session's context."
    verb = partial(approve_compaction, **form.cleaned_data)
    undo = FlashLink(
        reverse("compaction-roll-back", args=[request.tenant.id, compaction_id]), "Undo …", needs_confirmation=True
    )
    return decide_and_respond(request, compaction_id, verb, said, link=undo, reason=form, should_continue=True)


@operator_required("operator")
@tenant_required
@require_POST
def compaction_reject(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Reject a proposal with a reason and go to the next one."""
    form = ReasonForm(request.POST, label_suffix="")
    if not form.is_valid():
        return render_review(request, compaction_id, RefusedForms(reason=form))
    said = "Rejected. The session does not change."
    verb = partial(reject_compaction, **form.cleaned_data)
    return decide_and_respond(
        request, compaction_id, verb, said, undo="compaction-reopen", reason=form, should_continue=True
    )


@operator_required("operator")
@tenant_required
@require_POST
def compaction_reopen(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Return a rejected or superseded proposal to the queue."""
    return decide_and_respond(request, compaction_id, reopen_compaction, "Reopened.")


@operator_required("operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def compaction_roll_back(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Ask for confirmation; a POST rolls the compaction back."""
    if request.method == "POST":
        form = OptionalReasonForm(request.POST, label_suffix="")
        if not form.is_valid():
            return render_review(request, compaction_id, RefusedForms(reason=form))
        with tenant_scope(request.tenant.id):
            row = get_compaction_or_404(request, compaction_id)
            made = memories_archived_by_roll_back(row)
        said = "Rolled back. The session is in its earlier state."
        if made:
            said += f" {pluralized(made, 'memory,memories')} from it {'is' if made == 1 else 'are'} archived."
        said += " It does not return to the queue."
        session = FlashLink(reverse("session", args=[request.tenant.id, row.session_id]), "View session")
        verb = partial(roll_back_compaction, reason=form.cleaned_data["reason"])
        return decide_and_respond(request, compaction_id, verb, said, link=session, reason=form)
    with tenant_scope(request.tenant.id):
        review = read_review(get_compaction_or_404(request, compaction_id))
        made = memories_archived_by_roll_back(review.compaction)
    page = {"section": "reviews", "compaction": review.compaction, "review": review, "made": made}
    return render_page(request, "compaction/review/compaction_roll_back.html", page)


@operator_required("operator")
@tenant_required
@require_POST
def compaction_regenerate(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Regenerate a proposal, by another model or prompt if given."""
    form = RegenerateForm(request.POST, label_suffix="")
    if not form.is_valid():
        return render_review(request, compaction_id, RefusedForms(again=form))
    fields = form.cleaned_data
    try:
        with tenant_scope(request.tenant.id):
            run = regenerate_compaction(
                compaction=get_compaction_or_404(request, compaction_id),
                model=fields["model"],
                prompt_version=fields["prompt_version"],
                by=operator_actor(request.operator),
                now=timezone.now(),
            )
    except PlatformError as error:
        if error.field in form.fields:
            form.add_error(error.field, error.detail)
            return render_review(request, compaction_id, RefusedForms(again=form))
        return render_review(
            request, compaction_id, RefusedForms(refusal=describe_refusal(request, compaction_id, error))
        )
    add_flash(request, "Regeneration started. The current proposal stays until it is done.")
    watch_job(request, run.kind, run.pk)
    return redirect(ReviewAddress(request).of(compaction_id))


@operator_required("viewer")
@tenant_required
@require_safe
def compaction_compare(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Compare a regenerated proposal with the one before it."""
    with tenant_scope(request.tenant.id):
        row = get_compaction_or_404(request, compaction_id)
        comparison = compare_proposals(row)
        add_session_titles([row])
    if comparison is None:
        return redirect("compaction", request.tenant.id, compaction_id)
    page = {"section": "reviews", "compaction": row, "session": row.session, "comparison": comparison}
    return render_page(request, "compaction/review/compaction_compare.html", page)


@operator_required("viewer")
@tenant_required
@require_POST
def compaction_presence(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Record the reader and return the other readers and what changed since the page was rendered."""
    form = ReviewStateForm(request.POST)
    with tenant_scope(request.tenant.id):
        row = get_compaction_or_404(request, compaction_id)
        if not form.is_valid():
            return render_page(
                request, "compaction/review/_review_presence.html", {}, status=HTTPStatus.UNPROCESSABLE_ENTITY
            )
        seen, user = form.cleaned_data, request.operator.user
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
        "seen": seen,
        "address": ReviewAddress(request).of(compaction_id),
    }
    return render_page(request, "compaction/review/_review_presence.html", page)
