"""Golden questions: the list, one question, collecting from the preview, changing, removing and exporting."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone

from context.evaluation.actions.golden_questions import (
    add_golden_memory,
    collect_golden_question,
    remove_golden_memory,
    remove_golden_question,
    restore_golden_question,
    update_golden_question,
)
from context.evaluation.export import export_golden
from context.evaluation.forms import GoldenMemoryForm, GoldenQuestionEditForm
from context.models import GoldenMemory, GoldenQuestion
from context.services.profiles.publishing import QUESTIONS_MIN
from context.workbench.saved_questions import SavedQuestion
from memories.services.partitions.paths import parse_partition
from memories.tenancy.audit import record_export
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import by_operator, errors_as_flash, errors_on_form, tenant_change
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page
from memory_platform.web.tables import SortColumn, read_table

_COLUMNS = (SortColumn("collected", "created_at", datetime),)


@tenant_page("viewer")
def golden_questions(request: HtmxRequest) -> HttpResponseBase:
    """The questions with the size of their evidence, newest first."""
    with tenant_scope(request.tenant.id):
        rows = GoldenQuestion.objects.for_tenant(request.tenant.id).not_removed().with_evidence(timezone.now())
        page = {"section": "golden-questions", "table": read_table(request, _COLUMNS, rows.page)}
        page |= {"questions": rows.row_count(), "questions_min": QUESTIONS_MIN}
    return render_page(request, "context/evaluation/golden_questions.html", page, fragment="rows")


@tenant_page(to_change="operator")
def golden_collect(request: HtmxRequest) -> HttpResponseBase:
    """Add a memory to the evidence of the question of a preview, and return to the preview."""
    form = GoldenMemoryForm(request.POST)
    query = form["back"].data or urlencode({"query": request.POST.get("text", "")})
    preview = redirect(f"{reverse('context-preview', args=[request.tenant.id])}?{query}#golden")
    if not form.is_valid():
        flash_error(request, "; ".join(str(error) for errors in form.errors.values() for error in errors))
        return preview
    fields = form.cleaned_data
    with tenant_change(request):
        question = collect_golden_question(
            tenant_id=request.tenant.id,
            text=fields["text"],
            partition=parse_partition(fields["partition"]),
            memory_ids=[fields["memory"]],
            as_of=fields["as_of"],
            max_tokens=fields["max_tokens"],
            **by_operator(request),
        )
        undo = collected_undo_url(question, fields["memory"])
        add_flash(request, "Memory added to the golden question.", undo_url=undo)
    return preview


def collected_undo_url(question: GoldenQuestion, memory_id: UUID) -> str:
    """Return the URL that undoes that a memory was collected: with its question, if that has no other; in a scope."""
    place = [question.tenant_id, question.pk]
    if question.evidence.count() == 1:
        return reverse("golden-remove", args=place)
    return reverse("golden-evidence-remove", args=[*place, memory_id])


@tenant_page("viewer", to_change="operator", state="seen")
def golden_question(request: HtmxRequest, question_id: UUID) -> HttpResponseBase:
    """One question with its evidence; a POST changes its text."""
    with tenant_scope(request.tenant.id):
        question = _question(request, question_id)
        evidence = list(GoldenMemory.objects.for_tenant(request.tenant.id).of_question(question_id).with_memories())
    initial = {name: getattr(question, name) for name in GoldenQuestion.EDITED}
    initial["seen"] = question.state_hash()
    form = GoldenQuestionEditForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        with errors_on_form(form), tenant_scope(request.tenant.id):
            update_golden_question(question=question, **form.cleaned_data, **by_operator(request))
            add_flash(request, "Golden question saved.")
            return redirect("golden-question", request.tenant.id, question_id)
    page: dict[str, Any] = {
        "section": "golden-questions",
        "question": question,
        "memories": [row.memory for row in evidence],
        "form": form,
        "preview_query": SavedQuestion.of_golden(question).query_string,
    }
    return render_page(request, "context/evaluation/golden_question.html", page, form=form)


def _question(request: HtmxRequest, question_id: UUID) -> GoldenQuestion:
    rows = GoldenQuestion.objects.for_tenant(request.tenant.id).with_evidence(timezone.now())
    row: GoldenQuestion = get_object_or_404(rows, pk=question_id)
    return row


def _change_view(
    action: Callable[..., object], done: str, *, undo: str = "", page: str = "golden-question"
) -> Callable[..., HttpResponseBase]:
    """Return a view that applies `action` to a question, and to a memory if the URL names one.

    It shows `done` with a button that calls the view `undo`, and returns to `page`.
    """

    @tenant_page(to_change="operator")
    def change(request: HtmxRequest, question_id: UUID, **memory: UUID) -> HttpResponseBase:
        place = [request.tenant.id, question_id]
        with tenant_change(request):
            action(question=_question(request, question_id), **memory, **by_operator(request))
            add_flash(request, done, undo_url=reverse(undo, args=[*place, *memory.values()]) if undo else "")
        return redirect(page, *(place if page == "golden-question" else place[:1]))

    return change


golden_remove = _change_view(
    remove_golden_question, "Golden question removed.", undo="golden-restore", page="golden-questions"
)
golden_restore = _change_view(restore_golden_question, "Golden question restored.", page="golden-questions")
golden_memory_add = _change_view(add_golden_memory, "Memory added to the golden question.")
golden_memory_remove = _change_view(
    remove_golden_memory, "Memory removed from the golden question.", undo="golden-evidence-add"
)


@tenant_page("viewer")
def golden_export(request: HtmxRequest) -> HttpResponseBase:
    """The questions and the memories of their partitions as a corpus: a ZIP file of two JSONL files."""
    tenant_id, who = request.tenant.id, by_operator(request)
    with errors_as_flash(request):
        data = export_golden(tenant_id, now=who["now"])
        with tenant_scope(tenant_id):
            record_export("golden_question", (), tenant_id=tenant_id, **who)
        disposition = {"Content-Disposition": 'attachment; filename="golden-questions.zip"'}
        return HttpResponse(data, content_type="application/zip", headers=disposition)
    return redirect("golden-questions", tenant_id)
