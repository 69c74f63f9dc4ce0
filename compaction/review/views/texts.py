"""The text of a summary in review: read, edit, measure, append missing facts."""

from functools import partial
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from compaction.models import Compaction
from compaction.review.actions import append_missing_facts, edit_compaction_summary, withdraw_appended_statements
from compaction.review.editing import DOES_NOT_SHRINK, measure_revision, validate_summary_text
from compaction.review.forms import AppendFactsForm, SummaryTextForm, WithdrawAppendedForm
from compaction.review.views.page import (
    Refusal,
    RefusedForms,
    ReviewAddress,
    get_compaction_or_404,
    perform_decision,
    render_refusal,
    render_review,
)
from memories.services.store.text_diff import diff_words
from memories.tenancy.access import tenant_page
from memories.tenancy.exceptions import InvalidInput, PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.numerals import counted
from memory_platform.web.pages import HtmxRequest, add_flash, flash_error, render_page, wants_fragment


@tenant_page("viewer", "GET", "POST", to_change="operator")
def compaction_detail(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """One compaction with its originals and facts; a POST saves another text."""
    if request.method != "POST":
        return render_review(request, compaction_id)
    form = SummaryTextForm(request.POST, label_suffix="")
    if not form.is_valid():
        return render_review(request, compaction_id, RefusedForms(text=form))
    try:
        row = perform_decision(request, compaction_id, partial(edit_compaction_summary, **form.cleaned_data))
    except PlatformError as error:
        return _refused_text(request, compaction_id, form, error)
    add_flash(request, _describe_summary(row))
    return _respond_with_review(request, compaction_id)


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
    again = SummaryTextForm(initial={"text": typed, "edit_version": row.edit_version}, label_suffix="")
    return render_refusal(request, compaction_id, error, typed=typed, text=again)


@tenant_page("operator", "POST")
def compaction_trial(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """The tokens and facts of a text while it is entered, as saving would give them. Stores nothing."""
    form = SummaryTextForm(request.POST, label_suffix="")
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


@tenant_page("operator", "POST")
def compaction_append(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Append one or all missing facts to the summary."""
    form = AppendFactsForm(request.POST)
    if not form.is_valid():
        refusal = Refusal("The page is out of date. Reload it.")
        return render_review(request, compaction_id, RefusedForms(refusal=refusal))
    with tenant_scope(request.tenant.id):
        before = len(get_compaction_or_404(request, compaction_id).statements)
    verb = partial(append_missing_facts, facts=request.POST.getlist("fact") or None, **form.cleaned_data)
    try:
        row = perform_decision(request, compaction_id, verb)
    except PlatformError as error:
        return render_refusal(request, compaction_id, error)
    added = {"statements": len(row.statements) - before, "edit_version": row.edit_version}
    undo = reverse("compaction-withdraw", args=[request.tenant.id, compaction_id])
    add_flash(request, _describe_summary(row, "Appended"), undo_url=f"{undo}?{urlencode(added)}")
    return _respond_with_review(request, compaction_id)


@tenant_page("operator", "POST")
def compaction_withdraw(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Undo an append: remove the last statements, if the text is unchanged."""
    with tenant_scope(request.tenant.id):
        get_compaction_or_404(request, compaction_id)
    form = WithdrawAppendedForm(request.GET)
    if not form.is_valid():
        flash_error(request, "Cannot undo: the address does not name the appended statements.")
        return _respond_with_review(request, compaction_id)
    try:
        row = perform_decision(request, compaction_id, partial(withdraw_appended_statements, **form.cleaned_data))
    except PlatformError as error:
        return render_refusal(request, compaction_id, error)
    add_flash(request, _describe_summary(row, "Removed"))
    return _respond_with_review(request, compaction_id)


def _respond_with_review(request: HtmxRequest, compaction_id: UUID) -> HttpResponseBase:
    """Render the review for htmx, else redirect to it."""
    if wants_fragment(request):
        return render_review(request, compaction_id)
    return redirect(ReviewAddress(request).of(compaction_id))


def _describe_summary(row: Compaction, done: str = "Saved") -> str:
    """Return a sentence about the tokens and facts of the text."""
    kept, missing = (len(row.retention.get(name, [])) for name in ("kept", "missing"))
    tokens, facts = counted(row.summary_token_count, "token", "tokens"), counted(kept + missing, "fact", "facts")
    return f"{done}: {tokens}, {kept} of {facts} kept."
