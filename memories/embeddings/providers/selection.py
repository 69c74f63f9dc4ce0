"""Which models this deployment can embed with, from settings; each is loaded once a process, when first needed."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from memories.embeddings.providers.checked import CheckedEmbedder
from memories.embeddings.providers.protocol import Embedder, EmbeddingError
from memory_platform.embedded.environment import EmbeddingEndpoint

#: Each in a module of its own: importing one loads megabytes that the others do not need.
PROVIDERS = {
    "wordllama": "memories.embeddings.providers.wordllama_embedder.WordLlamaEmbedder",
    "hashed": "memories.embeddings.providers.hashed_embedder.HashedNgramEmbedder",
    "openai": "memories.embeddings.providers.openai_embedder.OpenAIEmbedder",
}
REMOTE_PROVIDERS = frozenset({"openai"})


@dataclass(frozen=True)
class KnownModel:
    """A model that can be embedded with, known without loading it. `endpoint` is where, None on this machine."""

    name: str
    dimension: int
    provider: str
    endpoint: EmbeddingEndpoint | None = None

    @property
    def is_local(self) -> bool:
        """Whether a request may wait for it."""
        return self.endpoint is None


#: Always there: they need nothing but their package.
LOCAL_MODELS = {
    "wordllama": KnownModel("wordllama-l2-supercat-256", 256, "wordllama"),
    "hashed": KnownModel("hashed-ngram-512", 512, "hashed"),
}

_lock = threading.Lock()
_loaded: dict[str, Embedder] = {}


class UnknownModel(EmbeddingError):
    """A model that settings do not name; temporary, for it passes once they do."""

    def __init__(self, name: str) -> None:
        known = ", ".join(known_models())
        super().__init__(
            f"The embedding model {name} is not configured here; known are: {known}. EMBEDDING_ENDPOINTS adds more.",
            is_permanent=False,
        )


def known_models() -> dict[str, KnownModel]:
    """Every model by the name that is stored with its vectors, the default first."""
    further = (_of_endpoint(endpoint) for endpoint in settings.EMBEDDING_ENDPOINTS)
    known: dict[str, KnownModel] = {}
    for model in (default_model(), *LOCAL_MODELS.values(), *further):
        known.setdefault(model.name, model)
    return known


def default_model() -> KnownModel:
    """The model of a tenant that has no vectors yet. Raises `ImproperlyConfigured` where settings are not enough."""
    provider = settings.EMBEDDING_PROVIDER
    if provider not in REMOTE_PROVIDERS:
        return LOCAL_MODELS[provider]
    if not settings.EMBEDDING_MODEL or settings.EMBEDDING_DIMENSION < 1:
        raise ImproperlyConfigured("EMBEDDING_PROVIDER=openai needs EMBEDDING_MODEL and EMBEDDING_DIMENSION.")
    return _of_endpoint(
        EmbeddingEndpoint(
            model=settings.EMBEDDING_MODEL,
            dimension=settings.EMBEDDING_DIMENSION,
            base_url=settings.EMBEDDING_BASE_URL,
            api_key=settings.EMBEDDING_API_KEY,
            timeout_seconds=settings.EMBEDDING_TIMEOUT_SECONDS,
        )
    )


def model_named(name: str) -> KnownModel:
    """The model of that name, or of that provider where it is one of this machine. Raises `UnknownModel`."""
    known = known_models() | LOCAL_MODELS
    if name not in known:
        raise UnknownModel(name)
    return known[name]


def get_embedder(name: str = "") -> Embedder:
    """The embedder of a model, by default the one for tenants without vectors. Raises `UnknownModel`."""
    model = model_named(name) if name else default_model()
    with _lock:
        if model.name not in _loaded:
            _loaded[model.name] = CheckedEmbedder(_load(model))
        return _loaded[model.name]


def is_model_local(name: str) -> bool:
    """Whether a request may wait for this model; one that is not configured is not waited for."""
    model = known_models().get(name)
    return model is not None and model.is_local


def is_provider_local() -> bool:
    """Whether a request may wait for the default model; known without loading it."""
    return settings.EMBEDDING_PROVIDER not in REMOTE_PROVIDERS


def has_remote_models() -> bool:
    """Whether settings name any model that is not of this machine."""
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
