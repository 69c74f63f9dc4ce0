"""Tenants that nobody looks after: made for one purpose and dropped with everything in them."""

import logging
from datetime import datetime

from django.db import transaction

from memories.models import Memory, Tenant
from memories.services.tenancy.hidden_tenants import hidden_name
from memories.tenancy.audit import Actor, record_audit

logger = logging.getLogger(__name__)


@transaction.atomic
def create_hidden_tenant(*, words: str, by: Actor, now: datetime) -> Tenant:
    """A tenant that no operator sees, or the one of that name; runs in `admin_write_scope`."""
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
    """Delete the hidden tenant of that name with all its rows, the audit's too; whether there was one.

    Runs in `admin_write_scope`; who did it stands in the log for debugging: it is always the program itself.
    """
    tenant: Tenant | None = Tenant.objects.hidden().named(hidden_name(words)).first()
    if tenant is None:
        return False
    # no partition goes while a memory lies in it
    Memory.objects.for_tenant(tenant.pk).delete()
    tenant.delete()
    logger.debug("hidden tenant dropped by %s", by.label)
    return True
