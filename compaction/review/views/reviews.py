"""The review of compactions: what waits, one beside its originals, and the decisions about it."""

from functools import partial
from http import HTTPStatus
from uuid import UUID

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from compaction.models import Run
from compaction.review.actions import approve, regenerate, reject, reopen, roll_back
from compaction.review.changes import last_change
from compaction.review.comparison import compare_proposals
from compaction.review.forms import OptionalReasonForm, ReasonForm, RegenerateForm, SeenForm
from compaction.review.page import memories_made, read_review
from compaction.review.presence import Reviewer, note_presence
from compaction.review.queue import ORDERS, read_queue, with_titles
from compaction.review.views.page import Filled, ReviewAddress, decided, found_compaction, refusal_of, review_page
from memories.tenancy.access import actor_of, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import FlashLink, HtmxRequest, flash, operator_required, show, wants_fragment, watch
from memory_platform.web.templatetags.figures import counted


@operator_required("viewer")
@tenant_required
@require_safe
def reviews(request: HtmxRequest) -> HttpResponseBase:
    """Compactions that wait for a decision, and what became of others lately."""
    address = ReviewAddress(request)
    with tenant_scope(request.tenant.id):
        queue = read_queue(request.tenant.id, order=address.order)
    page = {
        "section": "reviews",
        "queue": queue,
        "orders": ORDERS.items(),
        "order": address.order,
        "query": address.query(),
        "last": address.last,
        "has_keys": request.COOKIES.get("keys") != "off",
    }
    return show(
        request,
        "compaction/review/reviews.html#body" if wants_fragment(request) else "compaction/review/reviews.html",
        page,
    )


@operator_required("operator")
@tenant_required
@require_POST
def compaction_approve(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Put a proposal into the session's context, and go on to the next one."""
    form = OptionalReasonForm(request.POST, label_suffix="")
    if not form.is_valid():
        return review_page(request, compaction_id, Filled(reason=form))
    said = "Approved: the summary stands in the session's context."
    verb = partial(approve, **form.cleaned_data)
    undo = FlashLink(reverse("compaction-roll-back", args=[request.tenant.id, compaction_id]), "Undo …", asks=True)
    return decided(request, compaction_id, verb, said, link=undo, reason=form, goes_on=True)


@operator_required("operator")
@tenant_required
@require_POST
def compaction_reject(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Refuse a proposal, saying why, and go on to the next one."""
    form = ReasonForm(request.POST, label_suffix="")
    if not form.is_valid():
        return review_page(request, compaction_id, Filled(reason=form))
    said = "Rejected: the session stays as it is."
    verb = partial(reject, **form.cleaned_data)
    return decided(request, compaction_id, verb, said, undo="compaction-reopen", reason=form, goes_on=True)


@operator_required("operator")
@tenant_required
@require_POST
def compaction_reopen(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Put a rejected proposal, or one that another was made instead of, back in the queue."""
    return decided(request, compaction_id, reopen, "It waits for a decision again.")


@operator_required("operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def compaction_roll_back(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Asks first; a POST returns the session to what it was before."""
    if request.method == "POST":
        form = OptionalReasonForm(request.POST, label_suffix="")
        if not form.is_valid():
            return review_page(request, compaction_id, Filled(reason=form))
        with tenant_scope(request.tenant.id):
            row = found_compaction(request, compaction_id)
            made = memories_made(row)
        said = "Rolled back: the session is exactly what it was before."
        if made:
            said += f" {counted(made, 'memory,memories')} that it had made {'is' if made == 1 else 'are'} archived."
        said += " It does not come back to the queue."
        session = FlashLink(reverse("session", args=[request.tenant.id, row.session_id]), "Look at the session")
        verb = partial(roll_back, reason=form.cleaned_data["reason"])
        return decided(request, compaction_id, verb, said, link=session, reason=form)
    with tenant_scope(request.tenant.id):
        review = read_review(found_compaction(request, compaction_id))
        made = memories_made(review.compaction)
    page = {"section": "reviews", "compaction": review.compaction, "review": review, "made": made}
    return show(request, "compaction/review/compaction_roll_back.html", page)


@operator_required("operator")
@tenant_required
@require_POST
def compaction_regenerate(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Have a proposal made anew, by another model or prompt where they are given."""
    form = RegenerateForm(request.POST, label_suffix="")
    if not form.is_valid():
        return review_page(request, compaction_id, Filled(again=form))
    fields = form.cleaned_data
    try:
        with tenant_scope(request.tenant.id):
            run = regenerate(
                compaction=found_compaction(request, compaction_id),
                model=fields["model"],
                prompt_version=fields["prompt_version"],
                by=actor_of(request.operator),
                now=timezone.now(),
            )
    except PlatformError as error:
        if error.field in form.fields:
            form.add_error(error.field, error.detail)
            return review_page(request, compaction_id, Filled(again=form))
        return review_page(request, compaction_id, Filled(refusal=refusal_of(request, compaction_id, error)))
    flash(request, "A new one is being made; this one stands until then.")
    watch(request, run.kind, run.pk)
    return redirect(ReviewAddress(request).of(compaction_id))


@operator_required("viewer")
@tenant_required
@require_safe
def compaction_compare(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """A proposal that was made anew beside the one before it; one of them is chosen."""
    with tenant_scope(request.tenant.id):
        row = found_compaction(request, compaction_id)
        comparison = compare_proposals(row)
        with_titles([row])
    if comparison is None:
        return redirect("compaction", request.tenant.id, compaction_id)
    page = {"section": "reviews", "compaction": row, "session": row.session, "comparison": comparison}
    return show(request, "compaction/review/compaction_compare.html", page)


@operator_required("viewer")
@tenant_required
@require_POST
def compaction_presence(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """The page says that somebody looks at it, and learns who else does and what changed since it was drawn."""
    form = SeenForm(request.POST)
    with tenant_scope(request.tenant.id):
        row = found_compaction(request, compaction_id)
        if not form.is_valid():
            return show(request, "compaction/review/_review_presence.html", {}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        seen, user = form.cleaned_data, request.operator.user
        is_changed = (row.state, row.edit_version) != (seen["state"], seen["edit_version"])
        change = last_change(row, reader_id=str(user.pk)) if is_changed else None
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
    return show(request, "compaction/review/_review_presence.html", page)
