"""Embedders of a tenant: always the one of its active model, regardless of the settings (ADR-0082)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from memories.embeddings import providers
from memories.models import EmbeddingModel
from memories.tenancy.scopes import maintenance_scope, tenant_scope

#: Maximum tenants whose models a process caches.
KEPT_TENANTS = 1_000


@dataclass(frozen=True)
class ModelProblem:
    """A mismatch between stored models and the settings, with a stable code."""

    code: str
    detail: str


def active_model_name(tenant_id: UUID) -> str:
    """Return the name of the tenant's active model, or of the default model if it has none yet."""
    row = _active(tenant_id)
    return row.name if row else providers.default_model().name


def embedder_of(tenant_id: UUID) -> providers.Embedder:
    """Return the embedder of the tenant's active model. Raises `EmbeddingError` if the settings do not match it."""
    return embedder_of_model(_active(tenant_id))


def embedder_of_model(active: EmbeddingModel | None) -> providers.Embedder:
    """Return the embedder of an active model, or of the default model for None. Raises `EmbeddingError`."""
    return embedder_for(active) if active else providers.get_embedder()


def embedder_for(row: EmbeddingModel) -> providers.Embedder:
    """Return the embedder of a tenant's model. Raises `EmbeddingError`, also if the dimension differs."""
    embedder = providers.get_embedder(row.name)
    if embedder.dimension != row.dimension:
        raise providers.EmbeddingError(
            f"The model {row.name} is registered with dimension {row.dimension} and configured with"
            f" {embedder.dimension}. Restore the dimension, or re-embed with a differently named model.",
            is_permanent=False,
        )
    return embedder


def embedders_for_writing(tenant_id: UUID, revision: int | None = None) -> list[providers.Embedder]:
    """Return the active model's embedder, then the local ones of other maintained models.

    With the `revision` of the tenant's settings, the models are read once for all of its requests (ADR-0116).
    """
    rows = _maintained_models(tenant_id) if revision is None else _kept_models(tenant_id, revision)
    if not rows or rows[0].state != EmbeddingModel.State.ACTIVE:
        return [providers.get_embedder()]
    beside = [
        row
        for row in rows[1:]
        if providers.is_model_local(row.name) and providers.known_models()[row.name].dimension == row.dimension
    ]
    return [embedder_for(rows[0]), *(providers.get_embedder(row.name) for row in beside)]


def _maintained_models(tenant_id: UUID) -> Sequence[EmbeddingModel]:
    with tenant_scope(tenant_id):
        return tuple(EmbeddingModel.objects.for_tenant(tenant_id).maintained())


@lru_cache(maxsize=KEPT_TENANTS)
def _kept_models(tenant_id: UUID, _revision: int) -> Sequence[EmbeddingModel]:
    return _maintained_models(tenant_id)


def is_local_for(tenant_id: UUID) -> bool:
    """Whether the tenant's active model is local. Reads nothing if no model is remote."""
    return not providers.has_remote_models() or providers.is_model_local(active_model_name(tenant_id))


def model_problems() -> list[ModelProblem]:
    """Return the mismatches of all tenants. Opens its own scope."""
    with maintenance_scope():
        usage = EmbeddingModel.objects.all().usage()
    if not usage:
        return []
    known, default = providers.known_models(), providers.default_model()
    return [problem for row in usage if (problem := _problem(row, known, default.name))]


def _problem(row: dict[str, Any], known: Mapping[str, providers.KnownModel], default: str) -> ModelProblem | None:
    name, tenants = row["name"], f"{row['tenants']} tenant{'s' if row['tenants'] > 1 else ''}"
    if name not in known:
        detail = f"The embedding model {name} is {row['state']} for {tenants}. {providers.UnknownModel(name).detail}"
        return ModelProblem("unknown_model", detail)
    if known[name].dimension != row["dimension"]:
        detail = (
            f"Vectors of {name} have dimension {row['dimension']} ({tenants}), settings say {known[name].dimension}."
            " Restore the dimension; a new dimension needs a new model name and `manage.py reembed`."
        )
        return ModelProblem("dimension_mismatch", detail)
    if row["state"] == EmbeddingModel.State.ACTIVE and not row["is_chosen"] and name != default:
        detail = (
            f"Settings name the embedding model {default}, but {name} remains active ({tenants})."
            f" Run `manage.py reembed --model {default}`, or restore the settings."
        )
        return ModelProblem("reembedding_needed", detail)
    return None


def _active(tenant_id: UUID) -> EmbeddingModel | None:
    with tenant_scope(tenant_id):
        return EmbeddingModel.objects.for_tenant(tenant_id).active().first()
