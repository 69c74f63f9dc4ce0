"""Turn text into vectors: one Protocol, three providers (ADR-0057), as many models as settings name (ADR-0082).

A model is loaded once per process, when it is first needed.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from memories.embeddings.providers.protocol import Embedder as Embedder
from memories.embeddings.providers.protocol import EmbeddingError as EmbeddingError
from memories.embeddings.providers.protocol import EmbeddingVectors, check_vectors
from memory_platform.embedded.environment import EmbeddingEndpoint

#: Each has its own module, because importing one loads megabytes that the others do not need.
PROVIDERS = {
    "wordllama": "memories.embeddings.providers.wordllama_embedder.WordLlamaEmbedder",
    "hashed": "memories.embeddings.providers.hashed_embedder.HashedNgramEmbedder",
    "openai": "memories.embeddings.providers.openai_embedder.OpenAIEmbedder",
}
REMOTE_PROVIDERS = frozenset({"openai"})


@dataclass(frozen=True)
class KnownModel:
    """A configured model, known without loading it; `endpoint` is None for a model on this machine."""

    name: str
    dimension: int
    provider: str
    endpoint: EmbeddingEndpoint | None = None

    @property
    def is_local(self) -> bool:
        """Whether a request may wait for it."""
        return self.endpoint is None


#: Models that need only their package.
LOCAL_MODELS = {
    "wordllama": KnownModel("wordllama-l2-supercat-256", 256, "wordllama"),
    "hashed": KnownModel("hashed-ngram-512", 512, "hashed"),
}


class CheckedEmbedder:
    """An embedder whose vectors `check_vectors` has checked."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name, self.dimension, self.batch_size = inner.name, inner.dimension, inner.batch_size

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        return check_vectors(self, self._inner.embed(texts), len(texts))


_lock = threading.Lock()
_loaded: dict[str, Embedder] = {}


class UnknownModel(EmbeddingError):
    """Settings do not name the model; temporary, because settings can change."""

    def __init__(self, name: str) -> None:
        known = ", ".join(known_models())
        super().__init__(
            f"The embedding model {name} is not configured here; known are: {known}. EMBEDDING_ENDPOINTS adds more.",
            is_permanent=False,
        )


def known_models() -> dict[str, KnownModel]:
    """Return every model by the name that is stored with its vectors, the default first."""
    further = (_of_endpoint(endpoint) for endpoint in settings.EMBEDDING_ENDPOINTS)
    known: dict[str, KnownModel] = {}
    for model in (default_model(), *LOCAL_MODELS.values(), *further):
        known.setdefault(model.name, model)
    return known


def default_model() -> KnownModel:
    """Return the model of tenants without vectors. Raises `ImproperlyConfigured` if settings are incomplete."""
    provider = settings.EMBEDDING_PROVIDER
    if provider not in REMOTE_PROVIDERS:
        return LOCAL_MODELS[provider]
    if not settings.EMBEDDING_MODEL or settings.EMBEDDING_DIMENSION < 1:
        raise ImproperlyConfigured("EMBEDDING_PROVIDER=openai needs EMBEDDING_MODEL and EMBEDDING_DIMENSION.")
    names = ("model", "dimension", "base_url", "api_key", "timeout_seconds")
    return _of_endpoint(EmbeddingEndpoint(**{name: getattr(settings, f"EMBEDDING_{name.upper()}") for name in names}))


def model_named(name: str) -> KnownModel:
    """Return the model of that name, or of that provider on this machine. Raises `UnknownModel`."""
    known = known_models() | LOCAL_MODELS
    if name not in known:
        raise UnknownModel(name)
    return known[name]


def get_embedder(name: str = "") -> Embedder:
    """Return the embedder of a model, by default of the default model. Raises `UnknownModel`."""
    model = model_named(name) if name else default_model()
    with _lock:
        if model.name not in _loaded:
            _loaded[model.name] = CheckedEmbedder(_load(model))
        return _loaded[model.name]


def is_model_local(name: str) -> bool:
    """Whether a request may wait for this model; False for an unknown one."""
    model = known_models().get(name)
    return model is not None and model.is_local


def is_provider_local() -> bool:
    """Whether a request may wait for the default model."""
    return settings.EMBEDDING_PROVIDER not in REMOTE_PROVIDERS


def has_remote_models() -> bool:
    """Whether settings name any model that is not on this machine."""
    return bool(settings.EMBEDDING_ENDPOINTS) or not is_provider_local()


def _of_endpoint(endpoint: EmbeddingEndpoint) -> KnownModel:
    return KnownModel(endpoint.model, endpoint.dimension, "openai", endpoint)


def _load(model: KnownModel) -> Embedder:
    try:
        embedder_class: Callable[..., Embedder] = import_string(PROVIDERS[model.provider])
    except ImportError as error:
        raise EmbeddingError(f"The model {model.name} is not installed here.", is_permanent=False) from error
    if model.endpoint is None:
        return embedder_class()
    return embedder_class(
        base_url=model.endpoint.base_url,
        api_key=model.endpoint.api_key,
        model=model.name,
        dimension=model.dimension,
        timeout_seconds=model.endpoint.timeout_seconds,
    )
