"""The decorator of every page of a tenant, which states the roles that may read and change it."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, cast
from uuid import UUID

from django.http import Http404, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from memories.models import Tenant
from memories.tenancy.members import tenants_of
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.permissions import PageView, operator_required


def tenant_of(request: HtmxRequest) -> Tenant:
    """Return the row that `tenant_page` found."""
    return cast(Tenant, request.tenant)


def shown_state(request: HtmxRequest, field: str) -> str:
    """Return the state that a form showed: a field of the form, or a parameter of the URL of an undo."""
    return request.POST.get(field) or request.GET.get(field, "")


def tenant_page(to_read: str = "", *, to_change: str = "", state: str = "") -> Callable[[PageView], PageView]:
    """Return the decorator of a page of one tenant, with the roles that may GET and POST; "" refuses the method.

    It turns the `tenant_id` of the URL into `request.tenant`, or returns 404. It opens no scope. `state` is the field
    with the version, time or values that the form showed, which `shown_state` returns; a POST without it gets 428,
    because it could overwrite a change that its user did not see (ADR-0275).
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
            if state and request.method == "POST" and not shown_state(request, state):
                return render(request, "428.html", {"field": state}, status=HTTPStatus.PRECONDITION_REQUIRED)
            return checked(request, *args, **kwargs)

        return page

    return decorate
