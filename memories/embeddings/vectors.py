"""Store vectors of versions of memories; each step is one short transaction (ADR-0057, ADR-0082)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models.functions import Now

from memories.embeddings.providers import Embedder, EmbeddingError, EmbeddingVectors
from memories.models import EmbeddingModel, Memory, MemoryEmbedding, MissingVector, UncomparedMemory
from memories.tenancy.scopes import tenant_scope


@dataclass(frozen=True)
class PendingVector:
    """One version of a memory that lacks a vector."""

    memory_id: UUID
    version: int
    content: str


@dataclass(frozen=True)
class EmbeddedBatch:
    """The vectors of some texts by one embedder, in order."""

    embedder: Embedder
    vectors: EmbeddingVectors


@dataclass(frozen=True)
class VectorsAhead:
    """Vectors of texts that are about to be stored, by each local model; `places` are the rows of the texts."""

    made: Sequence[EmbeddedBatch]
    places: Mapping[str, int]


def models_if_active_is_included(tenant_id: UUID, ahead: VectorsAhead) -> list[EmbeddingModel]:
    """Return the tenant's models, unchanged until the commit; none if the vectors lack those of the active model.

    A tenant without vectors gets the first batch's model as its active one.
    """
    models = list(_models_in_use(tenant_id, ahead.made[0].embedder).values())
    is_usable = models[0].state == EmbeddingModel.State.ACTIVE
    return models if is_usable and models[0].name in {each.embedder.name for each in ahead.made} else []


def store_first_vectors(
    tenant_id: UUID, memories: Sequence[Memory], ahead: VectorsAhead, models: Iterable[EmbeddingModel]
) -> None:
    """Store the vectors of memories that this transaction inserted as embedded.

    `models` are those of `models_if_active_is_included`.
    """
    items = [PendingVector(memory.pk, memory.version, memory.content) for memory in memories]
    places = [ahead.places[item.content] for item in items]
    made = {each.embedder.name: EmbeddedBatch(each.embedder, each.vectors[places]) for each in ahead.made}
    others = []
    for model in models:
        if model.name in made:
            _store(model, items, made[model.name])
        else:
            others.append(model)
    if others:
        _note(items, others)
    UncomparedMemory.objects.enqueue(tenant_id, [item.memory_id for item in items])


def record_vectors(
    tenant_id: UUID, items: Sequence[PendingVector], made: Sequence[EmbeddedBatch], *, notes_missing: bool
) -> int:
    """Store the vectors by version; return how many memories now have the active model's. Call with no scope open.

    The first vectors of a tenant make their model active; those of a retired model are dropped. With `notes_missing`,
    missing vectors of other models are recorded. Raises `EmbeddingError` for a dimension other than the registered one.
    """
    with tenant_scope(tenant_id):
        models = _models_in_use(tenant_id, made[0].embedder)
        rows = Memory.objects.for_tenant(tenant_id).filter(pk__in=[item.memory_id for item in items])
        remaining = dict(rows.locked().values_list("pk", "version"))
        places = [place for place, item in enumerate(items) if item.memory_id in remaining]
        kept = [items[place] for place in places]
        recorded = {each.embedder.name: each for each in made if each.embedder.name in models}
        for name, each in recorded.items():
            _store(models[name], kept, EmbeddedBatch(each.embedder, each.vectors[places]))
            if not notes_missing or models[name].state != EmbeddingModel.State.ACTIVE:
                MissingVector.objects.delete_versions(
                    models[name].pk, ((item.memory_id, item.version) for item in kept)
                )
        active = next(model for model in models.values() if model.state == EmbeddingModel.State.ACTIVE)
        if notes_missing:
            others = (model for name, model in models.items() if name not in recorded)
            _note(kept, [model for model in others if model != active])
        if active.name not in recorded:
            return 0  # memories that wait for re-embedding still have their former vectors
        UncomparedMemory.objects.enqueue(tenant_id, remaining)
        # a later version waits for its own vector, even if a former one was copied to it
        current = [item.memory_id for item in kept if item.version == remaining[item.memory_id]]
        pending = rows.pending_embedding().filter(pk__in=current)
        return int(pending.update(embedding_state=Memory.EmbeddingState.READY, embedding_error=""))


def add_missing_vectors(tenant_id: UUID, items: Sequence[PendingVector]) -> None:
    """Record these vectors as missing for the models that are not active. Runs in a scope."""
    EmbeddingModel.objects.lock_shared(tenant_id)
    _note(items, EmbeddingModel.objects.for_tenant(tenant_id).not_active())


def add_missing_for_superseded(tenant_id: UUID, memory_id: UUID, version: int) -> None:
    """Record the vectors of a superseded version as missing for all models. Runs in a scope."""
    EmbeddingModel.objects.lock_shared(tenant_id)
    _note([PendingVector(memory_id, version, "")], EmbeddingModel.objects.for_tenant(tenant_id).maintained())


def copy_vectors_to_current(tenant_id: UUID, memory_ids: Collection[UUID]) -> None:
    """Copy vectors and missing vectors of the previous versions, which have the same text. Runs in a scope."""
    EmbeddingModel.objects.lock_shared(tenant_id)
    MissingVector.objects.copy_to_current(tenant_id, memory_ids)
    if carried := MemoryEmbedding.objects.copy_to_current(tenant_id, memory_ids):
        UncomparedMemory.objects.enqueue(tenant_id, carried)


def _models_in_use(tenant_id: UUID, first: Embedder) -> dict[str, EmbeddingModel]:
    models = EmbeddingModel.objects.lock_shared_and_read(tenant_id)
    if not models:
        ensure_active_model(tenant_id, first.name, first.dimension)
        models = EmbeddingModel.objects.lock_shared_and_read(tenant_id)
    return {model.name: model for model in models}


def ensure_active_model(tenant_id: UUID, name: str, dimension: int, *, is_chosen: bool = False) -> None:
    """Make this the tenant's active model if it has none. Runs in a scope."""
    row = EmbeddingModel(tenant_id=tenant_id, name=name, dimension=dimension, state=EmbeddingModel.State.ACTIVE)
    row.is_chosen = is_chosen
    row.started_at = row.filled_at = row.activated_at = Now()
    EmbeddingModel.objects.bulk_create([row], ignore_conflicts=True)


def _store(model: EmbeddingModel, items: Sequence[PendingVector], made: EmbeddedBatch) -> None:
    if made.embedder.dimension != model.dimension:
        raise EmbeddingError(
            f"The model {model.name} is registered with dimension {model.dimension}, not"
            f" {made.embedder.dimension}. Nothing was stored.",
            is_permanent=False,
        )
    if items:
        versions = [(item.memory_id, item.version) for item in items]
        MemoryEmbedding.objects.insert_vectors(model.tenant_id, model.name, versions, made.vectors)


def _note(items: Sequence[PendingVector], models: Iterable[EmbeddingModel]) -> None:
    rows = [
        MissingVector(tenant_id=model.tenant_id, model=model, memory_id=item.memory_id, version=item.version)
        for model in models
        for item in items
    ]
    MissingVector.objects.bulk_create(rows, ignore_conflicts=True)
