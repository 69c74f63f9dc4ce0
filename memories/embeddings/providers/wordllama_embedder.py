"""The default: averaged token vectors of wordllama, whose package contains the weights (derived from Llama 2)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import wordllama

from memories.embeddings.providers import EmbeddingVectors, unit_rows

#: Maximum characters of a batch, whose texts are padded to the longest: about 8 MB. Larger batches are not faster.
MAX_PADDED_CHARACTERS = 12_500


class WordLlamaEmbedder:
    """wordllama, loaded once (0.6 s, 122 MB), then some ten thousand short texts a second."""

    name = "wordllama-l2-supercat-256"
    dimension = 256
    batch_size = 256

    def __init__(self) -> None:
        folder = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        # Its tokenizer does not split texts into words first, so its cache would keep 10,000 whole texts (5 MB per
        # thousand).
        self._model.tokenizer.model._resize_cache(0)

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for indexes in _batches(texts):
            vectors[indexes] = self._model.embed([texts[index] for index in indexes], batch_size=len(indexes))
        return unit_rows(vectors)


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield the indexes of texts that are embedded together, the short before the long."""
    batch: list[int] = []
    for index in sorted(range(len(texts)), key=lambda index: len(texts[index])):
        if batch and (len(batch) + 1) * len(texts[index]) > MAX_PADDED_CHARACTERS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
