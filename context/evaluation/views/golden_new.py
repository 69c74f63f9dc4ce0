"""The page that adds a golden question: first the search, then the selection of its evidence."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from context.assembly.orchestrator import assemble_context
from context.evaluation.actions.golden_questions import collect_golden_question
from context.evaluation.forms import NewGoldenForm
from context.receipts.results import ContextRequest
from context.services.profiles.scoring_profiles import CONVERSATION_RECALL
from context.workbench.preview import build_preview
from context.workbench.views.preview import operator_caller
from memories.models import Memory, Partition
from memories.services.partitions.paths import parse_partition
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import errors_on_form, perform
from memory_platform.web.flash_messages import add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page

#: Memories offered for selection, and the budget of the search that finds them.
_OFFERED_MAX, OFFERED_TOKENS = 30, 4_000


@tenant_page("operator", to_change="operator")
def golden_new(request: HtmxRequest) -> HttpResponseBase:
    """The form with search results; a POST adds the question, one with `find` only searches again."""
    is_post = request.method == "POST"
    typed = request.POST if is_post else request.GET if "text" in request.GET else None
    form = NewGoldenForm(typed)
    if is_post and "find" not in request.POST and form.is_valid():
        with errors_on_form(form, {"memory_ids": "ids"}):
            return _collected(request, form)
    page: dict[str, Any] = {"section": "golden-questions", "form": form, "selected": set(form.selected())}
    if form.is_bound and not {"text", "partition", "as_of"} & form.errors.keys():
        with errors_on_form(form):
            page["found"] = _found(request, form, page["selected"])
    with tenant_scope(request.tenant.id):
        page["partitions"] = Partition.objects.for_tenant(request.tenant.id).offered_paths()
    return render_page(request, "context/evaluation/golden_new.html", page, form=form)


def _collected(request: HtmxRequest, form: NewGoldenForm) -> HttpResponseBase:
    fields = dict(form.cleaned_data)
    memory_ids = [*form.selected(), *fields.pop("ids")]
    fields["partition"] = parse_partition(fields["partition"])
    question = perform(request, collect_golden_question, memory_ids=memory_ids, **fields)
    undo = reverse("golden-remove", args=[request.tenant.id, question.pk])
    add_flash(request, "Golden question added.", undo_url=undo)
    return redirect("golden-question", request.tenant.id, question.pk)


def _found(request: HtmxRequest, form: NewGoldenForm, selected: Collection[UUID]) -> list[Memory]:
    search = ContextRequest(
        query=form.cleaned_data["text"],
        partition=form.cleaned_data["partition"],
        as_of=form.cleaned_data["as_of"],
        max_tokens=OFFERED_TOKENS,
        scoring=CONVERSATION_RECALL,
        preview=True,
    )
    caller = operator_caller(request)
    preview = build_preview(assemble_context(search, caller), caller.tenant_id)
    scored = [(row.block.score, row.memory) for row in preview.included]
    scored += [(row.exclusion.score, row.memory) for row in preview.excluded]
    rows = [memory for _, memory in sorted(scored, key=lambda pair: pair[0] or 0.0, reverse=True) if memory is not None]
    offered = {memory.pk: memory for memory in rows[:_OFFERED_MAX]}
    with tenant_scope(caller.tenant_id):
        missing = [memory_id for memory_id in selected if memory_id not in offered]
        more = Memory.objects.for_tenant(caller.tenant_id).live(caller.now).with_ids(missing) if missing else []
        return [*offered.values(), *more]
