"""The prompt of summaries: its text and versions, tried on a recorded session before it is saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from compaction.models import CompactionPrompt
from compaction.pipeline.actions.prompts import roll_back_prompt, save_prompt
from compaction.pipeline.forms import PromptForm
from compaction.pipeline.opening import current_prompt
from compaction.pipeline.prompt_trial import PromptTrial, trial_sessions, try_prompt
from compaction.pipeline.summarisers import has_model
from compaction.services.pipeline.prompts import PROMPT, PROMPT_VERSION
from memories.services.store.text_diff import DiffPiece, diff_words
from memories.tenancy.access import operator_actor, tenant_required
from memories.tenancy.exceptions import InvalidInput, PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import (
    HtmxRequest,
    add_flash,
    flash_error,
    operator_required,
    render_page,
    wants_fragment,
)

_VERSIONS_MAX = 30


@dataclass(frozen=True)
class PromptVersion:
    """A version of the prompt and its diff to the one before; the built-in prompt is the first."""

    version: int
    text: str
    row: CompactionPrompt | None
    pieces: Sequence[DiffPiece] = ()


def prompt_version_rows(rows: Sequence[CompactionPrompt]) -> list[PromptVersion]:
    """Return a tenant's versions, newest first, with their diffs, and the built-in prompt at the end."""
    texts = [*(row.text for row in rows), PROMPT]
    own = [
        PromptVersion(row.version, row.text, row, diff_words(texts[place + 1], row.text))
        for place, row in enumerate(rows[:_VERSIONS_MAX])
    ]
    return [*own, PromptVersion(PROMPT_VERSION, PROMPT, None)]


@operator_required("admin")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def prompt_page(request: HtmxRequest) -> HttpResponseBase:
    """The active prompt and its versions; a POST saves or tries another text."""
    if request.method != "POST":
        return _page(request, None)
    form = PromptForm(request.POST, label_suffix="")
    if not form.is_valid():
        return _page(request, form)
    fields = form.cleaned_data
    if "try" in request.POST:
        return _try_and_respond(request, form)
    try:
        with tenant_scope(request.tenant.id):
            saved = save_prompt(
                tenant_id=request.tenant.id,
                text=fields["text"],
                edited_from=fields["edited_from"],
                by=operator_actor(request.operator),
                now=timezone.now(),
            )
    except PlatformError as error:
        form.add_error("text" if error.field == "text" else None, error.detail)
        return _page(request, form)
    add_flash(request, f"Version {saved.version} is active.")
    return redirect("prompts", request.tenant.id)


def _try_and_respond(request: HtmxRequest, form: PromptForm) -> HttpResponse:
    session_id = form.cleaned_data["session"]
    if session_id is None:
        form.add_error("session", "Select a session for the test.")
        return _page(request, form)
    text = form.cleaned_data["text"]
    try:
        trial = try_prompt(tenant_id=request.tenant.id, session_id=session_id, text=text, now=timezone.now())
    except PlatformError as error:
        form.add_error("session", error.detail)
        return _page(request, form)
    return _page(request, form, trial)


@operator_required("admin")
@tenant_required
@require_POST
def prompt_roll_back(request: HtmxRequest, version: int) -> HttpResponseBase:
    """Activate the text of an older version again."""
    try:
        with tenant_scope(request.tenant.id):
            who = operator_actor(request.operator)
            saved = roll_back_prompt(tenant_id=request.tenant.id, version=version, by=who, now=timezone.now())
    except InvalidInput as error:
        raise Http404 from error
    except PlatformError as error:
        flash_error(request, error.detail)
    else:
        add_flash(request, f"Rolled back to version {version}, saved as version {saved.version}.")
    return redirect("prompts", request.tenant.id)


def _page(request: HtmxRequest, form: PromptForm | None, trial: PromptTrial | None = None) -> HttpResponse:
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        version, text = current_prompt(tenant_id)
        page: dict[str, Any] = {
            "section": "prompts",
            "version": version,
            "versions": prompt_version_rows(list(CompactionPrompt.objects.for_tenant(tenant_id).newest_first())),
            "sessions": trial_sessions(tenant_id),
            "has_model": has_model(),
            "form": form or PromptForm(initial={"text": text, "edited_from": version}, label_suffix=""),
            "trial": trial,
        }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form is not None and form.errors else HTTPStatus.OK
    return render_page(
        request,
        "compaction/pipeline/prompts.html#body" if wants_fragment(request) else "compaction/pipeline/prompts.html",
        page,
        status=status,
    )
