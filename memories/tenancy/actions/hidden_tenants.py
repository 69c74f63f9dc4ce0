"""Create and drop hidden tenants."""

import logging
from datetime import datetime

from django.db import transaction

from memories.models import Memory, Tenant
from memories.services.tenancy.hidden_tenants import hidden_name
from memories.tenancy.audit import Actor, record_audit

logger = logging.getLogger(__name__)


@transaction.atomic
def create_hidden_tenant(*, words: str, by: Actor, now: datetime) -> Tenant:
    """Return the hidden tenant with that name, created if absent; runs in `admin_write_scope`."""
    tenant, is_new = Tenant.objects.get_or_create(name=hidden_name(words), defaults={"created_at": now})
    if is_new:
        record_audit(
            tenant_id=tenant.pk,
            by=by,
            verb="create_tenant",
            target_kind="tenant",
            target_ids=[tenant.pk],
            fields=["name"],
            now=now,
        )
    return tenant


@transaction.atomic
def drop_hidden_tenant(*, words: str, by: Actor) -> bool:
    """Delete the hidden tenant with all its rows, audit rows included; return whether there was one.

    Runs in `admin_write_scope`; the actor is in the debug log.
    """
    tenant: Tenant | None = Tenant.objects.hidden().named(hidden_name(words)).first()
    if tenant is None:
        return False
    # A partition with memories cannot be deleted.
    Memory.objects.for_tenant(tenant.pk).delete()
    tenant.delete()
    logger.debug("hidden tenant dropped by %s", by.label)
    return True
