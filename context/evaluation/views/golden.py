"""Golden questions: the list, one question, collecting from the preview, changing, removing and exporting."""

from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from context.evaluation.actions.golden_questions import (
    add_golden_memory,
    collect_golden_question,
    remove_golden_memory,
    remove_golden_question,
    restore_golden_question,
    update_golden_question,
)
from context.evaluation.export import export_golden
from context.evaluation.forms import GoldenMemoryForm, GoldenQuestionForm
from context.evaluation.views.changes import tenant_change
from context.models import GoldenMemory, GoldenQuestion
from context.profiles.views.form_errors import add_error_to_form
from memories.services.partitions.paths import parse_partition
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import (
    HtmxRequest,
    add_flash,
    flash_error,
    operator_required,
    render_page,
    wants_fragment,
)
from memory_platform.web.tables import SortColumn, read_table

_COLUMNS = (SortColumn("collected", "created_at", datetime),)


@operator_required("viewer")
@tenant_required
@require_safe
def golden_questions(request: HtmxRequest) -> HttpResponseBase:
    """The questions with the number of memories each needs, newest first."""
    with tenant_scope(request.tenant.id):
        rows = GoldenQuestion.objects.for_tenant(request.tenant.id).not_removed().with_counts(timezone.now())
        table = read_table(request, _COLUMNS, rows.page)
    template = (
        "context/evaluation/golden_questions.html#rows"
        if wants_fragment(request)
        else "context/evaluation/golden_questions.html"
    )
    return render_page(request, template, {"section": "golden-questions", "table": table})


@operator_required("operator")
@tenant_required
@require_POST
def golden_collect(request: HtmxRequest) -> HttpResponseBase:
    """From the preview: add a memory to the evidence of this question, and return to the preview."""
    form = GoldenMemoryForm(request.POST, label_suffix="")
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
            asked_at=fields["asked_at"],
            by=operator_actor(request.operator),
            now=timezone.now(),
        )
        is_only = question.wanted.count() == 1
        undo = ("golden-remove", []) if is_only else ("golden-unwant", [fields["memory"]])
        address = reverse(undo[0], args=[request.tenant.id, question.pk, *undo[1]])
        add_flash(request, "Memory added to the golden question.", undo_url=address)
    return preview


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def golden_question(request: HtmxRequest, question_id: UUID) -> HttpResponseBase:
    """One question with its evidence; a POST changes its text."""
    with tenant_scope(request.tenant.id):
        question = _found(request, question_id)
        wanted = list(GoldenMemory.objects.for_tenant(request.tenant.id).of_question(question_id).with_memories())
    initial = {name: getattr(question, name) for name in ("text", "answer", "category", "asked_at")}
    form = GoldenQuestionForm(request.POST if request.method == "POST" else None, initial=initial, label_suffix="")
    if request.method == "POST" and form.is_valid():
        try:
            with tenant_scope(request.tenant.id):
                update_golden_question(
                    question=question, **form.cleaned_data, by=operator_actor(request.operator), now=timezone.now()
                )
        except PlatformError as error:
            add_error_to_form(form, error)
        else:
            add_flash(request, "Golden question saved.")
            return redirect("golden-question", request.tenant.id, question_id)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    page: dict[str, Any] = {
        "section": "golden-questions",
        "question": question,
        "memories": [row.memory for row in wanted],
        "now": timezone.now(),
        "form": form,
        "preview_query": urlencode({"query": question.text, "partition": question.partition_path}),
    }
    return render_page(request, "context/evaluation/golden_question.html", page, status=status)


def _found(request: HtmxRequest, question_id: UUID) -> GoldenQuestion:
    row: GoldenQuestion | None = GoldenQuestion.objects.for_tenant(request.tenant.id).with_id(question_id).first()
    if row is None:
        raise Http404
    return row


@operator_required("operator")
@tenant_required
@require_POST
def golden_remove(request: HtmxRequest, question_id: UUID) -> HttpResponseBase:
    """Remove a question; the message offers to restore it."""
    with tenant_scope(request.tenant.id):
        question = _found(request, question_id)
        remove_golden_question(question=question, by=operator_actor(request.operator), now=timezone.now())
    undo = reverse("golden-restore", args=[request.tenant.id, question_id])
    add_flash(request, "Golden question removed.", undo_url=undo)
    return redirect("golden-questions", request.tenant.id)


@operator_required("operator")
@tenant_required
@require_POST
def golden_restore(request: HtmxRequest, question_id: UUID) -> HttpResponseBase:
    """Restore a removed question."""
    with tenant_change(request):
        question = _found(request, question_id)
        restore_golden_question(question=question, by=operator_actor(request.operator), now=timezone.now())
        add_flash(request, "Golden question restored.")
    return redirect("golden-questions", request.tenant.id)


@operator_required("operator")
@tenant_required
@require_POST
def golden_memory_add(request: HtmxRequest, question_id: UUID, memory_id: UUID) -> HttpResponseBase:
    """Add a memory to the evidence of a question."""
    with tenant_change(request):
        question, by, now = _found(request, question_id), operator_actor(request.operator), timezone.now()
        add_golden_memory(question=question, memory_id=memory_id, by=by, now=now)
        add_flash(request, "Memory added to the golden question.")
    return redirect("golden-question", request.tenant.id, question_id)


@operator_required("operator")
@tenant_required
@require_POST
def golden_memory_remove(request: HtmxRequest, question_id: UUID, memory_id: UUID) -> HttpResponseBase:
    """Remove a memory from the evidence of a question; the message offers to undo that."""
    with tenant_change(request):
        question, by, now = _found(request, question_id), operator_actor(request.operator), timezone.now()
        remove_golden_memory(question=question, memory_id=memory_id, by=by, now=now)
        undo = reverse("golden-want", args=[request.tenant.id, question_id, memory_id])
        add_flash(request, "Memory removed from the golden question.", undo_url=undo)
    return redirect("golden-question", request.tenant.id, question_id)


@operator_required("viewer")
@tenant_required
@require_safe
def golden_export(request: HtmxRequest) -> HttpResponseBase:
    """The questions and the memories of their partitions as a corpus: a ZIP file of two JSONL files."""
    try:
        data = export_golden(request.tenant.id, now=timezone.now())
    except PlatformError as error:
        flash_error(request, error.detail)
        return redirect("golden-questions", request.tenant.id)
    disposition = {"Content-Disposition": 'attachment; filename="golden-questions.zip"'}
    return HttpResponse(data, content_type="application/zip", headers=disposition)
