"""Load a corpus into a hidden tenant, where the real assembly queries it, and drop that tenant again.

No memory of a corpus is ever stored in a visible tenant.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from uuid import UUID

from context.services.evaluation.corpus import Corpus
from memories.embeddings.embedders import embedder_of
from memories.embeddings.indexer import index_memories
from memories.embeddings.providers import get_embedder
from memories.embeddings.vectors import ensure_active_model
from memories.models import Memory, Tenant
from memories.services.tenancy.tenant_names import hidden_name
from memories.store.actions.store import store_memories
from memories.tenancy.actions.tenants import create_hidden_tenant, drop_hidden_tenant
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import admin_write_scope, maintenance_scope, tenant_scope

EVALUATION_STAGE = "evaluation"
_BY = Actor.system("evaluation")
#: Rows stored, or embedded, in one transaction.
_ROWS_PER_BATCH = 500


#: Called with the current step, the number of items done, and their total.
EvaluationProgress = Callable[[str, int, int], None]


def load_staged_corpus(
    run_id: UUID,
    corpus: Corpus,
    *,
    now: datetime,
    loaded: Callable[[int], object],
    stage: str = EVALUATION_STAGE,
    model: str = "",
) -> tuple[UUID, Mapping[str, UUID]]:
    """Return the hidden tenant with the corpus of a run, and the memory for each id of the corpus.

    A complete one is reused; an incomplete one, which a killed worker left, is dropped first. `stage` is its purpose;
    `loaded` is called with the number of memories after each batch; `model` embeds them, "" is the default. Raises
    `EmbeddingError`, and `InvalidInput` for a memory that cannot be stored.
    """
    tenant = _tenant(run_id, now, stage)
    if tenant.created_at != now:
        ids = _ready_ids(tenant.pk)
        if len(ids) == len(corpus.memories):
            return tenant.pk, ids
        drop_staged_corpus(run_id, stage=stage)
        tenant = _tenant(run_id, now, stage)
    if model:
        with tenant_scope(tenant.pk):
            ensure_active_model(tenant.pk, model, get_embedder(model).dimension, is_chosen=True)
    _load(tenant, corpus, now, loaded)
    return tenant.pk, _ready_ids(tenant.pk)


def drop_staged_corpus(run_id: UUID, *, stage: str = EVALUATION_STAGE) -> bool:
    """Drop the hidden tenant of a run; return whether there was one."""
    with admin_write_scope():
        return drop_hidden_tenant(words=f"{stage} {run_id}", by=_BY)


def staged_run_ids(stage: str = EVALUATION_STAGE, *, before: datetime | None = None) -> list[UUID]:
    """Return the runs that have a hidden tenant, all or those made before a time."""
    with maintenance_scope():
        tenants = Tenant.objects.all().hidden() if before is None else Tenant.objects.all().hidden().older_than(before)
        names = tenants.names(hidden_name(f"{stage} "))
    return [UUID(name.rpartition(" ")[2]) for name in names]


def _tenant(run_id: UUID, now: datetime, stage: str) -> Tenant:
    with admin_write_scope():
        return create_hidden_tenant(words=f"{stage} {run_id}", by=_BY, now=now)


def _ready_ids(tenant_id: UUID) -> dict[str, UUID]:
    model = embedder_of(tenant_id).name
    with tenant_scope(tenant_id):
        return Memory.objects.for_tenant(tenant_id).ids_by_source(model)


def _load(tenant: Tenant, corpus: Corpus, now: datetime, loaded: Callable[[int], object]) -> None:
    # A corpus has its own times, which may be in the future.
    at = max(now, *(memory.created_at for memory in corpus.memories))
    for start in range(0, len(corpus.memories), _ROWS_PER_BATCH):
        batch = corpus.memories[start : start + _ROWS_PER_BATCH]
        with tenant_scope(tenant.pk):
            rows = [memory.as_new_memory() for memory in batch]
            results = store_memories(tenant=tenant, rows=rows, by=_BY, now=at)
        for memory, result in zip(batch, results, strict=True):
            if result.memory is None:
                detail = f"The memory {memory.id[:80]!r} cannot be stored: {result.problems[0].detail}"
                raise InvalidInput("bad_corpus", detail, "corpus")
        index_memories(tenant.pk, [result.memory.pk for result in results if result.memory])
        loaded(start + len(batch))
