"""What every provider's answer is held to before anything is done with it."""

from collections.abc import Sequence

import numpy as np

from memories.embeddings.providers.protocol import Embedder, EmbeddingError, EmbeddingVectors
from memory_platform.web.numerals import counted


class CheckedEmbedder:
    """An embedder whose vectors are as many, as long and as finite as promised, or an `EmbeddingError` in words.

    Such an error is temporary: the texts are not to blame, so they wait until the provider is mended.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name = inner.name
        self.dimension = inner.dimension
        self.is_local = inner.is_local
        self.batch_size = inner.batch_size

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        vectors = self._inner.embed(texts)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise self._wrong(
                f"gave {counted(len(vectors), 'vector', 'vectors')} for {counted(len(texts), 'text', 'texts')}"
            )
        if vectors.shape[1] != self.dimension:
            raise self._wrong(f"gives {vectors.shape[1]} numbers a text where {self.dimension} are expected")
        if not np.isfinite(vectors).all():
            raise self._wrong("gave numbers that are not finite")
        return vectors

    def close(self) -> None:
        """Give connections back where there are any; the embedder is of no use afterwards."""
        getattr(self._inner, "close", bool)()

    def _wrong(self, detail: str) -> EmbeddingError:
        return EmbeddingError(f"The model {self.name} {detail}. Nothing was stored.", is_permanent=False)
