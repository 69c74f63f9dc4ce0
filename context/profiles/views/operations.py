"""What the pages that change profiles share: the call of an action, its refusals, and the question before it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django import forms
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils import timezone

from context.models import BudgetProfile, ScoringProfileVersion
from context.profiles.kinds import ProfileKind
from context.profiles.versions import ProfileFieldComparison, ProfileVersion
from context.profiles.views.form_errors import add_error_to_form
from memories.tenancy.exceptions import InvalidInput, NotFound, PlatformError
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.flash_messages import flash_error
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page

Result = TypeVar("Result")


def perform(request: HtmxRequest, action: Callable[..., Result], **values: Any) -> Result:
    """Return what an action returns, called for the operator inside the tenant's scope."""
    with tenant_scope(request.tenant.id):
        return action(tenant_id=request.tenant.id, by=operator_actor(request.operator), now=timezone.now(), **values)


@contextmanager
def missing_is_404() -> Iterator[None]:
    """Answer 404 for a profile or a version that the tenant does not have."""
    try:
        yield
    except (NotFound, InvalidInput) as error:
        raise Http404 from error


@contextmanager
def errors_on_form(form: forms.Form, names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Show a refusal at the field it names (`names` renames fields), or above the form."""
    try:
        yield
    except PlatformError as error:
        add_error_to_form(form, error, names)


@contextmanager
def errors_as_flash(request: HtmxRequest) -> Iterator[None]:
    """Show a refusal as a message on the next page."""
    try:
        yield
    except PlatformError as error:
        flash_error(request, error.detail)


def ask_to_confirm(
    request: HtmxRequest,
    kind: ProfileKind,
    row: ProfileVersion,
    question: str,
    verb: str,
    said: list[str],
    changes: Sequence[tuple[str, ProfileFieldComparison]] = (),
) -> HttpResponse:
    """Return the page or the dialog that asks before a version changes."""
    page = {
        "section": kind.section,
        "question": question,
        "verb": verb,
        "said": said,
        "changes": changes,
        "back": version_url(request, row),
        "back_title": row.name,
    }
    return render_page(request, "context/profiles/profile_action.html", page)


def version_url(request: HtmxRequest, row: ProfileVersion) -> str:
    """Return the address of the page of a version."""
    if isinstance(row, BudgetProfile):
        return reverse("budget", args=[request.tenant.id, row.name])
    return f"{reverse('scoring-profile', args=[request.tenant.id, row.name])}?version={row.version}"


def selected_version(versions: list[ScoringProfileVersion], version: str | None) -> ScoringProfileVersion:
    """Return the version in the address; without one the active one, else the newest."""
    if version is None:
        return active_version(versions) or versions[0]
    found = next((row for row in versions if row.version == whole_number(version)), None)
    if found is None:
        raise Http404
    return found


def active_version(versions: list[ScoringProfileVersion]) -> ScoringProfileVersion | None:
    return next((row for row in versions if row.is_active), None)


def whole_number(text: str | None) -> int:
    """Return the number that `text` spells, -1 for any other text."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else -1
