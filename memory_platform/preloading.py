"""What processes load before they are divided (ADR-0163): children share it, and none loads it at its first request."""

import gc

from memories.embeddings.providers import get_embedder, is_provider_local
from memories.services.tokens import token_counts


def preload_models() -> None:
    """Load the token tables and the local embedding model, and keep both out of garbage collection.

    Nothing is embedded: the library of the tokenizers starts threads for that, which a child would lack.
    """
    token_counts("warm")
    if is_provider_local():
        get_embedder()
    gc.collect()
    # All of this stays. Collecting garbage in it would now and then delay a request by a sixth of a second, and would
    # give each child a copy of its own.
    gc.freeze()
