"""The progress of each embedding model of a tenant, and embedding backlogs by tenant."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memories.embeddings.providers import default_model, known_models
from memories.models import AuditEntry, EmbeddingModel, Memory, MemoryEmbedding, MissingVector
from memories.tenancy.queries.rows import Backlog

REFUSED_SHOWN_MAX = 50
HISTORY_SHOWN_MAX = 20

_State = EmbeddingModel.State


@dataclass(frozen=True)
class ModelStatus:
    """A model: `with_vector` of the tenant's `live` memories have one; `waiting` and `refused` count versions."""

    model: EmbeddingModel
    live: int
    with_vector: int
    waiting: int
    refused: int
    is_known: bool

    @property
    def share(self) -> float:
        """The share of live memories with a vector, 0..1; 0 without memories."""
        return self.with_vector / self.live if self.live else 0.0

    @property
    def share_percent(self) -> float:
        """The share in percent, 0..100, for a bar."""
        return round(100 * self.share, 2)

    @property
    def made(self) -> int:
        """The vectors computed so far of those missing at the start."""
        return max(self.model.needed - self.waiting - self.refused, 0)

    @property
    def is_unfinished(self) -> bool:
        """Whether the status is about to change."""
        is_moving = self.model.state in {_State.FILLING, _State.RETIRING} or self.model.switches_when_filled
        return is_moving or (self.model.state == _State.STANDBY and self.waiting > 0)


def model_statuses(tenant_id: UUID, now: datetime) -> list[ModelStatus]:
    """Return every model with vectors, the active one first, or the default model. Runs in a scope (ADR-0092)."""
    models = EmbeddingModel.objects.for_tenant(tenant_id).exclude(state=_State.RETIRED)
    rows = list(models.order_by("state", "started_at"))
    if not any(row.state == _State.ACTIVE for row in rows):
        default = default_model()
        rows.insert(0, EmbeddingModel(name=default.name, dimension=default.dimension, state=_State.ACTIVE))
    tally = Memory.objects.tally_by_tenant([tenant_id], now)[tenant_id]
    counts = MemoryEmbedding.objects.for_tenant(tenant_id).count_live_by_model(now)
    missing = MissingVector.objects.for_tenant(tenant_id).counts_by_model()
    known = known_models()
    statuses = []
    for row in rows:
        waiting, refused = missing.get(row.pk, (0, 0))
        if row.state == _State.ACTIVE:
            waiting += waiting_embeddings([tenant_id]).get(tenant_id, Backlog()).count
            refused += failed_embedding_backlogs([tenant_id]).get(tenant_id, Backlog()).count
        statuses.append(ModelStatus(row, tally.live, counts.get(row.name, 0), waiting, refused, row.name in known))
    return statuses


def refused_texts(tenant_id: UUID) -> Sequence[MissingVector]:
    """Return texts that a model other than the active one refused, with memory and model. Runs in a scope."""
    rows = MissingVector.objects.for_tenant(tenant_id).filter(is_refused=True).select_related("memory", "model")
    return list(rows.defer("memory__search_vector").order_by("-id")[:REFUSED_SHOWN_MAX])


def model_history(tenant_id: UUID) -> Sequence[AuditEntry]:
    """Return the audit rows of the models, newest first. Runs in a scope."""
    return list(AuditEntry.objects.for_tenant(tenant_id).of_kind("embedding_model").newest_first()[:HISTORY_SHOWN_MAX])


def failed_embedding_backlogs(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Return the backlogs of memories whose text the embedder refused; only full-text search finds them. One query."""
    return Memory.objects.of_tenants(tenant_ids).not_ready().with_failed_embedding().backlogs("recorded_from")


def waiting_embeddings(tenant_ids: Collection[UUID]) -> dict[UUID, Backlog]:
    """Return the backlogs of memories that have no vector yet. One query."""
    return Memory.objects.of_tenants(tenant_ids).awaiting_embedding().backlogs("recorded_from")
