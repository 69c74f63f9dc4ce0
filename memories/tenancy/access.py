"""The tenants of an operator, the people of a tenant, and what every page of a tenant starts with."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import Http404, HttpResponseBase
from django.views.decorators.http import require_http_methods

from memories.models import Membership, Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import authentication_scope, tenant_scope
from memory_platform.web.forms import PlatformForm
from memory_platform.web.pages import HtmxRequest, Operator, PageView, Role, operator_required, role_of

Done = TypeVar("Done")


@dataclass(frozen=True)
class TenantMember:
    """A person who sees a tenant; `role` is None for an account without a role or sign-in permission."""

    user: User
    role: Role | None
    is_member: bool


def tenant_members(tenant_id: UUID) -> list[TenantMember]:
    """Return members by name, then other superusers. Runs in a scope; three queries."""
    people = [row.user for row in Membership.objects.for_tenant(tenant_id).with_roles()]
    members = [TenantMember(user, role_of(user), True) for user in people]
    others = User.objects.filter(is_superuser=True, is_staff=True, is_active=True).order_by("username")
    return members + [TenantMember(user, Role.ADMIN, False) for user in others if user not in people]


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
    """Return the row that `tenant_page` found."""
    return cast(Tenant, request.tenant)


def acting(request: HtmxRequest, now: datetime) -> dict[str, Any]:
    """Return the arguments that actions of a page take: `tenant`, `by` and `now`."""
    return {"tenant": tenant_of(request), "by": operator_actor(request.operator), "now": now}


def tenant_page(to_read: str = "", *, to_change: str = "") -> Callable[[PageView], PageView]:
    """Return the decorator of a page of one tenant, with the roles that may GET and POST; "" refuses the method.

    It turns the `tenant_id` of the URL into `request.tenant`, or answers 404. It opens no scope.
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
    """Return the result of `act` in the tenant's scope; None for an invalid form or after an error, added to it."""
    if not form.is_valid():
        return None
    try:
        with tenant_scope(request.tenant.id):
            return act()
    except PlatformError as error:
        form.add_error(error.field if error.field in form.fields else None, error.detail)
        return None
