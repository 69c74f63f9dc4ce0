"""The conductor of regular work: finds it across tenants, does it tenant by tenant in that tenant's own scope."""

import logging
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.core.cache import cache

from memories import comparing, indexer, languages, recall
from memories.embedders import active_model_name
from memories.embedding import EmbeddingError
from memories.models import (
    EmbeddingModel,
    IdempotencyRecord,
    Memory,
    MemoryFinding,
    MemoryPair,
    PartitionCount,
    PartitionCountChange,
    RecalledText,
    RetrievalTick,
    Tenant,
    UncomparedMemory,
)
from memories.scopes import maintenance_scope, tenant_scope
from memories.services.hygiene import EXPIRES_SOON, EXPIRES_WITHIN, NEVER_RETRIEVED, NEVER_RETRIEVED_AFTER
from memories.services.recalled import RECALLED_TEXT_KEPT

logger = logging.getLogger(__name__)

#: A memory this young is most likely being embedded by whoever wrote it.
PENDING_GRACE = timedelta(seconds=10)
#: Memories one sweep takes; the next one follows in seconds.
SWEEP_BATCH = 500
SWEEP_LOCK = "memories.sweep-pending-embeddings"
SWEEP_LOCK_SECONDS = 300
COMPARE_LOCK = "memories.compare-new-memories"
COMPARE_LOCK_SECONDS = 600
#: Batches of one tenant in one sweep.
COMPARE_BATCHES_MAX = 20
IDEMPOTENCY_KEPT = timedelta(hours=24)
#: Changes of counts that are folded in one transaction.
FOLD_BATCH = 5_000
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
    """A temporary failure ends the sweep for its model: that provider is away, and the next sweep asks again.

    Tenants of such a model are passed over, so that none of the others waits behind them.
    """
    done = 0
    failing: set[str] = set()
    passed_over: set[UUID] = set()
    while True:
        former = len(passed_over)
        for tenant_id, memory_ids in _pending_by_tenant(now, passed_over).items():
            model = active_model_name(tenant_id)
            try:
                done += 0 if model in failing else indexer.index_memories(tenant_id, memory_ids)
            except EmbeddingError as error:
                failing.add(model)
                logger.warning("The sweep of pending embeddings left %s: %s", model, error.detail)
            if model in failing:
                passed_over.add(tenant_id)
        if len(passed_over) == former:
            return done


def _pending_by_tenant(now: datetime, passed_over: Collection[UUID]) -> dict[UUID, list[UUID]]:
    pending: dict[UUID, list[UUID]] = defaultdict(list)
    with maintenance_scope():
        rows = Memory.objects.of_other_tenants(passed_over).waiting_for_embedding(before=now - PENDING_GRACE)
        for tenant_id, memory_id in rows.values_list("tenant_id", "id")[:SWEEP_BATCH]:
            pending[tenant_id].append(memory_id)
    return pending


def embedding_models_with_work() -> list[tuple[UUID, UUID]]:
    """(tenant id, model id) of what is to be filled, finished or removed and nobody is at."""
    with maintenance_scope():
        return list(EmbeddingModel.objects.with_work().values_list("tenant_id", "pk"))


def fold_retrievals() -> int:
    """Fold in what contexts left behind, tenant by tenant; how many contexts there were."""
    with maintenance_scope():
        tenant_ids = RetrievalTick.objects.tenant_ids()
    return sum(recall.fold_retrievals(tenant_id) for tenant_id in tenant_ids)


def compare_new_memories(*, now: datetime) -> int:
    """Compare what came or changed with its partition, tenant by tenant; how many memories. One sweep runs at a time.

    Of a tenant with much to do a part; the next sweep goes on.
    """
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
        batch = comparing.compare_batch(tenant_id, now=now)
        compared += batch
        if not batch:
            break
    return compared


def find_faults(*, now: datetime) -> None:
    """Look through the memories of all tenants for those that were never retrieved or expire soon.

    Pairs of which one was archived are forgotten.
    """
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    for tenant_id in tenant_ids:
        with tenant_scope(tenant_id):
            findings = MemoryFinding.objects
            findings.find(tenant_id, NEVER_RETRIEVED, now=now, before=now - NEVER_RETRIEVED_AFTER)
            findings.find(tenant_id, EXPIRES_SOON, now=now, before=now + EXPIRES_WITHIN)
            MemoryPair.objects.for_tenant(tenant_id).open().of_archived().delete()


def leave_former_languages(*, now: datetime) -> int:
    """Finish changes of language, tenant by tenant; how many tenants are done with it."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.leaving_a_language().values_list("pk", flat=True))
    return sum(languages.leave_former_languages(tenant_id, now=now) for tenant_id in tenant_ids)


def count_common_words() -> int:
    """Count anew which words are common, tenant by tenant; how many are."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    return sum(languages.count_common_words(tenant_id) for tenant_id in tenant_ids)


def fold_counts() -> int:
    """Add what statements changed to the counts of partitions, tenant by tenant; how many changes there were."""
    with maintenance_scope():
        tenant_ids = PartitionCountChange.objects.tenant_ids()
    return sum(_fold_counts_of(tenant_id) for tenant_id in tenant_ids)


def _fold_counts_of(tenant_id: UUID) -> int:
    """A transaction for each batch: a worker that is killed in between has counted all of it or none."""
    folded = 0
    while True:
        with tenant_scope(tenant_id):
            batch = PartitionCountChange.objects.fold(tenant_id, FOLD_BATCH)
            PartitionCount.objects.for_tenant(tenant_id).empty().delete()
        folded += batch
        if batch < FOLD_BATCH:
            return folded


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
