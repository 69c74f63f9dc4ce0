"""The conductor of embedding: read what waits, embed outside any transaction, record by version.

A vector belongs to one version of a memory. An edit in between leaves the new version pending, whoever was faster.
Models beside the active one get their vector in the same step where they are of this machine; else it is noted as
missing in the same transaction and made later (ADR-0082).
"""

import logging
from collections.abc import Iterable, Sequence
from uuid import UUID

from memories.embeddings.embedders import embedders_for_writing, is_local_for
from memories.embeddings.providers import Embedder, EmbeddingError
from memories.embeddings.vectors import EmbeddedBatch, PendingVector, note_missing_vectors, record_vectors
from memories.models import Memory
from memories.tenancy.scopes import tenant_scope

logger = logging.getLogger(__name__)

MAX_ERROR_CHARACTERS = 200


def index_memories(tenant_id: UUID, memory_ids: Iterable[UUID], embedder: Embedder | None = None) -> int:
    """Embed those of the memories that wait for it, batch by batch; how many were embedded.

    Call with no scope open. A text that the provider will never take is marked failed. A temporary failure leaves the
    rest pending with its reason and raises `EmbeddingError`.
    """
    ids = list(memory_ids)
    if not ids:
        return 0
    embedders = [embedder] if embedder else embedders_for_writing(tenant_id)
    size = embedders[0].batch_size
    batches = (ids[start : start + size] for start in range(0, len(ids), size))
    return sum(_index_batch(tenant_id, batch, embedders) for batch in batches)


def index_now(tenant_id: UUID, memory_ids: Iterable[UUID]) -> None:
    """For a door, after its write's commit: embed at once where the model is local, else leave it to the worker.

    Never fails the write: what could not be embedded stays pending and the sweep finds it.
    """
    if not is_local_for(tenant_id):
        return
    try:
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
    made += [each for embedder in beside if (each := _made_beside(embedder, texts))]
    return record_vectors(tenant_id, waiting, made, notes_missing=True)


def _made_beside(embedder: Embedder, texts: Sequence[str]) -> EmbeddedBatch | None:
    """The vectors of a model that nobody searches with yet or any more: where it fails they are noted as missing."""
    try:
        return EmbeddedBatch(embedder, embedder.embed(texts))
    except EmbeddingError as error:
        logger.warning("Vectors beside the active model's are made later: %s", error.detail)
        return None


def _after_failure(
    tenant_id: UUID, waiting: Sequence[PendingVector], embedders: Sequence[Embedder], error: EmbeddingError
) -> int:
    """Note the reason; where one text of several is to blame, find it by embedding the others alone."""
    if error.is_permanent and len(waiting) > 1:
        middle = len(waiting) // 2
        halves = ([item.memory_id for item in half] for half in (waiting[:middle], waiting[middle:]))
        return sum(_index_batch(tenant_id, half, embedders) for half in halves)
    state = Memory.EmbeddingState.FAILED if error.is_permanent else Memory.EmbeddingState.PENDING
    with tenant_scope(tenant_id):
        for item in waiting:
            rows = Memory.objects.for_tenant(tenant_id).pending_embedding()
            rows.filter(pk=item.memory_id, version=item.version).update(
                embedding_state=state, embedding_error=error.detail[:MAX_ERROR_CHARACTERS]
            )
        if error.is_permanent:
            note_missing_vectors(tenant_id, waiting)
    if not error.is_permanent:
        raise error
    logger.warning("Memory %s cannot be embedded: %s", waiting[0].memory_id, error.detail)
    return 0
