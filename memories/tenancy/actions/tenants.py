"""Create tenants, hidden ones too, API keys, operators and memberships."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import cast

from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from memories.models import ApiKey, Membership, Memory, Tenant
from memories.services.partitions.paths import PartitionPath
from memories.services.tenancy.tenant_names import TenantNameError, check_tenant_name, hidden_name
from memories.tenancy.audit import Actor, audit_rows, record_audit
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.languages import check_language
from memories.tenancy.queries.languages import DEFAULT_TEXT_SEARCH_CONFIG
from memory_platform.web.pages import Role

logger = logging.getLogger(__name__)

MAX_KEY_NAME_CHARACTERS = 50
#: Models that the group `admin` may change in Django admin.
ADMIN_MODELS = ("tenant", "membership", "apikey", "memory", "memoryversion", "memorylink", "tenantmemo", "auditentry")


@transaction.atomic
def create_tenant(*, name: str, language: str = DEFAULT_TEXT_SEARCH_CONFIG, by: Actor, now: datetime) -> Tenant:
    """Create a tenant; runs in `admin_write_scope`. Raises `InvalidInput` or `Conflict` `duplicate`."""
    try:
        name = check_tenant_name(name)
    except TenantNameError as error:
        raise InvalidInput(error.code, error.detail, "name") from error
    check_language(language)
    try:
        with transaction.atomic():
            tenant = Tenant.objects.create(name=name, text_search_config=language, created_at=now)
    except IntegrityError as error:
        raise Conflict("duplicate", f"A tenant named {name!r} already exists; case is ignored.", "name") from error
    record_audit("create_tenant", "tenant", [tenant.pk], tenant_id=tenant.pk, fields=["name"], by=by, now=now)
    return tenant


@transaction.atomic
def create_hidden_tenant(*, words: str, by: Actor, now: datetime) -> Tenant:
    """Return the hidden tenant with that name, created if absent; runs in `admin_write_scope`."""
    tenant, is_new = Tenant.objects.get_or_create(name=hidden_name(words), defaults={"created_at": now})
    if is_new:
        record_audit("create_tenant", "tenant", [tenant.pk], tenant_id=tenant.pk, fields=["name"], by=by, now=now)
    return tenant


@transaction.atomic
def drop_hidden_tenant(*, words: str, by: Actor) -> bool:
    """Delete the hidden tenant with all its rows, audit rows included; return whether there was one."""
    tenant: Tenant | None = Tenant.objects.hidden().named(hidden_name(words)).first()
    if tenant is None:
        return False
    # A partition with memories cannot be deleted.
    Memory.objects.for_tenant(tenant.pk).delete()
    tenant.delete()
    logger.debug("hidden tenant dropped by %s", by.label)
    return True


@transaction.atomic
def create_api_key(
    *,
    tenant: Tenant,
    name: str,
    scopes: Iterable[str],
    partition: PartitionPath | None = None,
    refuses_recalled_text: bool = True,
    by: Actor,
    now: datetime,
) -> tuple[ApiKey, str]:
    """Create a key; return it and its plain text, which is not stored. Raises `InvalidInput`."""
    wanted = list(dict.fromkeys(scopes))
    unknown = [scope for scope in wanted if scope not in ApiKey.Scope.values]
    if unknown or not wanted:
        raise InvalidInput("bad_scope", f"Scopes are one or more of {', '.join(ApiKey.Scope.values)}.", "scopes")
    name = name.strip()
    if not name or len(name) > MAX_KEY_NAME_CHARACTERS or "\x00" in name:
        raise InvalidInput("bad_name", f"A key's name has 1 to {MAX_KEY_NAME_CHARACTERS} characters.", "name")
    created, plain_key = ApiKey.objects.create_key(
        name=name,
        tenant=tenant,
        scopes=wanted,
        partition_prefix=partition.path if partition else "",
        refuses_recalled_text=refuses_recalled_text,
    )
    key = cast(ApiKey, created)
    audit_rows("create_api_key", [key], fields=["name", "scopes", "partition_prefix"], by=by, now=now)
    return key, plain_key


@transaction.atomic
def revoke_api_key(*, key: ApiKey, by: Actor, now: datetime) -> ApiKey:
    """Revoke a key for good; a revoked one stays as it is."""
    if not key.revoked:
        key.revoked = True
        key.save(update_fields=["revoked"])
        audit_rows("revoke_api_key", [key], fields=["revoked"], by=by, now=now)
    return key


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
    user = User(username=username.strip(), is_staff=True, is_superuser=sees_every_tenant)
    try:
        wanted = Role(role)
        User.username_validator(user.username)
        validate_password(password, user)
    except ValueError as error:
        raise InvalidInput("bad_role", f"A role is one of {', '.join(Role)}.", "role") from error
    except ValidationError as error:
        raise InvalidInput("bad_login", " ".join(error.messages), "username") from error
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError as error:
        raise Conflict("duplicate", f"An operator named {username!r} already exists.", "username") from error
    user.groups.add(_groups()[wanted])
    for tenant in tenants:
        add_member(user=user, tenant=tenant, by=by, now=now)
    return user


@transaction.atomic
def add_member(*, user: User, tenant: Tenant, by: Actor, now: datetime) -> Membership:
    """Make an operator a member of a tenant, if they are not."""
    membership, is_new = Membership.objects.get_or_create(user=user, tenant=tenant)
    if is_new:
        record_audit("add_member", "user", [user.pk], tenant_id=tenant.pk, by=by, now=now)
    return membership


@transaction.atomic
def remove_member(*, membership: Membership, by: Actor, now: datetime) -> None:
    """Remove an operator's access to a tenant."""
    tenant, user_id = membership.tenant, membership.user_id
    membership.delete()
    record_audit("remove_member", "user", [user_id], tenant_id=tenant.pk, by=by, now=now)


def _groups() -> dict[Role, Group]:
    """Return the three groups, created if absent; only `admin` has permissions in Django admin."""
    groups = {role: Group.objects.get_or_create(name=role.value)[0] for role in Role}
    rights = Permission.objects.filter(content_type__app_label="memories", content_type__model__in=ADMIN_MODELS)
    groups[Role.ADMIN].permissions.set(rights)
    return groups
