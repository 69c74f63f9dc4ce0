"""Operator pages about what agents get to read: overviews, the context preview, the budget."""

from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.forms import Form
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import push_url, replace_url

from context.actions import roll_back_budget_profile, save_budget_profile
from context.budget_profiles import changed_fields, current_budget_profile, draft_budget_profile, settings_of
from context.forms import (
    BUDGET_LABELS,
    SLIDER_MAX_TOKENS,
    SLIDER_STEP_TOKENS,
    BudgetProfileForm,
    BudgetTrialForm,
    PreviewForm,
)
from context.models import BudgetProfile
from context.overview import overview_of_tenant, tenants_at_a_glance
from context.preview import Preview, Question, compare_previews, demo_questions, preview_context, recent_questions
from context.results import ContextRequest
from context.services.model_catalog import DEFAULT_MODEL, load_catalog
from memories.access import actor_of, tenant_required, tenants_of
from memories.exceptions import InvalidInput, PlatformError
from memories.models import Partition
from memories.scopes import operator_read_scope, tenant_scope
from memory_platform.web import HtmxRequest, flash, operator_required, show, wants_fragment

SLIDER = {"step": SLIDER_STEP_TOKENS, "max": SLIDER_MAX_TOKENS}
PARTITIONS_OFFERED_MAX = 300


@operator_required("viewer")
@require_safe
def overview(request: HtmxRequest) -> HttpResponseBase:
    """All tenants of an operator side by side; straight to the tenant where there is only one."""
    request.tenants = tenants_of(request.operator)
    if len(request.tenants) == 1:
        return redirect("tenant-overview", request.tenants[0].id)
    with operator_read_scope([tenant.id for tenant in request.tenants]):
        rows = tenants_at_a_glance(request.tenants, now=timezone.now())
    return show(request, "overview.html", {"rows": rows})


@operator_required("viewer")
@tenant_required
@require_safe
def tenant_overview(request: HtmxRequest) -> HttpResponseBase:
    """What one tenant holds, what was asked lately, and how the parts are."""
    with tenant_scope(request.tenant.id):
        facts = overview_of_tenant(request.tenant.id, now=timezone.now())
    return show(request, "tenant_overview.html", {"section": "tenant-overview", "facts": facts})


@operator_required("viewer")
@tenant_required
@require_safe
def context_preview(request: HtmxRequest) -> HttpResponseBase:
    """What an agent would get to read, and why; changes nothing."""
    form = PreviewForm(request.GET or None, label_suffix="")
    page: dict[str, Any] = {"section": "context-preview", "form": form}
    status = HTTPStatus.OK
    if form.is_bound and form.is_valid():
        try:
            page["preview"] = _preview(request, form.wish())
        except PlatformError as error:
            _blame(error, form)
    if form.errors:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    if wants_fragment(request):
        return _at_own_address(request, show(request, "context_preview.html#fragment", page, status=status))
    with tenant_scope(request.tenant.id):
        page |= {
            "profile": current_budget_profile(request.tenant.id),
            "partitions": Partition.objects.for_tenant(request.tenant.id).paths(PARTITIONS_OFFERED_MAX),
            "suggestions": recent_questions(request.tenant.id),
            "demo_questions": demo_questions(request.tenant.name),
        }
    page |= {"models": _known_models(), "default_model": DEFAULT_MODEL, "slider": SLIDER}
    return show(request, "context_preview.html", page, status=status)


@operator_required("viewer", to_change="operator")
@tenant_required
@require_http_methods(["GET", "HEAD", "POST"])
def budgets(request: HtmxRequest) -> HttpResponseBase:
    """The numbers in force and their versions; a draft stands in the address and shows its effect unsaved."""
    is_post = request.method == "POST"
    draft = request.POST if is_post else request.GET if "default_tokens" in request.GET else None
    with tenant_scope(request.tenant.id):
        current = current_budget_profile(request.tenant.id)
        versions = list(BudgetProfile.objects.for_tenant(request.tenant.id).named(current.name).versions())
        questions = recent_questions(request.tenant.id) or demo_questions(request.tenant.name)
    page: dict[str, Any] = {
        "section": "budgets",
        "current": current,
        "versions": versions,
        "questions": questions,
        "trial": BudgetTrialForm(draft if draft is not None else _first_question(questions)),
        "slider": SLIDER,
        "form": BudgetProfileForm(draft if draft is not None else settings_of(current), label_suffix=""),
    }
    if is_post and page["form"].is_valid():
        try:
            return _save_budget(request, page["form"].cleaned_data)
        except PlatformError as error:
            _blame(error, page["form"])
    return _budgets_page(request, page)


