"""The page that explains why a context includes or excludes a memory, with actions that change this."""

from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import reverse

from context.evaluation.actions.golden_questions import collect_golden_question
from context.evaluation.views.golden import collected_undo_url
from context.models import GoldenQuestion
from context.profiles.budget_profiles import current_budget_profile
from context.workbench.explanation import MemoryExplanation, explain_memory
from context.workbench.forms import ExplanationForm, uuid_or_none
from context.workbench.long_queries import QUERY_ID, typed_inputs
from context.workbench.saved_questions import demo_questions, recent_questions
from context.workbench.views.preview import (
    NOT_OF_A_RUN,
    PREVIEW_FIELDS,
    allow_any_version,
    operator_caller,
    preview_query_string,
)
from memories.embeddings.indexer import index_now
from memories.models import Memory, Partition
from memories.search.browsing import find_memories_by_id_or_text
from memories.services.partitions.paths import parse_partition
from memories.store.actions.bulk import move_memories
from memories.store.actions.edit import restore_memory, update_memory
from memories.store.views.memories import version_restore_url
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import by_operator, errors_as_flash, errors_on_form
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import loads_result_later, render_page

_FOUND_MAX = 8
#: Parameters that the form of the page shows itself.
_TYPED = ("query", QUERY_ID, "partition", "max_tokens", "memory", "to", *NOT_OF_A_RUN)
#: By action: its function, its message, and the URL name of its undo, "" without one.
_CHANGES: Mapping[str, tuple[Callable[..., Memory], str, str]] = {
    "pin": (partial(update_memory, changes={"pinned": True}), "Pinned.", "memory-unpin"),
    "restore": (restore_memory, "Restored.", "memory-archive"),
    "keep": (partial(update_memory, changes={"expires_at": None}), "The memory no longer expires.", ""),
}


@tenant_page("viewer", to_change="operator")
def context_explanation(request: HtmxRequest) -> HttpResponseBase:
    """Explain why a context includes or excludes a memory; a POST performs an `action` on the memory."""
    if request.method == "POST":
        return _change(request)
    form = ExplanationForm(typed_inputs(request.tenant.id, request.GET))
    kept = [(name, value) for name, value in request.GET.items() if name not in _TYPED]
    page: dict[str, Any] = {"section": "context-preview", "form": form, "kept": kept}
    if form.is_valid() and form.cleaned_data["memory"].strip():
        with errors_on_form(form, {**PREVIEW_FIELDS, "memory_id": "memory"}):
            page |= {"is_coming": True} if loads_result_later(request) else _answer(request, form)
    with tenant_scope(request.tenant.id):
        tenant_id = request.tenant.id
        page["profile"] = current_budget_profile(tenant_id)
        page["partitions"] = Partition.objects.for_tenant(tenant_id).offered_paths()
        page["suggestions"] = recent_questions(tenant_id) or demo_questions(request.tenant.name)
    return render_page(request, "context/workbench/explanation.html", page, fragment="fragment", form=form)


def _answer(request: HtmxRequest, form: ExplanationForm) -> dict[str, Any]:
    """Return the explanation; for words the memories that they find; without a query only the memory."""
    text, tenant_id = form.cleaned_data["memory"].strip(), request.tenant.id
    memory_id = uuid_or_none(text)
    if memory_id is None or not form.cleaned_data["query"].strip():
        with tenant_scope(tenant_id):
            found = find_memories_by_id_or_text(tenant_id, text, count=_FOUND_MAX, **by_operator(request))
        if memory_id is None:
            return {"words": text, "found": [(memory, _with(request.GET, memory=memory.pk)) for memory in found]}
        return {"memory": found[0] if found else None}
    context_request = allow_any_version(request, form.to_request())
    explanation = explain_memory(context_request, memory_id, operator_caller(request), clock=perf_counter)
    return {
        "explanation": explanation,
        "memory": explanation.memory,
        "query": preview_query_string(request.GET),
        "budget_query": _budget_query(request, explanation),
        "is_expected": _is_expected(tenant_id, form, memory_id),
    }


def _budget_query(request: HtmxRequest, found: MemoryExplanation) -> str:
    """Return the inputs at the inclusion budget; "" without one."""
    if found.inclusion is None or found.inclusion.inclusion is None:
        return ""
    return preview_query_string(QueryDict(_with(request.GET, max_tokens=found.inclusion.inclusion.budget)))


def _with(query: QueryDict, **values: object) -> str:
    changed = query.copy()
    for name, value in values.items():
        changed[name] = str(value)
    return changed.urlencode()


def _is_expected(tenant_id: UUID, form: ExplanationForm, memory_id: UUID) -> bool:
    fields = form.cleaned_data
    with tenant_scope(tenant_id):
        rows = GoldenQuestion.objects.for_tenant(tenant_id).not_removed()
        same = rows.with_question(fields["query"].strip(), fields["partition"], fields["as_of"])
        return bool(same.expecting(memory_id).exists())


def _change(request: HtmxRequest) -> HttpResponseBase:
    """Perform an action on the memory, offer its undo, and explain again."""
    form = ExplanationForm(typed_inputs(request.tenant.id, request.POST))
    action = request.POST.get("action", "")
    memory_id = uuid_or_none(request.POST.get("memory", ""))
    if memory_id is None or action not in (*_CHANGES, "move", "expect"):
        raise Http404
    if not form.is_valid():
        flash_error(request, "; ".join(str(error) for errors in form.errors.values() for error in errors))
    else:
        with errors_as_flash(request):
            _perform(request, form, action, memory_id)
    inputs = request.POST.copy()
    for name in ("csrfmiddlewaretoken", "action", "to"):
        inputs.pop(name, None)
    return redirect(reverse("context-explain", args=[request.tenant.id], query=inputs))


def _perform(request: HtmxRequest, form: ExplanationForm, action: str, memory_id: UUID) -> None:
    tenant_id, who = request.tenant.id, by_operator(request)
    with tenant_scope(tenant_id):
        memory = Memory.objects.for_tenant(tenant_id).with_id(memory_id).first()
        if memory is None:
            raise Http404
        if action == "expect":
            message, undo = "Memory added to the golden question.", _expect(tenant_id, form, memory_id, who)
        elif action == "move":
            to = parse_partition(form.cleaned_data["to"])
            done = move_memories(tenant_id=tenant_id, seen={memory_id: memory.version}, to=to, **who)
            message = f"Moved to {to.path or 'the root'}."
            undo = reverse("memories-bulk-undo", args=[tenant_id, done.act.pk])
        else:
            change, message, undo_page = _CHANGES[action]
            before = memory.version
            saved = change(memory=memory, **who)
            own = [tenant_id, memory_id]
            undo = reverse(undo_page, args=own) if undo_page else version_restore_url(saved, before)
    index_now(tenant_id, [memory_id])
    add_flash(request, message, undo_url=undo)


def _expect(tenant_id: UUID, form: ExplanationForm, memory_id: UUID, who: dict[str, Any]) -> str:
    """Add the memory to the evidence of the question; return the URL that undoes it."""
    fields = form.cleaned_data
    question = collect_golden_question(
        tenant_id=tenant_id,
        text=fields["query"],
        partition=parse_partition(fields["partition"]),
        memory_ids=[memory_id],
        as_of=fields["as_of"],
        max_tokens=fields["max_tokens"],
        **who,
    )
    return collected_undo_url(question, memory_id)
