"""Scheduled maintenance: fold retrieval counts and delete expired records, tenant by tenant."""

import logging
from datetime import datetime, timedelta
from uuid import UUID

from memories.models import IdempotencyRecord, RecalledText, RetrievalTick, Tenant
from memories.services.store.content import RECALLED_TEXT_KEPT
from memories.store import recall
from memories.tenancy.scopes import maintenance_scope, tenant_scope

logger = logging.getLogger(__name__)

IDEMPOTENCY_KEPT = timedelta(hours=24)
#: Rows deleted in one transaction.
FORGET_BATCH = 10_000


def fold_retrievals_of_tenants() -> int:
    """Fold the retrieval ticks of all tenants; return the number of contexts."""
    with maintenance_scope():
        tenant_ids = RetrievalTick.objects.tenant_ids()
    return sum(recall.fold_tenant_retrievals(tenant_id) for tenant_id in tenant_ids)


def delete_expired_records(*, now: datetime) -> int:
    """Delete expired records of all tenants; return the number of rows."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    return sum(_forget_of_tenant(tenant_id, now) for tenant_id in tenant_ids)


def _forget_of_tenant(tenant_id: UUID, now: datetime) -> int:
    with tenant_scope(tenant_id):
        answers = IdempotencyRecord.objects.for_tenant(tenant_id).created_before(now - IDEMPOTENCY_KEPT)
        recalled = RecalledText.objects.for_tenant(tenant_id).recalled_before(now - RECALLED_TEXT_KEPT)
        deleted = 0
        for rows in (answers, recalled):
            ids = list(rows.values_list("pk", flat=True)[:FORGET_BATCH])
            deleted += rows.model.objects.filter(pk__in=ids).delete()[0]
        return deleted
