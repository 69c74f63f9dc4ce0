"""Who sees a tenant: its members with their roles, and the superusers, who see every tenant."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from memories.models import Membership
from memories.tenancy.queries.tenants import superusers, users_named
from memory_platform.web.pages import Role, role_within


@dataclass(frozen=True)
class Member:
    """One person; `role` is None for an account without a role or that may not sign in."""

    user: User
    role: Role | None
    is_member: bool


def members_of(tenant_id: UUID) -> list[Member]:
    """Members by name, then superusers who are none. Runs in a scope of the tenant, in three queries."""
    rows = list(Membership.objects.for_tenant(tenant_id).with_roles())
    members = [_member(row) for row in rows]
    known = {row.user_id for row in rows}
    return members + [Member(user, Role.ADMIN, False) for user in superusers() if user.pk not in known]


def _member(row: Membership) -> Member:
    return Member(row.user, role_within(row.user, (group.name for group in row.user.groups.all())), True)


def person_named(username: str) -> User | None:
    """Whoever signs in by that name."""
    found: User | None = users_named(username).first()
    return found
