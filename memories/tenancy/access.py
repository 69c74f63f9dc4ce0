"""The tenants of an operator, and the decorator that resolves the one in the URL."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import Http404, HttpResponseBase
from django.views.decorators.http import require_http_methods

from memories.models import Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import authentication_scope
from memory_platform.web.pages import HtmxRequest, Operator, PageView, operator_required


def tenants_of(operator: Operator) -> list[Tenant]:
    """Return the tenants of an operator by name; for a superuser all that are not hidden."""
    with authentication_scope():
        tenants = Tenant.objects.visible()
        return list(tenants if operator.user.is_superuser else tenants.of_member(operator.user.pk))


def has_tenants() -> bool:
    """Whether the deployment has any tenant."""
    with authentication_scope():
        return Tenant.objects.visible().exists()


def has_operators() -> bool:
    """Whether anyone can sign in."""
    return User.objects.exists()


def operator_actor(operator: Operator) -> Actor:
    """Return the operator as the actor of audit rows."""
    return Actor.operator(operator.user.pk, operator.user.get_username())


def tenant_of(request: HtmxRequest) -> Tenant:
    """Return the row that `tenant_required` found."""
    return cast(Tenant, request.tenant)


def tenant_required(view: PageView) -> PageView:
    """Turn the URL's `tenant_id` into `request.tenant`; a tenant of others is not found.

    Put it below `operator_required`. It opens no scope; the view does.
    """

    @wraps(view)
    def page(request: HtmxRequest, tenant_id: UUID, *args: Any, **kwargs: Any) -> HttpResponseBase:
        request.tenants = tenants_of(request.operator)
        tenant = next((tenant for tenant in request.tenants if tenant.id == tenant_id), None)
        if tenant is None:
            raise Http404
        request.tenant = tenant
        return view(request, *args, **kwargs)

    return page


def tenant_page(role: str, *methods: str, to_change: str = "") -> Callable[[PageView], PageView]:
    """Return the decorator of a tenant's page: its roles (as `operator_required`) and methods, GET unless given."""
    allowed = [*methods, "HEAD"] if "GET" in methods else list(methods or ("GET", "HEAD"))

    def decorate(view: PageView) -> PageView:
        return operator_required(role, to_change=to_change)(tenant_required(require_http_methods(allowed)(view)))

    return decorate
