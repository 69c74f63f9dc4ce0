"""Any endpoint that speaks OpenAI's `/v1/embeddings`, hosted or local."""

from collections.abc import Sequence

import numpy as np
import openai

from memories.embeddings.providers.protocol import EmbeddingError, EmbeddingVectors, unit_rows
from memory_platform.web.numerals import counted

UNREADABLE = "The embedding endpoint's answer cannot be read."
#: Answers that blame the texts: too long, not acceptable. A wrong key or a missing model is the deployment's fault and
#: passes once it is mended, so memories wait for that instead of failing for good.
PERMANENT_STATUSES = frozenset({400, 413, 422})


class OpenAIEmbedder:
    """One HTTP call for each batch, no retries of its own: who calls decides when to try again."""

    is_local = False
    batch_size = 100

    def __init__(self, *, base_url: str, api_key: str, model: str, dimension: int, timeout_seconds: float) -> None:
        self.name = model
        self.dimension = dimension
        self._client = openai.OpenAI(
            base_url=base_url or None, api_key=api_key or "none", timeout=timeout_seconds, max_retries=0
        )

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        batches = [texts[start : start + self.batch_size] for start in range(0, len(texts), self.batch_size)]
        return unit_rows(np.concatenate([self._embed_batch(batch) for batch in batches]))

    def close(self) -> None:
        """Give the connections back; the embedder is of no use afterwards."""
        self._client.close()

    def _embed_batch(self, texts: Sequence[str]) -> EmbeddingVectors:
        # Endpoints refuse blank input; a single full stop stands for "no words".
        given = [text if text.strip() else "." for text in texts]
        try:
            answer = self._client.embeddings.create(model=self.name, input=given, encoding_format="float")
        except openai.APIStatusError as error:
            is_permanent = error.status_code in PERMANENT_STATUSES
            raise EmbeddingError(
                f"The embedding endpoint answered {error.status_code}.", is_permanent=is_permanent
            ) from error
        except openai.APITimeoutError as error:
            raise EmbeddingError("The embedding endpoint did not answer in time.", is_permanent=False) from error
        except openai.APIConnectionError as error:
            raise EmbeddingError("The embedding endpoint cannot be reached.", is_permanent=False) from error
        except (openai.OpenAIError, ValueError, TypeError) as error:
            raise EmbeddingError(UNREADABLE, is_permanent=False) from error
        try:
            return self._checked(answer, len(texts))
        except (AttributeError, TypeError, ValueError) as error:
            raise EmbeddingError(UNREADABLE, is_permanent=False) from error

    def _checked(self, answer: openai.types.CreateEmbeddingResponse, count: int) -> EmbeddingVectors:
        """The vectors in the order of the texts, or an error that says how the answer is wrong."""
        data = sorted(getattr(answer, "data", None) or [], key=lambda item: item.index)
        if [item.index for item in data] != list(range(count)):
            given = counted(len(data), "vector", "vectors")
            detail = f"The embedding endpoint gave {given} for {counted(count, 'text', 'texts')}."
            raise EmbeddingError(detail, is_permanent=False)
        sizes = {len(item.embedding) for item in data}
        if sizes != {self.dimension}:
            raise EmbeddingError(
                f"The model {self.name} gives {', '.join(map(str, sorted(sizes)))} numbers a text;"
                f" the settings say {self.dimension}.",
                is_permanent=False,
            )
        vectors = np.array([item.embedding for item in data], dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise EmbeddingError("The embedding endpoint gave numbers that are not finite.", is_permanent=False)
        return vectors
