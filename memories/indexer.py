"""The conductor of embedding: read what waits, embed outside any transaction, record by version.

A vector belongs to one version of a memory. An edit in between leaves the new version pending, whoever was faster.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from memories.embedding import Embedder, EmbeddingError, get_embedder, is_provider_local
from memories.embedding.protocol import Vectors
from memories.models import Memory, MemoryEmbedding
from memories.scopes import tenant_scope

logger = logging.getLogger(__name__)

MAX_ERROR_CHARACTERS = 200


@dataclass(frozen=True)
class Waiting:
    """One version of a memory that has no vector yet."""

    memory_id: UUID
    version: int
    content: str


def index_memory(tenant_id: UUID, memory_id: UUID) -> int:
    """Embed one memory if it waits for it; how many were embedded. Raises `EmbeddingError` when it may be retried."""
    return index_memories(tenant_id, [memory_id])


def index_memories(tenant_id: UUID, memory_ids: Iterable[UUID], embedder: Embedder | None = None) -> int:
    """Embed those of the memories that wait for it, batch by batch; how many were embedded.

    Call with no scope open. A text that the provider will never take is marked failed. A temporary failure leaves the
    rest pending with its reason and raises `EmbeddingError`.
    """
    embedder = embedder or get_embedder()
    ids = list(memory_ids)
    batches = (ids[start : start + embedder.batch_size] for start in range(0, len(ids), embedder.batch_size))
    return sum(_index_batch(tenant_id, batch, embedder) for batch in batches)


def index_now(tenant_id: UUID, memory_ids: Iterable[UUID]) -> None:
    """For a door, after its write's commit: embed at once where the provider is local, else leave it to the worker.

    Never fails the write: what could not be embedded stays pending and the sweep finds it.
    """
    if not is_provider_local():
        return
    try:
        index_memories(tenant_id, memory_ids)
    except EmbeddingError as error:
        logger.warning("Embedding in the request failed, left to the sweep: %s", error.detail)


def _index_batch(tenant_id: UUID, memory_ids: Sequence[UUID], embedder: Embedder) -> int:
    with tenant_scope(tenant_id):
        rows = Memory.objects.for_tenant(tenant_id).pending_embedding().filter(pk__in=memory_ids)
        waiting = [Waiting(*values) for values in rows.order_by("id").values_list("id", "version", "content")]
    if not waiting:
        return 0
    try:
        vectors = embedder.embed([item.content for item in waiting])
    except EmbeddingError as error:
        return _after_failure(tenant_id, waiting, embedder, error)
    return _record(tenant_id, waiting, vectors, embedder)


def _after_failure(tenant_id: UUID, waiting: Sequence[Waiting], embedder: Embedder, error: EmbeddingError) -> int:
    """Note the reason; where one text of several is to blame, find it by embedding the others alone."""
    if error.is_permanent and len(waiting) > 1:
        middle = len(waiting) // 2
        halves = ([item.memory_id for item in half] for half in (waiting[:middle], waiting[middle:]))
        return sum(_index_batch(tenant_id, half, embedder) for half in halves)
    state = Memory.EmbeddingState.FAILED if error.is_permanent else Memory.EmbeddingState.PENDING
    with tenant_scope(tenant_id):
        for item in waiting:
            rows = Memory.objects.for_tenant(tenant_id).pending_embedding()
            rows.filter(pk=item.memory_id, version=item.version).update(
                embedding_state=state, embedding_error=error.detail[:MAX_ERROR_CHARACTERS]
            )
    if not error.is_permanent:
        raise error
    logger.warning("Memory %s cannot be embedded: %s", waiting[0].memory_id, error.detail)
    return 0


def _record(tenant_id: UUID, waiting: Sequence[Waiting], vectors: Vectors, embedder: Embedder) -> int:
    """Store the vectors by version; only memories still at that version become ready."""
    with tenant_scope(tenant_id):
        rows = Memory.objects.for_tenant(tenant_id).filter(pk__in=[item.memory_id for item in waiting])
        remaining = set(rows.locked().values_list("pk", flat=True))
        embeddings = [
            MemoryEmbedding(
                tenant_id=tenant_id,
                memory_id=item.memory_id,
                version=item.version,
                model=embedder.name,
                dimension=embedder.dimension,
                vector=vector,
            )
            for item, vector in zip(waiting, vectors, strict=True)
            if item.memory_id in remaining
        ]
        MemoryEmbedding.objects.bulk_create(embeddings, ignore_conflicts=True)
        embedded = rows.pending_embedding().with_embedding(embedder.name)
        return embedded.update(embedding_state=Memory.EmbeddingState.READY, embedding_error="")
