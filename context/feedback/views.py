"""Votes on a memory: history, new votes, withdrawals; the contexts that contained the memory."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from context.feedback.actions import record_feedback, withdraw_feedback
from context.feedback.forms import FeedbackForm
from context.models import Feedback
from context.receipts.memory_use import read_memory_use
from context.workbench.long_queries import workbench_query
from memories.hygiene.actions import MERGED_INTO
from memories.models import MemoryLink
from memories.store.views.memories import memory_or_404
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import add_error_to_form, missing_is_404, perform
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page

VOTES_SHOWN_MAX = 100
#: Maximum memories merged into one whose votes are shown next to its own.
MERGED_SHOWN_MAX = 50
VOTE_OF_WEIGHT = {1.0: "POSITIVE", -1.0: "NEGATIVE", -3.0: "VERY_NEGATIVE"}


@tenant_page("viewer", to_change="operator")
def memory_feedback(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """The votes on a memory, the form for a new one, and the contexts that contained the memory."""
    form = FeedbackForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and _vote(request, memory_id, form):
        return _again(request, memory_id)
    return _page(request, memory_id, form)


def _vote(request: HtmxRequest, memory_id: UUID, form: FeedbackForm) -> bool:
    try:
        given = perform(request, record_feedback, memory_id=memory_id, **form.cleaned_data)
    except PlatformError as error:
        if error.code == "not_found":
            raise Http404 from error
        add_error_to_form(form, error)
        return False
    if given.replaced:
        undo = _restore_url(request, given.replaced[0])
        add_flash(request, "Vote recorded. It replaces your earlier vote of today.", undo_url=undo)
    elif given.votes:
        undo = reverse("vote-withdraw", args=[request.tenant.id, memory_id, given.votes[0].pk])
        add_flash(request, "Vote recorded.", undo_url=undo)
    else:
        add_flash(request, "You already gave this vote today.")
    return True


def _restore_url(request: HtmxRequest, vote: Feedback) -> str:
    """Return the URL that gives an explicit vote again."""
    again = {"feedback": VOTE_OF_WEIGHT[vote.weight], "reason": vote.reason}
    return reverse("vote-restore", args=[request.tenant.id, vote.memory_id], query=again)


@tenant_page(to_change="operator")
def vote_withdraw(request: HtmxRequest, memory_id: UUID, vote_id: UUID) -> HttpResponseBase:
    """Withdraw a vote; it stays in the history.

    A vote on a memory that was merged into this one cannot be restored: that memory is archived.
    """
    with missing_is_404():
        with tenant_scope(request.tenant.id):
            memory_or_404(request, memory_id)
        vote = perform(request, withdraw_feedback, feedback_id=vote_id)
    can_restore = vote.weight in VOTE_OF_WEIGHT and vote.memory_id == memory_id
    add_flash(request, "Vote withdrawn.", undo_url=_restore_url(request, vote) if can_restore else "")
    return _again(request, memory_id)


@tenant_page(to_change="operator")
def vote_restore(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    """Undo a withdrawal or a replacement: restore the vote that the URL names."""
    with tenant_scope(request.tenant.id):
        memory_or_404(request, memory_id)
    form = FeedbackForm(request.GET)
    if not form.is_valid() or not _vote(request, memory_id, form):
        flash_error(request, "The vote could not be restored.")
    return _again(request, memory_id)


def _again(request: HtmxRequest, memory_id: UUID) -> HttpResponseBase:
    if request.htmx:
        return _page(request, memory_id, FeedbackForm())
    return redirect("memory-votes", request.tenant.id, memory_id)


def _page(request: HtmxRequest, memory_id: UUID, form: FeedbackForm) -> HttpResponse:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        memory = memory_or_404(request, memory_id)
        merged = MemoryLink.objects.for_tenant(tenant_id).current().to_memory(memory_id).of_kind(MERGED_INTO)
        about = [memory_id, *merged.in_order().sources(MERGED_SHOWN_MAX)]
        votes = Feedback.objects.for_tenant(tenant_id).on_memories(about).newest_first()
        use = read_memory_use(tenant_id, about, memory.partition_path)
        page: dict[str, Any] = {
            "section": "memories",
            "memory": memory,
            "form": form,
            "votes": list(votes[:VOTES_SHOWN_MAX]),
            "use": use,
            "excluding": [(row, reason, workbench_query(row)) for row, reason in use.excluding],
        }
    return render_page(request, "context/feedback/memory_votes.html", page, fragment="body", form=form)
