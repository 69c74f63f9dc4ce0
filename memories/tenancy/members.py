"""The tenants of an operator and the people of a tenant."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from memories.models import Membership, Tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import authentication_scope
from memory_platform.web.roles import Operator, Role, role_of


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
