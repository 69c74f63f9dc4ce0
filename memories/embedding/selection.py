"""Which provider this deployment uses, from settings; loaded once a process and only when first needed."""

import threading
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from memories.embedding.protocol import Embedder

#: Each in a module of its own: importing one loads megabytes that the others do not need.
PROVIDERS = {
    "wordllama": "memories.embedding.wordllama_embedder.WordLlamaEmbedder",
    "hashed": "memories.embedding.hashed_embedder.HashedNgramEmbedder",
    "openai": "memories.embedding.openai_embedder.OpenAIEmbedder",
}
REMOTE_PROVIDERS = frozenset({"openai"})

_lock = threading.Lock()
_loaded: dict[str, Embedder] = {}


def get_embedder() -> Embedder:
    """The embedder that settings name. Raises `ImproperlyConfigured` where they are not enough for it."""
    provider = settings.EMBEDDING_PROVIDER
    with _lock:
        if provider not in _loaded:
            _loaded[provider] = _load(provider)
        return _loaded[provider]


def is_provider_local() -> bool:
    """Whether a request may wait for the embedder; known without loading it."""
    return settings.EMBEDDING_PROVIDER not in REMOTE_PROVIDERS


def _load(provider: str) -> Embedder:
    embedder_class: Callable[..., Embedder] = import_string(PROVIDERS[provider])
    if provider not in REMOTE_PROVIDERS:
        return embedder_class()
    if not settings.EMBEDDING_MODEL or settings.EMBEDDING_DIMENSION < 1:
        raise ImproperlyConfigured("EMBEDDING_PROVIDER=openai needs EMBEDDING_MODEL and EMBEDDING_DIMENSION.")
    return embedder_class(
        base_url=settings.EMBEDDING_BASE_URL,
        api_key=settings.EMBEDDING_API_KEY,
        model=settings.EMBEDDING_MODEL,
        dimension=settings.EMBEDDING_DIMENSION,
        timeout_seconds=settings.EMBEDDING_TIMEOUT_SECONDS,
    )
