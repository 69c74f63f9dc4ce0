"""Turning text into vectors: one Protocol, three providers (ADR-0057)."""

from memories.embedding.protocol import Embedder, EmbeddingError
from memories.embedding.selection import get_embedder, is_provider_local

__all__ = ["Embedder", "EmbeddingError", "get_embedder", "is_provider_local"]
