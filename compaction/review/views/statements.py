"""Change single statements of a summary: append missing facts, remove a sentence, swap in a candidate."""

from uuid import UUID

from django.http import HttpResponseBase
from django.urls import reverse

from compaction.review import actions
from compaction.review.forms import EditVersionForm, StrikeFactForm, SwapStatementForm, WithdrawAppendedForm
from compaction.review.views.review_responses import (
    Refusal,
    RefusedForms,
    describe_summary,
    get_compaction_or_404,
    perform_decision,
    render_refusal,
    render_review,
    respond_with_review,
)
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest

_OUT_OF_DATE = RefusedForms(refusal=Refusal("The page is out of date. Reload it."))


@tenant_page(to_change="operator", state="edit_version")
def compaction_append(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Append one or all missing facts to the summary."""
    form = EditVersionForm(request.POST)
    if not form.is_valid():
        return render_review(request, compaction_id, _OUT_OF_DATE)
    with tenant_scope(request.tenant.id):
        before = len(get_compaction_or_404(request, compaction_id).statements)
    facts = request.POST.getlist("fact") or None
    try:
        row = perform_decision(request, compaction_id, actions.append_missing_facts, facts=facts, **form.cleaned_data)
    except PlatformError as error:
        return render_refusal(request, compaction_id, error)
    added = {"statements": len(row.statements) - before, "edit_version": row.edit_version}
    undo = reverse("compaction-withdraw", args=[request.tenant.id, compaction_id], query=added)
    add_flash(request, describe_summary(row, "Appended"), undo_url=undo)
    return respond_with_review(request, compaction_id)


@tenant_page(to_change="operator")
def compaction_withdraw(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Undo an append: remove the last statements, if the text is unchanged."""
    with tenant_scope(request.tenant.id):
        get_compaction_or_404(request, compaction_id)
    form = WithdrawAppendedForm(request.GET)
    if not form.is_valid():
        flash_error(request, "Cannot undo: the address does not name the appended statements.")
        return respond_with_review(request, compaction_id)
    try:
        row = perform_decision(request, compaction_id, actions.withdraw_appended_statements, **form.cleaned_data)
    except PlatformError as error:
        return render_refusal(request, compaction_id, error)
    add_flash(request, describe_summary(row, "Removed"))
    return respond_with_review(request, compaction_id)


@tenant_page(to_change="operator")
def compaction_strike(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Strike a fact of the journal, so that it is never stored, or keep it again."""
    form = StrikeFactForm(request.POST)
    fields = form.cleaned_data if form.is_valid() else {}
    entry = fields.get("strike") or fields.get("keep")
    if entry is None:
        return render_review(request, compaction_id, _OUT_OF_DATE)
    change = {"entry": entry, "is_struck": bool(fields.get("strike"))}
    try:
        perform_decision(request, compaction_id, actions.strike_journal_entry, **change)
    except PlatformError as error:
        return render_refusal(request, compaction_id, error)
    return respond_with_review(request, compaction_id)


@tenant_page(to_change="operator")
def compaction_swap(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Remove a sentence, add a candidate, or both; the message that reports it offers the reverse."""
    # The link that undoes a swap names the swap in its query.
    form = SwapStatementForm(request.GET.dict() | request.POST.dict())
    if not form.is_valid():
        return render_review(request, compaction_id, _OUT_OF_DATE)
    with tenant_scope(request.tenant.id):
        before = get_compaction_or_404(request, compaction_id)
    try:
        row = perform_decision(request, compaction_id, actions.swap_summary_statement, **form.cleaned_data)
    except PlatformError as error:
        return render_refusal(request, compaction_id, error)
    removed, added = form.cleaned_data["remove"], form.cleaned_data["add"]
    reverse_swap: dict[str, int] = {"edit_version": row.edit_version}
    if added:
        reverse_swap["remove"] = row.statements.index(before.candidates[added - 1]) + 1
    if removed:
        reverse_swap["add"] = 1
    done = "Swapped" if removed and added else "Removed" if removed else "Added"
    undo = reverse("compaction-swap", args=[request.tenant.id, compaction_id], query=reverse_swap)
    add_flash(request, describe_summary(row, done), undo_url=undo)
    return respond_with_review(request, compaction_id)
