"""Save a budget that was found for a question, with its effect on the saved questions."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from context.models import BudgetProfile
from context.profiles.actions.keep_budget import KeepBudgetIn, keep_budget
from context.profiles.budget_profiles import VERSION_MARK, budget_profile_for
from context.profiles.forms import KeepBudgetForm
from context.profiles.views.operations import roll_back_url
from context.workbench.forms import PreviewForm, uuid_or_none
from context.workbench.long_queries import typed_inputs
from memories.models import Memory
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import errors_on_form, missing_is_404, perform
from memory_platform.web.flash_messages import FlashLink, add_flash
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.numerals import counted, versioned_name
from memory_platform.web.rendering import render_page

_NAMES = {"name": "new_name", "default_tokens": "max_tokens"}


@tenant_page("operator", to_change="operator")
def budget_keep(request: HtmxRequest) -> HttpResponseBase:
    """Show where the budget of the inputs in the URL can be saved, and its effect; a POST saves it."""
    inputs = PreviewForm(typed_inputs(request.tenant.id, request.GET))
    fields = inputs.cleaned_data if inputs.is_valid() else {}
    partition, name = fields.get("partition", ""), fields.get("budget_profile", "").partition(VERSION_MARK)[0] or None
    with missing_is_404(), tenant_scope(request.tenant.id):
        profile = budget_profile_for(request.tenant.id, api_key_id=None, partition_path=partition, name=name)
        golden = _golden(request, fields)
    tokens = fields.get("max_tokens")
    is_less = tokens is not None and tokens < profile.default_tokens
    initial = {"max_tokens": tokens, "keep_in": KeepBudgetIn.PROFILE, "edited_from": profile.version}
    if is_less:  # the profile serves other requests too, so it is not reduced without being chosen
        initial |= {"keep_in": KeepBudgetIn.NEW_PROFILE, "new_name": f"{profile.name[:56]}-{tokens}"}
    form = KeepBudgetForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        with errors_on_form(form, _NAMES):
            return _keep(request, form, profile, partition)
    page: dict[str, Any] = {
        "section": "budgets",
        "form": form,
        "profile": profile,
        "query": request.GET.urlencode(),
        "partition": partition,
        "query_text": fields.get("query", ""),
        "golden": golden,
        "is_less": is_less,
    }
    return render_page(request, "context/profiles/budget_keep.html", page, form=form)


def _keep(request: HtmxRequest, form: KeepBudgetForm, profile: BudgetProfile, partition: str) -> HttpResponseBase:
    fields = form.cleaned_data
    keep_in = KeepBudgetIn(fields["keep_in"])
    fields |= {"keep_in": keep_in, "profile_name": profile.name, "partition": partition}
    row = perform(request, keep_budget, **fields)
    undo = ""
    if keep_in is KeepBudgetIn.PROFILE and row.version > profile.version:
        undo = roll_back_url(request, "budget-rollback", row.name, profile.version, replaces=row.version)
    assigned = f" and assigned to {partition or 'the whole tenant'}" if keep_in is KeepBudgetIn.PARTITION else ""
    hint, link = "", None
    if keep_in is KeepBudgetIn.NEW_PROFILE:
        hint = " It has no assignments yet."
        link = FlashLink(reverse("budget-assignments", args=[request.tenant.id]), "Assign")
    tokens = counted(row.default_tokens, "token", "tokens")
    text = f"{tokens} saved in {versioned_name(row.name, row.version)}{assigned}.{hint}"
    add_flash(request, text, undo_url=undo, link=link)
    inputs = request.GET.copy()
    inputs.pop("max_tokens", None)
    if keep_in is KeepBudgetIn.NEW_PROFILE:
        inputs["budget_profile"] = row.name
    elif keep_in is KeepBudgetIn.PARTITION:
        inputs.pop("budget_profile", None)
    return redirect(reverse("context-preview", args=[request.tenant.id], query=inputs))


def _golden(request: HtmxRequest, fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the inputs of a golden question that expects the memory in the URL; None without a question."""
    if not fields.get("query", "").strip():
        return None
    query, as_of = request.GET.copy(), fields["as_of"]
    memory_id = uuid_or_none("".join(query.pop("memory", [])[-1:]))
    memory = Memory.objects.for_tenant(request.tenant.id).with_id(memory_id).first() if memory_id else None
    values = {name: fields[name] for name in ("partition", "max_tokens")} | {"text": fields["query"]}
    return values | {"memory": memory, "as_of": as_of.isoformat() if as_of else "", "back": query.urlencode()}