def _first_question(questions: list[Question]) -> dict[str, str]:
    return {"query": questions[0].query, "partition": questions[0].partition} if questions else {}


def _save_budget(request: HtmxRequest, changes: dict[str, Any]) -> HttpResponseBase:
    seen = _whole_number(request.POST.get("edited_from"))
    with tenant_scope(request.tenant.id):
        saved = save_budget_profile(
            tenant_id=request.tenant.id,
            changes=changes,
            edited_from=seen,
            by=actor_of(request.operator),
            now=timezone.now(),
        )
    undo = reverse("budget-roll-back", args=[request.tenant.id, seen]) if saved.version > seen else ""
    flash(request, f"Version {saved.version} is in force.", undo_url=undo)
    return redirect("budgets", request.tenant.id)


def _budgets_page(request: HtmxRequest, page: dict[str, Any]) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    if page["form"].is_valid() and page["trial"].is_valid():
        try:
            page |= _effect(request, page["current"], page["form"].cleaned_data, page["trial"].cleaned_data)
            status = HTTPStatus.OK
        except PlatformError as error:
            _blame(error, page["form"], page["trial"])
    if not wants_fragment(request):
        return show(request, "budgets.html", page, status=status)
    return replace_url(show(request, "budgets.html#fragment", page, status=status), request.get_full_path())


def _effect(
    request: HtmxRequest, current: BudgetProfile, changes: dict[str, Any], trial: dict[str, Any]
) -> dict[str, Any]:
    """The trial question answered with the numbers in force and with the draft."""
    draft = draft_budget_profile(current, changes)
    before, after = (
        _preview(request, ContextRequest(**trial, draft=profile, explain=True, preview=True))
        for profile in (current, draft)
    )
    return {
        "draft": draft,
        "changed": [_label(name) for name in changed_fields(current, draft)],
        "before": before,
        "after": after,
        "change": compare_previews(before, after),
    }


def _label(field: str) -> str:
    return BUDGET_LABELS.get(field, field.replace("_", " ")).lower()


@operator_required("operator")
@tenant_required
@require_POST
def budget_roll_back(request: HtmxRequest, version: int) -> HttpResponseBase:
    """Put the numbers of an older version into force again."""
    tenant_id = request.tenant.id
    try:
        with tenant_scope(tenant_id):
            before = current_budget_profile(tenant_id).version
            saved = roll_back_budget_profile(
                tenant_id=tenant_id,
                version=version,
                edited_from=before,
                by=actor_of(request.operator),
                now=timezone.now(),
            )
    except InvalidInput as error:
        raise Http404 from error
    undo = reverse("budget-roll-back", args=[tenant_id, before]) if saved.version > before else ""
    former = f"numbers of version {version}" if version else "defaults"
    flash(request, f"The {former} are in force again, as version {saved.version}.", undo_url=undo)
    return redirect("budgets", tenant_id)


def _preview(request: HtmxRequest, wish: ContextRequest) -> Preview:
    return preview_context(wish, tenant_id=request.tenant.id, actor=actor_of(request.operator), now=timezone.now())


def _blame(error: PlatformError, *forms: Form) -> None:
    """Show a refusal at each field it names, or above the first form."""
    problems = error.problems if isinstance(error, InvalidInput) else (error,)
    for problem in problems:
        form = next((form for form in forms if problem.field in form.fields), None)
        (form or forms[0]).add_error(problem.field if form else None, problem.detail)


def _at_own_address(request: HtmxRequest, response: HttpResponse) -> HttpResponse:
    """Give the state an address: a moved slider replaces the last one, anything else is a step to go back to."""
    address = request.get_full_path()
    last = request.htmx.current_url_abs_path or ""
    is_only_the_budget = _without_budget(address) == _without_budget(last)
    return replace_url(response, address) if is_only_the_budget else push_url(response, address)


def _without_budget(address: str) -> dict[str, list[str]]:
    return {name: values for name, values in parse_qs(urlsplit(address).query).items() if name != "max_tokens"}


def _whole_number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else -1


def _known_models() -> list[str]:
    return [name for family in load_catalog().families for name in family.names]
