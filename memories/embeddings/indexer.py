"""Embed memories: read the pending ones, embed outside any transaction, store the vectors by version.

A vector belongs to one version of a memory; a concurrent edit leaves the new version pending. Other local models of the
tenant get their vectors in the same step; vectors of remote models are recorded as missing and computed later
(ADR-0082).
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np

from memories.embeddings.embedders import active_model_name, embedders_for_writing, is_local_for
from memories.embeddings.providers import Embedder, EmbeddingError
from memories.embeddings.vectors import EmbeddedBatch, PendingVector, VectorsAhead, add_missing_vectors, record_vectors
from memories.models import EmbeddingModel, Memory
from memories.services.time_limits import TimeIsUpError, in_time
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import SweepLock, sweep_lock

logger = logging.getLogger(__name__)

MAX_ERROR_CHARACTERS = 200
#: A younger memory is probably being embedded by its writer.
PENDING_GRACE = timedelta(seconds=10)
#: Memories per sweep, which are sorted once, and per batch; the next sweep follows within seconds.
SWEEP_MAX = 20_000
SWEEP_BATCH = 500
EMBEDDING_SWEEP_LOCK = "memories.sweep-pending-embeddings"


def index_memories(tenant_id: UUID, memory_ids: Iterable[UUID], embedder: Embedder | None = None) -> int:
    """Embed those of the memories that are pending, in batches; return how many were embedded. Call with no scope open.

    A refused text is marked as failed. A temporary failure leaves the rest pending and raises `EmbeddingError`.
    """
    ids = list(memory_ids)
    if not ids:
        return 0
    embedders = [embedder] if embedder else embedders_for_writing(tenant_id)
    size = embedders[0].batch_size
    batches = (ids[start : start + size] for start in range(0, len(ids), size))
    return sum(_index_batch(tenant_id, batch, embedders) for batch in in_time(batches))


def embed_ahead(tenant_id: UUID, texts: Iterable[str], revision: int | None = None) -> VectorsAhead | None:
    """Return the vectors of texts that are about to be stored, so that one transaction writes both (ADR-0105).

    `revision` is that of the tenant's settings, which authentication read. The result is None if
    the model is remote or fails: the memories are then stored as pending. Call with no scope open.
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if not places or not is_local_for(tenant_id):
        return None
    try:
        made = [_embedded(embedder, list(places)) for embedder in embedders_for_writing(tenant_id, revision)]
    except EmbeddingError as error:
        logger.warning("Embedding in the request failed, left to the sweep: %s", error.detail)
        return None
    return VectorsAhead(made, places)


def _embedded(embedder: Embedder, texts: Sequence[str]) -> EmbeddedBatch:
    size = embedder.batch_size
    batches = [embedder.embed(texts[start : start + size]) for start in in_time(range(0, len(texts), size))]
    return EmbeddedBatch(embedder, np.concatenate(batches))


def index_now(tenant_id: UUID, memory_ids: Iterable[UUID]) -> None:
    """Embed immediately after the commit if the model is local; memories that fail or take too long stay pending."""
    if not is_local_for(tenant_id):
        return
    try:
        with suppress(TimeIsUpError):
            index_memories(tenant_id, memory_ids)
    except EmbeddingError as error:
        logger.warning("Embedding in the request failed, left to the sweep: %s", error.detail)


def _index_batch(tenant_id: UUID, memory_ids: Sequence[UUID], embedders: Sequence[Embedder]) -> int:
    with tenant_scope(tenant_id):
        rows = Memory.objects.for_tenant(tenant_id).pending_embedding().filter(pk__in=memory_ids)
        waiting = [PendingVector(*values) for values in rows.order_by("id").values_list("id", "version", "content")]
    if not waiting:
        return 0
    texts = [item.content for item in waiting]
    active, *beside = embedders
    try:
        made = [EmbeddedBatch(active, active.embed(texts))]
    except EmbeddingError as error:
        return _after_failure(tenant_id, waiting, embedders, error)
    for embedder in beside:
        try:
            made.append(EmbeddedBatch(embedder, embedder.embed(texts)))
        except EmbeddingError as error:
            logger.warning("Vectors of models other than the active one are computed later: %s", error.detail)
    return record_vectors(tenant_id, waiting, made, notes_missing=True)


def _after_failure(
    tenant_id: UUID, waiting: Sequence[PendingVector], embedders: Sequence[Embedder], error: EmbeddingError
) -> int:
    """Record the reason; find the refused text among several by halving the batch."""
    if error.is_permanent and len(waiting) > 1:
        middle = len(waiting) // 2
        halves = ([item.memory_id for item in half] for half in (waiting[:middle], waiting[middle:]))
        return sum(_index_batch(tenant_id, half, embedders) for half in halves)
    state = Memory.EmbeddingState.FAILED if error.is_permanent else Memory.EmbeddingState.PENDING
    with tenant_scope(tenant_id):
        rows = Memory.objects.for_tenant(tenant_id).pending_embedding()
        for item in waiting:
            row = rows.filter(pk=item.memory_id, version=item.version)
            row.update(embedding_state=state, embedding_error=error.detail[:MAX_ERROR_CHARACTERS])
        if error.is_permanent:
            add_missing_vectors(tenant_id, waiting)
    if not error.is_permanent:
        raise error
    logger.warning("Memory %s cannot be embedded: %s", waiting[0].memory_id, error.detail)
    return 0


def embed_pending_memories(*, now: datetime) -> int:
    """Embed the oldest pending memories of each tenant in turn; return how many. One sweep runs at a time."""
    with sweep_lock(EMBEDDING_SWEEP_LOCK) as lock:
        return 0 if lock is None else _embed_oldest(now, lock)


def _embed_oldest(now: datetime, lock: SweepLock) -> int:
    """Embed in batches; skip the tenants of a model that failed temporarily until the next sweep."""
    done = 0
    failing: set[str] = set()
    passed_over: set[UUID] = set()
    for pending in in_time(_pending_batches(now, passed_over)):
        if not lock.renew():
            break
        for tenant_id, memory_ids in pending.items():
            if tenant_id in passed_over:
                continue
            model = active_model_name(tenant_id)
            try:
                done += 0 if model in failing else index_memories(tenant_id, memory_ids)
            except EmbeddingError as error:
                failing.add(model)
                logger.warning("The sweep did not embed %s: %s", model, error.detail)
            if model in failing:
                passed_over.add(tenant_id)
    return done


def _pending_batches(now: datetime, passed_over: Collection[UUID]) -> Iterator[dict[UUID, list[UUID]]]:
    """Return the pending memories of each batch by tenant; read others after tenants were passed over."""
    former = -1
    while len(passed_over) > former:
        former = len(passed_over)
        with maintenance_scope():
            rows = Memory.objects.of_other_tenants(passed_over).waiting_for_embedding(before=now - PENDING_GRACE)
            in_turn = rows.with_turn("recorded_from", "id").order_by("turn", "recorded_from", "id")
            waiting = list(in_turn.values_list("tenant_id", "id")[:SWEEP_MAX])
        for start in range(0, len(waiting), SWEEP_BATCH):
            pending: dict[UUID, list[UUID]] = defaultdict(list)
            for tenant_id, memory_id in waiting[start : start + SWEEP_BATCH]:
                pending[tenant_id].append(memory_id)
            yield pending


def embedding_models_with_work() -> list[tuple[UUID, UUID]]:
    """Return (tenant id, model id) of unclaimed models to fill, finish or remove."""
    with maintenance_scope():
        return list(EmbeddingModel.objects.with_work().values_list("tenant_id", "pk"))
