"""Which tenants an operator may open; the decorator that finds the one in the address; whether anybody is there yet."""

from functools import wraps
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import Http404, HttpResponseBase

from memories.models import Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import authentication_scope
from memory_platform.web.pages import HtmxRequest, Operator, PageView


def tenants_of(operator: Operator) -> list[Tenant]:
    """The tenants an operator is a member of, by name; a superuser sees all that are not hidden."""
    with authentication_scope():
        tenants = Tenant.objects.visible()
        return list(tenants if operator.user.is_superuser else tenants.of_member(operator.user.pk))


def has_tenants() -> bool:
    """Whether the deployment holds any tenant yet."""
    with authentication_scope():
        return Tenant.objects.visible().exists()


def has_operators() -> bool:
    """Whether anybody can sign in yet."""
    return User.objects.exists()


def operator_actor(operator: Operator) -> Actor:
    """The operator as the audit log names them."""
    return Actor.operator(operator.user.pk, operator.user.get_username())


def tenant_of(request: HtmxRequest) -> Tenant:
    """The row that `tenant_required` found, for verbs that take one."""
    return cast(Tenant, request.tenant)


def tenant_required(view: PageView) -> PageView:
    """Turn the address's `tenant_id` into `request.tenant`; another's tenant is as absent as one that does not exist.

    Stands below `operator_required`, and opens no scope: the view does, around what it reads.
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
