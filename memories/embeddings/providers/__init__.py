"""Turning text into vectors: one Protocol, three providers (ADR-0057), as many models as settings name (ADR-0082)."""

from memories.embeddings.providers.protocol import Embedder, EmbeddingError
from memories.embeddings.providers.selection import (
    KnownModel,
    UnknownModel,
    default_model,
    get_embedder,
    has_remote_models,
    is_model_local,
    is_provider_local,
    known_models,
    model_named,
)

__all__ = [
    "Embedder",
    "EmbeddingError",
    "KnownModel",
    "UnknownModel",
    "default_model",
    "get_embedder",
    "has_remote_models",
    "is_model_local",
    "is_provider_local",
    "known_models",
    "model_named",
]
