"""The people who see a tenant: members with their roles, and superusers."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from memories.models import Membership
from memories.tenancy.queries.tenants import superusers, users_by_username
from memory_platform.web.pages import Role, role_of


@dataclass(frozen=True)
class TenantMember:
    """A person; `role` is None for an account without a role or sign-in permission."""

    user: User
    role: Role | None
    is_member: bool


def tenant_members(tenant_id: UUID) -> list[TenantMember]:
    """Return members by name, then other superusers. Runs in a scope; three queries."""
    rows = list(Membership.objects.for_tenant(tenant_id).with_roles())
    members = [_member(row) for row in rows]
    known = {row.user_id for row in rows}
    return members + [TenantMember(user, Role.ADMIN, False) for user in superusers() if user.pk not in known]


def _member(row: Membership) -> TenantMember:
    return TenantMember(row.user, role_of(row.user), True)


def find_user(username: str) -> User | None:
    """Return the user with that name, or None."""
    found: User | None = users_by_username(username).first()
    return found
