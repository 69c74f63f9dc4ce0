"""Scheduled embedding of memories that no writer embedded, across tenants."""

import logging
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.core.cache import cache

from memories.embeddings import indexer
from memories.embeddings.embedders import active_model_name
from memories.embeddings.providers import EmbeddingError
from memories.models import EmbeddingModel, Memory
from memories.tenancy.scopes import maintenance_scope

logger = logging.getLogger(__name__)

#: A younger memory is most likely being embedded by its writer.
PENDING_GRACE = timedelta(seconds=10)
#: Memories per sweep; the next one follows in seconds.
SWEEP_BATCH = 500
EMBEDDING_SWEEP_LOCK = "memories.sweep-pending-embeddings"
_SWEEP_LOCK_SECONDS = 300


def embed_pending_memories(*, now: datetime) -> int:
    """Embed the oldest pending memories of all tenants; return how many. One sweep runs at a time."""
    if not cache.add(EMBEDDING_SWEEP_LOCK, True, _SWEEP_LOCK_SECONDS):
        return 0
    try:
        return _embed_oldest(now)
    finally:
        cache.delete(EMBEDDING_SWEEP_LOCK)


def _embed_oldest(now: datetime) -> int:
    """Embed until nothing is left; skip the tenants of a model that failed temporarily until the next sweep."""
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
    """Return (tenant id, model id) of unclaimed models to fill, finish or remove."""
    with maintenance_scope():
        return list(EmbeddingModel.objects.with_work().values_list("tenant_id", "pk"))
