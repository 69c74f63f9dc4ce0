"""What every provider of embeddings offers, and how it fails."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

EmbeddingVectors = NDArray[np.float32]


class Embedder(Protocol):
    """Texts in, unit vectors out; safe to share between threads."""

    #: Stored beside every vector; equal names promise comparable vectors.
    name: str
    #: Numbers in a vector.
    dimension: int
    #: Whether embedding is quick and cannot fail for the network's sake, so that a request may wait for it.
    is_local: bool
    #: How many texts one call takes at most in one go; callers with more call again, so that failures stay small.
    batch_size: int

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        """An array of `len(texts)` x `dimension` float32 rows of length 1, in order. Raises `EmbeddingError`."""


class EmbeddingError(Exception):
    """A provider did not embed. `is_permanent` when these very texts would fail again whenever they were sent."""

    def __init__(self, detail: str, *, is_permanent: bool) -> None:
        super().__init__(detail)
        self.detail = detail
        self.is_permanent = is_permanent


def unit_rows(vectors: EmbeddingVectors) -> EmbeddingVectors:
    """The rows scaled to length 1; a row without direction (all zero or not finite) becomes the same neutral vector.

    A text without a single token has no direction. It must not become NaN: one NaN makes every comparison with it NaN.
    """
    finite = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0.0).astype(np.float32)
    lengths = np.linalg.norm(finite, axis=1, keepdims=True)
    neutral = np.float32(1.0 / np.sqrt(vectors.shape[1]))
    scaled: EmbeddingVectors = np.divide(finite, lengths, out=np.full_like(finite, neutral), where=lengths > 0)
    return scaled
