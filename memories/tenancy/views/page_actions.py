"""How pages call actions, and how they show the errors of an action."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import IntegrityError
from django.forms import Form
from django.http import Http404
from django.utils import timezone

from memories.tenancy.exceptions import InvalidInput, NotFound, PlatformError, StaleVersion
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_of
from memory_platform.web.flash_messages import flash_error
from memory_platform.web.forms import PlatformForm
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.unavailable import is_conflict, log_conflict

Done = TypeVar("Done")
#: The code of the conflict with a version of a profile that the caller has not seen.
_NEWER_PROFILE = "profile_changed"


def by_operator(request: HtmxRequest) -> dict[str, Any]:
    """Return the arguments that every action of a page takes: `by` and `now`."""
    return {"by": operator_actor(request.operator), "now": timezone.now()}


def action_arguments(request: HtmxRequest) -> dict[str, Any]:
    """Return the arguments that actions of a page take: `tenant`, `by` and `now`."""
    return {"tenant": tenant_of(request), "by": operator_actor(request.operator), "now": timezone.now()}


def perform(request: HtmxRequest, action: Callable[..., Done], **values: Any) -> Done:
    """Return what an action of the tenant returns, called for the operator inside the tenant's scope."""
    with tenant_scope(request.tenant.id):
        return action(tenant_id=request.tenant.id, **values, **by_operator(request))


@contextmanager
def tenant_change(request: HtmxRequest) -> Iterator[None]:
    """Run the block in the tenant's scope; a refusal rolls back, and the next page shows it."""
    with errors_as_flash(request), tenant_scope(request.tenant.id):
        yield


@contextmanager
def errors_as_flash(request: HtmxRequest, text: str = "{}", *, if_stale: str = "") -> Iterator[None]:
    """Show a refusal in a message, `text`, on the next page; `if_stale` follows the refusal of a stale version."""
    try:
        yield
    except PlatformError as error:
        advice = f" {if_stale}" if if_stale and isinstance(error, StaleVersion) else ""
        flash_error(request, text.format(error.detail) + advice)


@contextmanager
def errors_on_form(form: Form, names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Show a refusal at the field it names (`names` renames fields), or above the form."""
    try:
        yield
    except PlatformError as error:
        add_error_to_form(form, error, names)


def add_error_to_form(form: Form, error: PlatformError, names: Mapping[str, str] | None = None) -> None:
    """Show a refusal as `errors_on_form` does."""
    if isinstance(form, PlatformForm):
        form.is_stale = isinstance(error, StaleVersion) or error.code == _NEWER_PROFILE
    for problem in error.problems:
        name = (names or {}).get(problem.field, problem.field)
        form.add_error(name if name in form.fields else None, problem.detail)


@contextmanager
def missing_is_404() -> Iterator[None]:
    """Respond with 404 for a row or a version that the tenant does not have."""
    try:
        yield
    except (NotFound, InvalidInput) as error:
        raise Http404 from error


def submit(
    request: HtmxRequest, form: PlatformForm, act: Callable[[], Done], names: Mapping[str, str] | None = None
) -> Done | None:
    """Return the result of `act` in the tenant's scope; None for an invalid form or after an error, added to it.

    A conflict with another request that stored or deleted the same row at that moment is also such an error. `names`
    are those of `errors_on_form`.
    """
    if not form.is_valid():
        return None
    try:
        with errors_on_form(form, names), tenant_scope(request.tenant.id):
            return act()
    except IntegrityError as error:
        if not is_conflict(error):
            raise
        log_conflict(error)
        form.add_error(None, "Someone else changed this item at the same time. Try again.")
    return None
