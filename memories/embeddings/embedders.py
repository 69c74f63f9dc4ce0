"""Which embedder a tenant's texts and queries go to: that of its active model, whatever settings say (ADR-0082)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memories.embeddings.providers import (
    Embedder,
    EmbeddingError,
    KnownModel,
    UnknownModel,
    default_model,
    get_embedder,
    has_remote_models,
    is_model_local,
    known_models,
)
from memories.models import EmbeddingModel
from memories.tenancy.scopes import maintenance_scope, tenant_scope


@dataclass(frozen=True)
class ModelProblem:
    """Something that does not fit between what is stored and what settings name: a stable code and words.

    Vectors cannot be searched or made, or a change of settings had no effect.
    """

    code: str
    detail: str


def active_model_name(tenant_id: UUID) -> str:
    """The model whose vectors the tenant is searched by; the settings' where it has none yet."""
    row = _active(tenant_id)
    return row.name if row else default_model().name


def embedder_of(tenant_id: UUID) -> Embedder:
    """The embedder of the tenant's active model. Raises `EmbeddingError` where settings do not have it, or not so."""
    return embedder_of_model(_active(tenant_id))


def embedder_of_model(active: EmbeddingModel | None) -> Embedder:
    """The same where the active model was read already; None where the tenant has none yet."""
    return embedder_for(active) if active else get_embedder()


def embedder_for(row: EmbeddingModel) -> Embedder:
    """The embedder of one model of a tenant, held to the dimension that its vectors have. Raises `EmbeddingError`."""
    embedder = get_embedder(row.name)
    if embedder.dimension != row.dimension:
        raise EmbeddingError(
            f"The model {row.name} is registered with {row.dimension} numbers a vector and configured with"
            f" {embedder.dimension}. Set the dimension back, or re-embed to a model of another name.",
            is_permanent=False,
        )
    return embedder


def embedders_for_writing(tenant_id: UUID) -> list[Embedder]:
    """The active model's embedder, then those beside it that a write may wait for; vectors of others come later."""
    with tenant_scope(tenant_id):
        rows = list(EmbeddingModel.objects.for_tenant(tenant_id).maintained())
    if not rows or rows[0].state != EmbeddingModel.State.ACTIVE:
        return [get_embedder()]
    beside = [
        row for row in rows[1:] if is_model_local(row.name) and known_models()[row.name].dimension == row.dimension
    ]
    return [embedder_for(rows[0]), *(get_embedder(row.name) for row in beside)]


def is_local_for(tenant_id: UUID) -> bool:
    """Whether a request may wait for the tenant's active model. Reads nothing where no model is remote."""
    return not has_remote_models() or is_model_local(active_model_name(tenant_id))


def model_problems() -> list[ModelProblem]:
    """What does not fit, over all tenants. Reads in a scope of its own."""
    with maintenance_scope():
        usage = EmbeddingModel.objects.all().usage()
    if not usage:
        return []
    known, default = known_models(), default_model()
    return [problem for row in usage for problem in _problems(row, known, default.name)]


def _problems(row: dict[str, Any], known: Mapping[str, KnownModel], default: str) -> list[ModelProblem]:
    name, tenants = row["name"], f"{row['tenants']} tenant{'s' if row['tenants'] > 1 else ''}"
    if name not in known:
        detail = f"The embedding model {name} is {row['state']} for {tenants}. {UnknownModel(name).detail}"
        return [ModelProblem("unknown_model", detail)]
    if known[name].dimension != row["dimension"]:
        detail = (
            f"Vectors of {name} have {row['dimension']} numbers ({tenants}), settings say {known[name].dimension}."
            " Set the dimension back; another dimension takes another model name and `manage.py reembed`."
        )
        return [ModelProblem("other_dimension", detail)]
    if row["state"] == EmbeddingModel.State.ACTIVE and not row["is_chosen"] and name != default:
        detail = (
            f"Settings name the embedding model {default}, but stored vectors are of {name} ({tenants}), which stays."
            f" Run `manage.py reembed --model {default}`, or set the settings back."
        )
        return [ModelProblem("not_reembedded", detail)]
    return []


def _active(tenant_id: UUID) -> EmbeddingModel | None:
    with tenant_scope(tenant_id):
        row: EmbeddingModel | None = EmbeddingModel.objects.for_tenant(tenant_id).active().first()
    return row
