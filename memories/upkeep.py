"""The conductor of regular work: finds it across tenants, does it tenant by tenant in that tenant's own scope."""

import logging
from collections import defaultdict
from datetime import datetime, timedelta
from uuid import UUID

from django.core.cache import cache

from memories import indexer, recall
from memories.embedding import EmbeddingError
from memories.models import IdempotencyRecord, Memory, RecalledText, RetrievalTick, Tenant
from memories.scopes import maintenance_scope, tenant_scope
from memories.services.recalled import RECALLED_TEXT_KEPT

logger = logging.getLogger(__name__)

#: A memory this young is most likely being embedded by whoever wrote it.
PENDING_GRACE = timedelta(seconds=10)
#: Memories one sweep takes; the next one follows in seconds.
SWEEP_BATCH = 500
SWEEP_LOCK = "memories.sweep-pending-embeddings"
SWEEP_LOCK_SECONDS = 300
IDEMPOTENCY_KEPT = timedelta(hours=24)
#: Rows deleted in one transaction.
FORGET_BATCH = 10_000


def embed_left_behind(*, now: datetime) -> int:
    """Embed the oldest pending memories of all tenants; how many were embedded. One sweep runs at a time."""
    if not cache.add(SWEEP_LOCK, True, SWEEP_LOCK_SECONDS):
        return 0
    try:
        return _embed_oldest(now)
    finally:
        cache.delete(SWEEP_LOCK)


def _embed_oldest(now: datetime) -> int:
    """A temporary failure ends the sweep: the provider is away, and the next sweep asks again."""
    done = 0
    try:
        for tenant_id, memory_ids in _pending_by_tenant(now).items():
            done += indexer.index_memories(tenant_id, memory_ids)
    except EmbeddingError as error:
        logger.warning("The sweep of pending embeddings stopped after %d: %s", done, error.detail)
    return done


def _pending_by_tenant(now: datetime) -> dict[UUID, list[UUID]]:
    pending: dict[UUID, list[UUID]] = defaultdict(list)
    with maintenance_scope():
        rows = Memory.objects.waiting_for_embedding(before=now - PENDING_GRACE)[:SWEEP_BATCH]
        for tenant_id, memory_id in rows.values_list("tenant_id", "id"):
            pending[tenant_id].append(memory_id)
    return pending


def fold_retrievals() -> int:
    """Fold in what contexts left behind, tenant by tenant; how many contexts there were."""
    with maintenance_scope():
        tenant_ids = RetrievalTick.objects.tenant_ids()
    return sum(recall.fold_retrievals(tenant_id) for tenant_id in tenant_ids)


def forget_old_records(*, now: datetime) -> int:
    """Delete what is past its time, tenant by tenant; how many rows went."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    return sum(_forget_of_tenant(tenant_id, now) for tenant_id in tenant_ids)


def _forget_of_tenant(tenant_id: UUID, now: datetime) -> int:
    with tenant_scope(tenant_id):
        answers = IdempotencyRecord.objects.for_tenant(tenant_id).created_before(now - IDEMPOTENCY_KEPT)
        recalled = RecalledText.objects.for_tenant(tenant_id).recalled_before(now - RECALLED_TEXT_KEPT)
        gone = 0
        for rows in (answers, recalled):
            ids = list(rows.values_list("pk", flat=True)[:FORGET_BATCH])
            gone += rows.model.objects.filter(pk__in=ids).delete()[0]
        return gone
