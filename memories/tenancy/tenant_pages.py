"""The decorator of every page of a tenant, which states the roles that may read and change it."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, cast
from uuid import UUID

from django.db import IntegrityError
from django.http import Http404, HttpResponseBase
from django.views.decorators.http import require_http_methods

from memories.models import Tenant
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.members import operator_actor, tenants_of
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.forms import PlatformForm
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.permissions import PageView, operator_required
from memory_platform.web.unavailable import is_conflict, log_conflict

Done = TypeVar("Done")


def tenant_of(request: HtmxRequest) -> Tenant:
    """Return the row that `tenant_page` found."""
    return cast(Tenant, request.tenant)


def acting(request: HtmxRequest, now: datetime) -> dict[str, Any]:
    """Return the arguments that actions of a page take: `tenant`, `by` and `now`."""
    return {"tenant": tenant_of(request), "by": operator_actor(request.operator), "now": now}


def tenant_page(to_read: str = "", *, to_change: str = "") -> Callable[[PageView], PageView]:
    """Return the decorator of a page of one tenant, with the roles that may GET and POST; "" refuses the method.

    It turns the `tenant_id` of the URL into `request.tenant`, or returns 404. It opens no scope.
    """
    methods = [*(("GET", "HEAD") if to_read else ()), *(("POST",) if to_change else ())]

    def decorate(view: PageView) -> PageView:
        checked = require_http_methods(methods)(view)

        @operator_required(to_read or to_change, to_change=to_change)
        @wraps(view)
        def page(request: HtmxRequest, tenant_id: UUID, *args: Any, **kwargs: Any) -> HttpResponseBase:
            request.tenants = tenants_of(request.operator)
            tenant = next((tenant for tenant in request.tenants if tenant.id == tenant_id), None)
            if tenant is None:
                raise Http404
            request.tenant = tenant
            return checked(request, *args, **kwargs)

        return page

    return decorate


def submit(request: HtmxRequest, form: PlatformForm, act: Callable[[], Done]) -> Done | None:
    """Return the result of `act` in the tenant's scope; None for an invalid form or after an error, added to it.

    That another request stored or deleted the same at that moment is such an error.
    """
    if not form.is_valid():
        return None
    try:
        with tenant_scope(request.tenant.id):
            return act()
    except PlatformError as error:
        form.add_error(error.field if error.field in form.fields else None, error.detail)
    except IntegrityError as error:
        if not is_conflict(error):
            raise
        log_conflict(error)
        form.add_error(None, "Someone else changed the same thing at this moment. Try again.")
    return None
