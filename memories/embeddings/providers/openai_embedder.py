"""Any endpoint that is compatible with OpenAI's `/v1/embeddings`, hosted or local."""

import time
from collections.abc import Sequence

import numpy as np
import openai

from memories.embeddings.providers import EmbeddingError, EmbeddingVectors, check_vectors, unit_rows
from memory_platform.observability.metrics import PROVIDER_ERRORS
from memory_platform.web.numerals import counted

#: Statuses of texts that are too long or not acceptable. A wrong key or a missing model is a fault of the deployment,
#: so memories wait until an operator corrects it.
PERMANENT_STATUSES = frozenset({400, 413, 422})
#: After a failure that took this long, nothing is sent for a while, because each waiting request occupies a thread.
SLOW_FAILURE_SECONDS, PAUSE_SECONDS = 1.0, 10.0


class OpenAIEmbedder:
    """Sends one HTTP call per batch, without retries; the caller decides when to try again.

    While an endpoint does not respond, or its name is not resolved, only one call in `PAUSE_SECONDS` waits for it.
    """

    batch_size = 100

    def __init__(self, *, base_url: str, api_key: str, model: str, dimension: int, timeout_seconds: float) -> None:
        self.name = model
        self.dimension = dimension
        self._paused_until = 0.0
        self._client = openai.OpenAI(
            base_url=base_url or None, api_key=api_key or "none", timeout=timeout_seconds, max_retries=0
        )

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        batches = [texts[start : start + self.batch_size] for start in range(0, len(texts), self.batch_size)]
        began = time.monotonic()
        if began < self._paused_until:
            raise EmbeddingError("The embedding endpoint did not answer in time shortly before.", is_permanent=False)
        try:
            return unit_rows(np.concatenate([self._embed_batch(batch) for batch in batches]))
        except EmbeddingError as error:
            PROVIDER_ERRORS.labels("embedder").inc()
            if not error.is_permanent and time.monotonic() - began >= SLOW_FAILURE_SECONDS:
                self._paused_until = time.monotonic() + PAUSE_SECONDS
            raise

    def _embed_batch(self, texts: Sequence[str]) -> EmbeddingVectors:
        # Endpoints refuse blank input; a full stop represents "no words".
        given = [text if text.strip() else "." for text in texts]
        try:
            answer = self._client.embeddings.create(model=self.name, input=given, encoding_format="float")
            data = sorted(getattr(answer, "data", None) or [], key=lambda item: item.index)
            if [item.index for item in data] != list(range(len(texts))):
                vectors, requested = counted(len(data), "vector", "vectors"), counted(len(texts), "text", "texts")
                raise EmbeddingError(f"The embedding endpoint returned {vectors} for {requested}.", is_permanent=False)
            return check_vectors(self, np.array([item.embedding for item in data], dtype=np.float32), len(texts))
        except openai.APIStatusError as error:
            is_permanent = error.status_code in PERMANENT_STATUSES
            detail = f"The embedding endpoint returned the status {error.status_code}."
            raise EmbeddingError(detail, is_permanent=is_permanent) from error
        except openai.APITimeoutError as error:
            raise EmbeddingError("The embedding endpoint did not respond in time.", is_permanent=False) from error
        except openai.APIConnectionError as error:
            raise EmbeddingError("The embedding endpoint cannot be reached.", is_permanent=False) from error
        except (openai.OpenAIError, AttributeError, TypeError, ValueError) as error:
            raise EmbeddingError("The embedding endpoint's response cannot be read.", is_permanent=False) from error
