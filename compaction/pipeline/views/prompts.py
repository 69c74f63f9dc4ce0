"""The prompt of summaries: its text and versions, tried on a recorded session before it is saved."""

from itertools import islice
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from compaction.pipeline.actions.prompts import roll_back_prompt, save_prompt
from compaction.pipeline.forms import PromptForm
from compaction.pipeline.opening import current_prompt, stored_prompt_versions
from compaction.pipeline.prompt_trial import PromptTrial, trial_sessions, try_prompt
from compaction.pipeline.summarisers import has_model
from memories.services.store.text_diff import diff_words
from memories.tenancy.access import operator_actor, tenant_page
from memories.tenancy.exceptions import InvalidInput, PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.pages import HtmxRequest, add_flash, flash_error, render_page

_VERSIONS_MAX = 30


@tenant_page("admin", "GET", "POST")
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
    session_id, text = form.cleaned_data["session"], form.cleaned_data["text"]
    trial = None
    if session_id is None:
        form.add_error("session", "Select a session for the test.")
    else:
        try:
            trial = try_prompt(tenant_id=request.tenant.id, session_id=session_id, text=text, now=timezone.now())
        except PlatformError as error:
            form.add_error("session", error.detail)
    return _page(request, form, trial)


@tenant_page("admin", "POST")
def prompt_roll_back(request: HtmxRequest, version: int) -> HttpResponseBase:
    """Activate the text of an older version again."""
    try:
        with tenant_scope(request.tenant.id):
            by, now = operator_actor(request.operator), timezone.now()
            saved = roll_back_prompt(tenant_id=request.tenant.id, version=version, by=by, now=now)
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
        *own, built_in = stored_prompt_versions(tenant_id)
        sessions = trial_sessions(tenant_id)
    newest = islice(zip(own, [*own, built_in][1:], strict=True), _VERSIONS_MAX)
    form = form or PromptForm(initial={"text": text, "edited_from": version}, label_suffix="")
    page: dict[str, Any] = {
        "section": "prompts",
        "version": version,
        "versions": [*((row, diff_words(before.text, row.text)) for row, before in newest), (built_in, ())],
        "sessions": sessions,
        "has_model": has_model(),
        "form": form,
        "trial": trial,
    }
    return render_page(request, "compaction/pipeline/prompts.html", page, fragment="body", form=form)
