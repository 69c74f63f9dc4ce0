"""The tenants of an operator and the people of a tenant."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User

from memories.models import Membership, SecondFactor, Tenant
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.scopes import authentication_scope, tenant_scope
from memory_platform.web.roles import Operator, Role, role_of


@dataclass(frozen=True)
class TenantMember:
    """A person who sees a tenant; `role` is None for an account without a role or sign-in permission."""

    user: User
    role: Role | None
    is_member: bool
    #: Whether the operator who views the page may change the role.
    has_own_role: bool = False
    has_second_factor: bool = False
    #: Whether the operator may remove the second factor: of another person, as a superuser or if they may change the
    #: role.
    may_reset: bool = False


def tenant_members(tenant_id: UUID, operator: Operator) -> list[TenantMember]:
    """Return members by name, then other superusers. Runs in a scope; up to five queries."""
    people = [row.user for row in Membership.objects.for_tenant(tenant_id).with_roles()]
    fixed = users_with_fixed_roles(people, operator) if operator.can_administer else {user.pk for user in people}
    superusers = User.objects.filter(is_superuser=True, is_staff=True, is_active=True).order_by("username")
    others = [user for user in superusers if user not in people]
    with_factor = SecondFactor.objects.user_ids([user.pk for user in (*people, *others)])

    def member(user: User, role: Role | None, *, is_member: bool) -> TenantMember:
        has_own_role, has_factor = is_member and user.pk not in fixed, user.pk in with_factor
        is_allowed = operator.user.is_superuser or (operator.can_administer and has_own_role)
        return TenantMember(user, role, is_member, has_own_role, has_factor, is_allowed and user != operator.user)

    members = [member(user, role_of(user), is_member=True) for user in people]
    return members + [member(user, Role.ADMIN, is_member=False) for user in others]


def users_with_fixed_roles(users: Iterable[User], operator: Operator) -> set[int]:
    """Return the ids of users whose role the admin may not change: superusers, and members of other tenants.

    A role applies in all tenants of a person, so an admin of one tenant must not assign it in another.
    """
    by_id = {user.pk: user for user in users}
    fixed = {pk for pk, user in by_id.items() if user.is_superuser}
    if operator.user.is_superuser:
        return fixed
    own = [tenant.pk for tenant in tenants_of(operator)]
    with authentication_scope():
        return fixed | Membership.objects.all().of_users(by_id.keys()).user_ids_outside(own)


def tenants_of(operator: Operator) -> list[Tenant]:
    """Return the tenants of an operator by name; for a superuser all that are not hidden."""
    return tenants_of_user(operator.user)


def tenants_of_user(user: User) -> list[Tenant]:
    """Return the tenants of a user, who need not have signed in."""
    with authentication_scope():
        tenants = Tenant.objects.visible()
        return list(tenants if user.is_superuser else tenants.of_member(user.pk))


def record_of_account(verb: str, user: User, *, fields: Iterable[str] = (), by: Actor, now: datetime) -> None:
    """Write an audit entry in every tenant that an account sees."""
    for tenant in tenants_of_user(user):
        with tenant_scope(tenant.pk):
            record_audit(verb, "user", [user.pk], tenant_id=tenant.pk, fields=fields, by=by, now=now)


def visible_tenant(tenant_id: UUID) -> Tenant | None:
    """Return a tenant before anyone has signed in; None for an absent or hidden one."""
    with authentication_scope():
        tenant: Tenant | None = Tenant.objects.visible().of_tenants([tenant_id]).first()
        return tenant


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
