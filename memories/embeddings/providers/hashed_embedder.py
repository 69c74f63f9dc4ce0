"""The fallback without dependencies: words and character trigrams hashed into a fixed number of dimensions."""

import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from memories.embeddings.providers import EmbeddingVectors, unit_rows

#: The number of trigrams that weigh as much as a word.
WORD_WEIGHT = 2.0
_WORDS = re.compile(r"\w+")


class HashedNgramEmbedder:
    """Compares words and spelling, not meaning. A text has the same vector on every machine."""

    name = "hashed-ngram-512"
    dimension = 512
    batch_size = 256

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for feature, count in Counter(_features(text)).items():
                code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
                weight = WORD_WEIGHT if feature.startswith("w:") else 1.0
                # One bit of the hash is the sign, so that colliding features cancel out instead of adding up.
                sign = 1.0 if code & 1 else -1.0
                vectors[row, (code >> 1) % self.dimension] += sign * weight * (1.0 + math.log(count))
        return unit_rows(vectors)


def _features(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = _WORDS.findall(folded) or [character for character in folded if not character.isspace()]
    for word in words:
        yield f"w:{word}"
        padded = f" {word} "
        yield from (f"t:{padded[start : start + 3]}" for start in range(len(padded) - 2))
