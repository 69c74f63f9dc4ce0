"""Providers that turn text into vectors (ADR-0057, ADR-0181). Each model of the settings is loaded on first use."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string
from numpy.typing import NDArray

from memory_platform.embedded.environment import EmbeddingEndpoint, EmbeddingFiles
from memory_platform.web.numerals import counted

EmbeddingVectors = NDArray[np.float32]

#: The classes of the providers, imported when needed: each import loads megabytes that the others do not need.
PROVIDERS = {
    "wordllama": "memories.embeddings.providers.wordllama_embedder.WordLlamaEmbedder",
    "hashed": "memories.embeddings.providers.hashed_embedder.HashedNgramEmbedder",
    "onnx": "memories.embeddings.providers.onnx_embedder.OnnxEmbedder",
    "openai": "memories.embeddings.providers.openai_embedder.OpenAIEmbedder",
}
REMOTE_PROVIDERS = frozenset({"openai"})


class Embedder(Protocol):
    """Turns texts into unit vectors; thread-safe."""

    #: Stored with every vector; vectors of equal names are comparable.
    name: str
    #: The number of components of a vector.
    dimension: int
    #: Maximum texts per call; more texts need several calls, so that a failure affects few of them.
    batch_size: int

    def embed(self, texts: Sequence[str]) -> EmbeddingVectors:
        """Return `len(texts)` x `dimension` float32 rows of length 1, in order. Raises `EmbeddingError`."""


class EmbeddingError(Exception):
    """A provider failed to embed; `is_permanent` if the same texts would fail again."""

    def __init__(self, detail: str, *, is_permanent: bool) -> None:
        super().__init__(detail)
        self.detail = detail
        self.is_permanent = is_permanent


def check_vectors(embedder: Embedder, vectors: EmbeddingVectors, count: int) -> EmbeddingVectors:
    """Return `count` finite vectors of the embedder's dimension, else raise a temporary `EmbeddingError`."""
    if vectors.ndim != 2 or len(vectors) != count:
        fault = f"returned {counted(len(vectors), 'vector', 'vectors')} for {counted(count, 'text', 'texts')}"
    elif vectors.shape[1] != embedder.dimension:
        fault = f"returned {vectors.shape[1]} dimensions per text instead of {embedder.dimension}"
    elif not np.isfinite(vectors).all():
        fault = "returned numbers that are not finite"
    else:
        return vectors
    raise EmbeddingError(f"The model {embedder.name} {fault}. Nothing was stored.", is_permanent=False)


def unit_rows(vectors: EmbeddingVectors) -> EmbeddingVectors:
    """Return the rows scaled to length 1; a row that is all zero or not finite becomes a neutral vector, never NaN."""
    finite = np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0.0).astype(np.float32)
    lengths = np.linalg.norm(finite, axis=1, keepdims=True)
    neutral = np.float32(1.0 / np.sqrt(vectors.shape[1]))
    scaled: EmbeddingVectors = np.divide(finite, lengths, out=np.full_like(finite, neutral), where=lengths > 0)
    return scaled


@dataclass(frozen=True)
class KnownModel:
    """A configured model, loaded or not; `endpoint` is None if it is local, `files` is set for a model in a folder."""

    name: str
    dimension: int
    provider: str
    endpoint: EmbeddingEndpoint | None = None
    files: EmbeddingFiles | None = None

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine, so that a request may wait for it."""
        return self.endpoint is None


#: Models that need nothing but their package.
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
            f"The embedding model {name} is not configured; configured models: {known}. EMBEDDING_FILES and"
            " EMBEDDING_ENDPOINTS add more.",
            is_permanent=False,
        )


def known_models() -> dict[str, KnownModel]:
    """Return every model by the name that is stored with its vectors, the default first."""
    from_files = (KnownModel(each.model, each.dimension, "onnx", files=each) for each in settings.EMBEDDING_FILES)
    further = (_of_endpoint(endpoint) for endpoint in settings.EMBEDDING_ENDPOINTS)
    known: dict[str, KnownModel] = {}
    for model in (default_model(), *LOCAL_MODELS.values(), *from_files, *further):
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
    """Whether the model runs on this machine, so that a request may wait for it; False for an unknown one."""
    model = known_models().get(name)
    return model is not None and model.is_local


def is_provider_local() -> bool:
    """Whether the default model runs on this machine, so that a request may wait for it."""
    return settings.EMBEDDING_PROVIDER not in REMOTE_PROVIDERS


def has_remote_models() -> bool:
    """Whether the settings name any remote model."""
    return bool(settings.EMBEDDING_ENDPOINTS) or not is_provider_local()


def _of_endpoint(endpoint: EmbeddingEndpoint) -> KnownModel:
    return KnownModel(endpoint.model, endpoint.dimension, "openai", endpoint)


def _load(model: KnownModel) -> Embedder:
    try:
        embedder_class: Callable[..., Embedder] = import_string(PROVIDERS[model.provider])
    except ImportError as error:
        raise EmbeddingError(f"The model {model.name} is not installed here.", is_permanent=False) from error
    given = model.endpoint or model.files
    return embedder_class(**asdict(given)) if given else embedder_class()
