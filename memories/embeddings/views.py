"""The page of embedding models and the actions that change them (ADR-0082)."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from memories.embeddings import actions
from memories.embeddings.forms import ReembeddingForm
from memories.embeddings.providers import EmbeddingError, known_models
from memories.embeddings.reembedding import probe_embedder
from memories.embeddings.status import ModelStatus, model_history, model_statuses, refused_texts
from memories.models import EmbeddingModel
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import action_arguments, submit, tenant_change
from memory_platform.web.flash_messages import add_flash, watch_job
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.numerals import counted
from memory_platform.web.rendering import render_page

_SECTION = "embeddings"
_ACTIVE = EmbeddingModel.State.ACTIVE


@tenant_page("viewer", to_change="admin")
def embeddings(request: HtmxRequest) -> HttpResponseBase:
    """Show each model with its progress, and the form that starts a re-embedding. Polls while work is unfinished."""
    if request.method != "POST":
        return _page(request)
    form = ReembeddingForm(request.POST, models=list(known_models().values()))
    if form.is_valid():
        try:
            # Outside of the scope, because it calls the provider.
            probe_embedder(form.cleaned_data["model"])
        except EmbeddingError as error:
            form.add_error("model", error.detail)
    row = submit(request, form, lambda: actions.start_reembedding(**form.cleaned_data, **action_arguments(request)))
    if row is None:
        return _page(request, form)
    add_flash(request, f"Re-embedding with {row.name} started.")
    watch_job(request, "embedding_model", row.pk)
    return redirect("embeddings", request.tenant.id)


def _page(request: HtmxRequest, form: ReembeddingForm | None = None) -> HttpResponse:
    with tenant_scope(request.tenant.id):
        statuses = model_statuses(request.tenant.id, timezone.now())
        used_names = {status.model.name for status in statuses}
        page: dict[str, Any] = {
            "section": _SECTION,
            "statuses": statuses,
            "refused": refused_texts(request.tenant.id),
            "history": model_history(request.tenant.id),
            "is_unfinished": any(status.is_unfinished for status in statuses),
        }
    others = [model for name, model in known_models().items() if name not in used_names]
    page["form"] = form or ReembeddingForm(models=others)
    page["others"] = others
    return render_page(request, "memories/embeddings/embeddings.html", page, fragment="body", form=form)


@tenant_page("admin", to_change="admin")
def embedding_switch(request: HtmxRequest, model_id: UUID) -> HttpResponseBase:
    """Confirm, then switch to a new or the former model."""

    def change(status: ModelStatus) -> str:
        name, confirm = status.model.name, request.POST.get("confirm_missing") == "on"
        if actions.switch_embedding_model(model=name, confirm_missing=confirm, **action_arguments(request)).is_done:
            return f"Search now uses {name}."
        watch_job(request, "embedding_model", model_id)
        return f"Search will use {name} when its vectors are complete."

    return _confirm_first(request, model_id, "memories/embeddings/embedding_switch.html", change)


@tenant_page("admin", to_change="admin")
def embedding_retire(request: HtmxRequest, model_id: UUID) -> HttpResponseBase:
    """Confirm, then retire a model and remove its vectors."""

    def change(status: ModelStatus) -> str:
        row = actions.retire_embedding_model(model=status.model.name, **action_arguments(request))
        watch_job(request, "embedding_model", row.pk)
        return f"Removing the vectors of {row.name}."

    return _confirm_first(request, model_id, "memories/embeddings/embedding_retire.html", change)


@tenant_page(to_change="admin")
def embedding_retry(request: HtmxRequest, model_id: UUID) -> HttpResponseBase:
    """Retry the texts that a model refused."""
    who = action_arguments(request)
    with tenant_scope(request.tenant.id):
        model = _status(request, model_id).model
        if model.state == _ACTIVE:
            count = len(actions.retry_embeddings(**who))
        else:
            count = actions.retry_refused_vectors(model=model.name, **who)
    add_flash(request, f"{counted(count, 'text', 'texts')} queued for retry.")
    if count:
        kind, row_id = ("embeddings", request.tenant.id) if model.state == _ACTIVE else ("embedding_model", model.pk)
        watch_job(request, kind, row_id)
    return redirect("embeddings", request.tenant.id)


def _confirm_first(
    request: HtmxRequest, model_id: UUID, template: str, change: Callable[[ModelStatus], str]
) -> HttpResponseBase:
    with tenant_change(request):
        status = _status(request, model_id)
        if request.method != "POST":
            return render_page(request, template, {"section": _SECTION, "status": status})
        add_flash(request, change(status))
    return redirect("embeddings", request.tenant.id)


def _status(request: HtmxRequest, model_id: UUID) -> ModelStatus:
    statuses = model_statuses(request.tenant.id, timezone.now())
    found = next((status for status in statuses if status.model.pk == model_id), None)
    if found is None:
        raise Http404
    return found
