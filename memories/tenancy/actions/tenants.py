"""Create tenants, including the hidden ones of evaluations, and delete hidden tenants."""

import logging
from datetime import datetime

from django.db import IntegrityError, transaction

from memories.models import Memory, Tenant
from memories.services.tenancy.tenant_names import TenantNameError, check_tenant_name, hidden_name
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.audit_chain import delete_audit_log
from memories.tenancy.exceptions import Conflict, InvalidInput
from memories.tenancy.languages import check_language
from memories.tenancy.queries.languages import DEFAULT_TEXT_SEARCH_CONFIG

logger = logging.getLogger(__name__)


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
    tenant: Tenant | None = Tenant.objects.all().hidden().named(hidden_name(words)).first()
    if tenant is None:
        return False
    # A partition with memories cannot be deleted.
    Memory.objects.for_tenant(tenant.pk).delete()
    tenant_id = tenant.pk
    tenant.delete()
    delete_audit_log([tenant_id])
    logger.debug("hidden tenant dropped by %s", by.label)
    return True
