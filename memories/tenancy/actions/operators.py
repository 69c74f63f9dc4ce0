"""Create operators, and add them to tenants or remove them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from memories.models import Membership, Tenant
from memories.tenancy.audit import Actor, ChangedValue, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound, StaleVersion
from memories.tenancy.scopes import authentication_scope, tenant_scope
from memory_platform.web.roles import Role, role_of

#: Models that the group `admin` may change in Django admin.
ADMIN_MODELS = ("tenant", "membership", "apikey", "memory", "memoryversion", "memorylink", "tenantmemo", "auditentry")


@transaction.atomic
def create_operator(
    *,
    username: str,
    password: str,
    role: str,
    tenants: Sequence[Tenant],
    sees_every_tenant: bool = False,
    by: Actor,
    now: datetime,
) -> User:
    """Create a user who can sign in, with a role (viewer, operator, admin) and membership of the given tenants."""
    # The sign-in form normalises names, so another form of one could never sign in.
    user = User(username=User.normalize_username(username.strip()), is_staff=True, is_superuser=sees_every_tenant)
    operator_role = _role(role)
    for field, validate in (("username", _check_username), ("password", partial(validate_password, password))):
        try:
            validate(user)
        except ValidationError as error:
            raise InvalidInput("bad_login", " ".join(error.messages), field) from error
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError as error:
        raise Conflict("duplicate", f"An operator named {username!r} already exists.", "username") from error
    user.groups.add(_group(operator_role))
    for tenant in tenants:
        add_member(user=user, tenant=tenant, by=by, now=now)
    return user


@transaction.atomic
def add_member(*, user: User, tenant: Tenant, by: Actor, now: datetime) -> Membership:
    """Make an operator a member of a tenant; has no effect on a member."""
    membership, is_new = Membership.objects.get_or_create(user=user, tenant=tenant)
    if is_new:
        _audit_member("add_member", user.pk, tenant.pk, by, now)
    return membership


@transaction.atomic
def change_role(
    *, membership: Membership, role: str, replaces: str | None = None, is_fixed: bool, by: Actor, now: datetime
) -> Role:
    """Give a member another role, which applies in all their tenants; return it.

    Raises `InvalidInput`, or `Conflict`: `fixed_role` if the caller may not change it (`users_with_fixed_roles`), or
    `last_admin` if one of their tenants would have no admin. `StaleVersion` if the present role, or "none", is not
    `replaces`, `NotFound` if the member was removed.
    """
    new = _role(role)
    if not _is_present(membership):
        raise NotFound("not_found", f"{membership.user.get_username()} is no longer a member.")
    # An admin of another tenant locks other memberships. With its key free, the groups can refer to the row.
    user = User.objects.select_for_update(no_key=True).get(pk=membership.user_id)
    if replaces is not None and replaces != (role_of(user) or "none"):
        raise StaleVersion("stale_version", f"Someone else changed the role of {user.get_username()}.", "role")
    if is_fixed:
        detail = f"{user.get_username()} is a superuser or belongs to other tenants. A superuser changes the role."
        raise Conflict("fixed_role", detail, "role")
    former = role_of(user)
    if new == former:
        return new
    if new is not Role.ADMIN:
        with authentication_scope():
            tenant_ids = Membership.objects.all().of_users([user.pk]).tenant_ids()
        _keep_an_admin(membership, tenant_ids)
    groups = {role: _group(role) for role in Role}
    user.groups.remove(*groups.values())
    user.groups.add(groups[new])
    tenant_id = membership.tenant_id
    change = ChangedValue(user.pk, "role", former, new)
    who: dict[str, Any] = {"tenant_id": tenant_id, "by": by, "now": now}
    record_audit("change_role", "user", [user.pk], fields=["role"], changes=[change], **who)
    return new


@transaction.atomic
def remove_member(*, membership: Membership, by: Actor, now: datetime) -> None:
    """Remove an operator's access to a tenant, if they have it. Raises `Conflict` `last_admin`."""
    if not _is_present(membership):
        return
    _keep_an_admin(membership, [membership.tenant_id])
    tenant, user_id = membership.tenant, membership.user_id
    membership.delete()
    _audit_member("remove_member", user_id, tenant.pk, by, now)


@transaction.atomic
def delete_operator(*, user: User, by: Actor, now: datetime) -> None:
    """Delete an account and its memberships, in a scope that sees them all. Raises `Conflict` `last_admin`."""
    for membership in Membership.objects.all().of_users([user.pk]):
        with tenant_scope(membership.tenant_id):
            remove_member(membership=membership, by=by, now=now)
    user.delete()


def _audit_member(verb: str, user_id: int, tenant_id: UUID, by: Actor, now: datetime) -> None:
    is_member = verb == "add_member"
    change = ChangedValue(user_id, "member", not is_member, is_member)
    record_audit(verb, "user", [user_id], tenant_id=tenant_id, changes=[change], by=by, now=now)


def _is_present(membership: Membership) -> bool:
    """Lock the members of the tenant until the transaction ends; False if this one was removed meanwhile."""
    return membership in list(Membership.objects.for_tenant(membership.tenant_id).locked())


def _keep_an_admin(membership: Membership, tenant_ids: Collection[UUID]) -> None:
    """Raise `Conflict` `last_admin` if one of these tenants would have no admin without this member."""
    with authentication_scope():
        rows = Membership.objects.of_tenants(tenant_ids).with_roles()
        admins = {(row.tenant_id, row.user_id) for row in rows if role_of(row.user) is Role.ADMIN}
    kept = {tenant_id for tenant_id, user_id in admins if user_id != membership.user_id}
    if {tenant_id for tenant_id, _ in admins} - kept:
        name = membership.user.get_username()
        raise Conflict(
            "last_admin", f"{name} is the only admin of a tenant. Make another member an admin first.", "role"
        )


def _role(name: str) -> Role:
    try:
        return Role(name)
    except ValueError as error:
        raise InvalidInput("bad_role", f"The role must be one of {', '.join(Role)}.", "role") from error


def _check_username(user: User) -> None:
    User.username_validator(user.username)
    if not user.username.strip("."):  # browsers remove `.` and `..` from the URLs of a member
        raise ValidationError("Enter a name with a letter or a digit.")


def _group(role: Role) -> Group:
    """Return the group of a role, created if absent; only `admin` has permissions in Django admin."""
    group, _ = Group.objects.get_or_create(name=role.value)
    if role is Role.ADMIN:
        rights = Permission.objects.filter(content_type__app_label="memories", content_type__model__in=ADMIN_MODELS)
        group.permissions.set(rights)
    return group
