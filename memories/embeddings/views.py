"""Embedding models: what is searched with, what is filled beside it, and the verbs that change it (ADR-0082)."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memories.embeddings import reembedding
from memories.embeddings.actions.reembedding import (
    retire_embedding_model,
    retry_refused_vectors,
    start_reembedding,
    switch_embedding_model,
)
from memories.embeddings.actions.retry import retry_embeddings
from memories.embeddings.forms import ReembeddingForm
from memories.embeddings.providers import EmbeddingError, known_models
from memories.embeddings.status import ModelStatus, model_history, model_statuses, refused_texts
from memories.models import EmbeddingModel
from memories.tenancy.access import operator_actor, tenant_of, tenant_required
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.numerals import counted
from memory_platform.web.pages import (
    HtmxRequest,
    add_flash,
    flash_error,
    operator_required,
    render_page,
    wants_fragment,
    watch_job,
)

_SECTION = "embeddings"
ACTIVE = EmbeddingModel.State.ACTIVE


@operator_required("viewer", to_change="admin")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def embeddings(request: HtmxRequest) -> HttpResponseBase:
    """Each model and how far it is; the form that begins to fill another. Asks again by itself while it changes."""
    if request.method != "POST":
        return _page(request)
    form = ReembeddingForm(request.POST, label_suffix="", models=list(known_models().values()))
    if form.is_valid():
        try:
            # Outside of the scope: a provider is asked.
            reembedding.probe_embedder(form.cleaned_data["model"])
            with tenant_scope(request.tenant.id):
                row = start_reembedding(tenant=tenant_of(request), **form.cleaned_data, **_asked(request))
        except (EmbeddingError, PlatformError) as error:
            form.add_error("model", error.detail)
        else:
            add_flash(request, f"The vectors of {row.name} are being made. Searches go on as they are.")
            watch_job(request, "embedding_model", row.pk)
            return redirect("embeddings", request.tenant.id)
    return _page(request, form)


def _page(request: HtmxRequest, form: ReembeddingForm | None = None) -> HttpResponse:
    with tenant_scope(request.tenant.id):
        statuses = model_statuses(request.tenant.id, timezone.now())
        taken = {status.model.name for status in statuses}
        page: dict[str, Any] = {
            "section": _SECTION,
            "statuses": statuses,
            "refused": refused_texts(request.tenant.id),
            "history": model_history(request.tenant.id),
            "is_unfinished": any(status.is_unfinished for status in statuses),
        }
    others = [model for name, model in known_models().items() if name not in taken]
    page["form"] = form or ReembeddingForm(label_suffix="", models=others)
    page["others"] = others
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form and form.errors else HTTPStatus.OK
    return render_page(
        request,
        "memories/embeddings/embeddings.html#body"
        if wants_fragment(request)
        else "memories/embeddings/embeddings.html",
        page,
        status=status,
    )


@operator_required("admin")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def embedding_switch(request: HtmxRequest, model_id: UUID) -> HttpResponseBase:
    """Ask, saying what it costs, then search with another model: a new one, or the former again."""

    def change(status: ModelStatus) -> str:
        accepts = request.POST.get("accepts_missing") == "on"
        name = status.model.name
        done = switch_embedding_model(
            tenant=tenant_of(request), model=name, accepts_missing=accepts, **_asked(request)
        ).is_done
        if done:
            return f"Searches use {name} now."
        watch_job(request, "embedding_model", model_id)
        return f"Searches use {name} once its last vectors are made."

    return _asked_first(request, model_id, "memories/embeddings/embedding_switch.html", change)


@operator_required("admin")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def embedding_retire(request: HtmxRequest, model_id: UUID) -> HttpResponseBase:
    """Ask, then stop keeping the vectors of a model and remove them."""

    def change(status: ModelStatus) -> str:
        row = retire_embedding_model(tenant=tenant_of(request), model=status.model.name, **_asked(request))
        watch_job(request, "embedding_model", row.pk)
        return f"The vectors of {row.name} are being removed."

    return _asked_first(request, model_id, "memories/embeddings/embedding_retire.html", change)


@operator_required("admin")
@tenant_required
@require_POST
def embedding_retry(request: HtmxRequest, model_id: UUID) -> HttpResponseBase:
    """Have the texts tried again that a model refused."""
    with tenant_scope(request.tenant.id):
        model = _status(request, model_id).model
        if model.state == ACTIVE:
            count = len(retry_embeddings(tenant=tenant_of(request), **_asked(request)))
        else:
            count = retry_refused_vectors(tenant=tenant_of(request), model=model.name, **_asked(request))
    add_flash(request, f"{counted(count, 'text is', 'texts are')} tried again.")
    if count:
        kind, row_id = ("embeddings", request.tenant.id) if model.state == ACTIVE else ("embedding_model", model.pk)
        watch_job(request, kind, row_id)
    return redirect("embeddings", request.tenant.id)


def _asked_first(
    request: HtmxRequest, model_id: UUID, template: str, change: Callable[[ModelStatus], str]
) -> HttpResponseBase:
    try:
        with tenant_scope(request.tenant.id):
            status = _status(request, model_id)
            if request.method != "POST":
                return render_page(request, template, {"section": _SECTION, "status": status})
            add_flash(request, change(status))
    except PlatformError as error:
        flash_error(request, error.detail)
    return redirect("embeddings", request.tenant.id)


def _status(request: HtmxRequest, model_id: UUID) -> ModelStatus:
    statuses = model_statuses(request.tenant.id, timezone.now())
    found = next((status for status in statuses if status.model.pk == model_id), None)
    if found is None:
        raise Http404
    return found


def _asked(request: HtmxRequest) -> dict[str, Any]:
    return {"by": operator_actor(request.operator), "now": timezone.now()}
