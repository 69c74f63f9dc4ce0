"""The roles of operators (viewer, operator and admin) and their permissions."""

from dataclasses import dataclass
from enum import StrEnum

from django.contrib.auth.models import User


class Role(StrEnum):
    """A role of operators; the value is the name of the Django group. Each role includes the earlier ones."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        """Whether this role has all permissions of the other."""
        return list(Role).index(self) >= list(Role).index(other)

    @property
    def permits(self) -> str:
        """The permissions of the role, as the page layout and the settings page show them."""
        return _PERMITS[self]


_PERMITS = {
    Role.VIEWER: "Sees every page except keys and prompt. Previews and simulates, but changes nothing.",
    Role.OPERATOR: "Also edits memories, budgets and drafts of profiles, reviews compactions, creates snapshots.",
    Role.ADMIN: "Also publishes profiles, creates and revokes keys, changes settings, embedding model and prompt.",
}


@dataclass(frozen=True)
class Operator:
    """The signed-in user and the permissions that templates check."""

    user: User
    role: Role

    @property
    def can_edit(self) -> bool:
        return self.role.includes(Role.OPERATOR)

    @property
    def can_administer(self) -> bool:
        return self.role.includes(Role.ADMIN)


def role_of(user: User) -> Role | None:
    """Return the highest role of a staff user; a superuser is an admin; others have none."""
    if not (user.is_active and user.is_staff):
        return None
    if user.is_superuser:
        return Role.ADMIN
    groups = {group.name for group in user.groups.all()}
    return next((role for role in reversed(Role) if role.value in groups), None)
