"""What every provider of embeddings offers, how it fails, and the checks of its vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory_platform.web.numerals import counted

EmbeddingVectors = NDArray[np.float32]


class Embedder(Protocol):
    """Texts in, unit vectors out; threads may share it."""

    #: Stored with every vector; vectors of equal names are comparable.
    name: str
    #: Numbers in a vector.
    dimension: int
    #: Maximum texts per call; callers with more call again, so that failures stay small.
    batch_size: int

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        """Return `len(texts)` x `dimension` float32 rows of length 1, in order. Raises `EmbeddingError`."""


class EmbeddingError(Exception):
    """A provider did not embed; `is_permanent` if the same texts would fail again."""

    def __init__(self, detail: str, *, is_permanent: bool) -> None:
        super().__init__(detail)
        self.detail = detail
        self.is_permanent = is_permanent


def check_vectors(embedder: Embedder, vectors: EmbeddingVectors, count: int) -> EmbeddingVectors:
    """Return `vectors` if they are `count` finite rows of the embedder's dimension. Raises `EmbeddingError`.

    The error is temporary: the provider is wrong and not the texts, so these wait for a correct answer.
    """
    if vectors.ndim != 2 or len(vectors) != count:
        fault = f"gave {counted(len(vectors), 'vector', 'vectors')} for {counted(count, 'text', 'texts')}"
    elif vectors.shape[1] != embedder.dimension:
        fault = f"gives {vectors.shape[1]} numbers a text where {embedder.dimension} are expected"
    elif not np.isfinite(vectors).all():
        fault = "gave numbers that are not finite"
    else:
        return vectors
    raise EmbeddingError(f"The model {embedder.name} {fault}. Nothing was stored.", is_permanent=False)


def unit_rows(vectors: EmbeddingVectors) -> EmbeddingVectors:
    """Return the rows scaled to length 1; a row that is all zero or not finite becomes the same neutral vector.

    A text without any token has no direction. It must not become NaN, because every comparison with NaN is NaN.
    """
    finite = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0.0).astype(np.float32)
    lengths = np.linalg.norm(finite, axis=1, keepdims=True)
    neutral = np.float32(1.0 / np.sqrt(vectors.shape[1]))
    scaled: EmbeddingVectors = np.divide(finite, lengths, out=np.full_like(finite, neutral), where=lengths > 0)
    return scaled
