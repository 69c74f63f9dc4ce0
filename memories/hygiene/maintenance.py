"""Scheduled hygiene work: finds near-duplicates and other findings, tenant by tenant, each in its own scope."""

from datetime import datetime
from uuid import UUID

from django.core.cache import cache
from django.db.models import Q

from memories.hygiene import pair_detection
from memories.models import MemoryFinding, MemoryPair, Tenant, UncomparedMemory
from memories.services.hygiene.rules import EXPIRES_SOON, EXPIRES_WITHIN, NEVER_RETRIEVED, NEVER_RETRIEVED_AFTER
from memories.tenancy.scopes import maintenance_scope, tenant_scope

COMPARE_LOCK = "memories.compare-new-memories"
COMPARE_LOCK_SECONDS = 600
#: Batches of one tenant in one sweep.
COMPARE_BATCHES_MAX = 20


def compare_new_memories_of_tenants(*, now: datetime) -> int:
    """Compare new and changed memories of all tenants; return how many. One sweep runs at a time."""
    if not cache.add(COMPARE_LOCK, True, COMPARE_LOCK_SECONDS):
        return 0
    try:
        with maintenance_scope():
            tenant_ids = UncomparedMemory.objects.tenant_ids()
        return sum(_compare_of_tenant(tenant_id, now) for tenant_id in tenant_ids)
    finally:
        cache.delete(COMPARE_LOCK)


def _compare_of_tenant(tenant_id: UUID, now: datetime) -> int:
    compared = 0
    for _ in range(COMPARE_BATCHES_MAX):
        batch = pair_detection.detect_pairs_in_batch(tenant_id, now=now)
        compared += batch
        if not batch:
            break
    return compared


def find_unused_and_expiring_memories(*, now: datetime) -> None:
    """Find the never retrieved and soon expiring memories of all tenants; delete pairs with an archived memory."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    for tenant_id in tenant_ids:
        with tenant_scope(tenant_id):
            findings = MemoryFinding.objects
            findings.find(tenant_id, NEVER_RETRIEVED, now=now, before=now - NEVER_RETRIEVED_AFTER)
            findings.find(tenant_id, EXPIRES_SOON, now=now, before=now + EXPIRES_WITHIN)
            pairs = MemoryPair.objects.for_tenant(tenant_id).open()
            # A restored memory is compared again.
            pairs.filter(Q(older__archived_at__isnull=False) | Q(newer__archived_at__isnull=False)).delete()
