"""Environment variables; the error for an invalid value names its variable."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from memory_platform.embedded.sentinel import sentinel_options

YES = frozenset({"1", "true", "yes", "on"})
NO = frozenset({"0", "false", "no", "off"})
REDIS_CACHE = "django.core.cache.backends.redis.RedisCache"
REDIS_TIMEOUT_SECONDS = 1.0
REPLICA_TIMEOUT_SECONDS = 2
#: The broker's visibility timeout, longer than any time limit of a task: otherwise, a slow task would run twice.
VISIBILITY_TIMEOUT_SECONDS = 1800
SENTINEL_SCHEME, SENTINEL_POOL = "sentinel://", "memory_platform.embedded.sentinel.SentinelPool"
_REDIS_OPTIONS = {
    **dict.fromkeys(("socket_timeout", "socket_connect_timeout"), REDIS_TIMEOUT_SECONDS),
    "serializer": "memory_platform.embedded.json_cache.JsonSerializer",
}
_DATABASE_URLS = "DATABASE_URL and DATABASE_OWNER_URL must be postgres:// URLs"


class NamedEnv(environ.Env):  # type: ignore[misc]  # django-environ carries no types
    """django-environ that treats empty variables as unset and rejects invalid values; `names` lists those read."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get_value(self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, **options: Any) -> Any:
        """Return the value of a variable, cast. Raises `ImproperlyConfigured`."""
        self.names.add(var)
        if default is not environ.Env.NOTSET and not self.ENVIRON.get(var):
            return default
        try:
            return super().get_value(var, cast=cast, default=default, **options)
        except ValueError as error:
            raise ImproperlyConfigured(f"{var} must be a number") from error

    def bool(self, var: str, default: Any = environ.Env.NOTSET) -> bool:
        """Return whether the value is 1 or a word that means it. Raises `ImproperlyConfigured`."""
        text = self.str(var, default="1" if default is True else "0").strip().lower()
        if text not in YES | NO:
            raise ImproperlyConfigured(f"{var} must be 1 or 0, not {text!r}")
        return text in YES


def database_config(url: str) -> dict[str, Any]:
    """Return the settings of one database. Checks the scheme first: the parser's warning contains the password."""
    if environ.Env.DB_SCHEMES.get(url.partition("://")[0]) != environ.Env.DB_SCHEMES["postgres"]:
        raise ImproperlyConfigured(_DATABASE_URLS)
    try:
        return dict(environ.Env.db_url_config(url))
    except ValueError as error:
        detail = "the port a number, special characters of the password percent-encoded"
        raise ImproperlyConfigured(f"{_DATABASE_URLS}: {detail}") from error


def broker_options(url: str, data_dir: Path, sentinel: Mapping[str, str]) -> dict[str, Any]:
    """Return Celery's `broker_transport_options`; `sentinel` has the name of the master and a password."""
    if url.startswith("filesystem://"):
        folders = {"data_folder_in": "queue", "data_folder_out": "queue"}
        folders |= {"processed_folder": "processed", "control_folder": "control"}
        return {name: str(data_dir / "run/broker" / path) for name, path in folders.items()}
    options: dict[str, Any] = {"visibility_timeout": VISIBILITY_TIMEOUT_SECONDS}
    if url.startswith(SENTINEL_SCHEME):
        options["master_name"] = sentinel["master"]
        options["sentinel_kwargs"] = sentinel_options(sentinel["sentinel_password"])
    return options


def replica_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a replica, with short timeouts, because the primary can be used instead."""
    options = config["OPTIONS"]
    options |= {"connect_timeout": REPLICA_TIMEOUT_SECONDS, "tcp_user_timeout": REPLICA_TIMEOUT_SECONDS * 1000}
    if "pool" in options:
        options["pool"]["timeout"] = REPLICA_TIMEOUT_SECONDS
    return config


def cache_config(url: str, sentinel: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the settings of the cache, with a short timeout for Redis; `sentinel` as for `broker_options`."""
    if url.startswith(SENTINEL_SCHEME):
        options = {"pool_class": SENTINEL_POOL, **(sentinel or {}), **_REDIS_OPTIONS}
        return {"BACKEND": REDIS_CACHE, "LOCATION": [url], "VERSION": 2, "OPTIONS": options}
    try:
        config = dict(environ.Env.cache_url_config(url))
    except ImproperlyConfigured as error:
        raise ImproperlyConfigured("CACHE_URL must be a URL such as redis://localhost:6379/1") from error
    if config["BACKEND"] == REDIS_CACHE:
        # The first version's values were pickles.
        config["VERSION"] = 2
        config["OPTIONS"] = _REDIS_OPTIONS | config.get("OPTIONS", {})
    return config


def email_config(url: str) -> dict[str, Any]:
    """Return Django's EMAIL_... settings by name; empty without a URL. Errors omit the password."""
    if not url:
        return {}
    scheme = url.partition("://")[0]
    try:
        config = dict(environ.Env.email_url_config(url)) if scheme in environ.Env.EMAIL_SCHEMES else {}
    except (ValueError, KeyError):
        config = {}
    if not config:
        raise ImproperlyConfigured("EMAIL_URL must be a URL such as smtp+tls://user:password@mail.example:587")
    return config


@dataclass(frozen=True)
class EmbeddingEndpoint:
    """One OpenAI-compatible address and its model; `dimension` is the length of a vector."""

    model: str
    dimension: int
    base_url: str = ""
    api_key: str = ""
    timeout_seconds: float = 10.0


@dataclass(frozen=True)
class EmbeddingFiles:
    """A model in a folder with `model.onnx` and `tokenizer.json`; `pooling` is the way token vectors are combined."""

    model: str
    dimension: int
    folder: str
    pooling: str = "mean"


def embedding_files(text: str) -> tuple[EmbeddingFiles, ...]:
    """Return the models of EMBEDDING_FILES, a JSON list of objects."""
    try:
        found = tuple(EmbeddingFiles(**entry) for entry in json.loads(text or "[]"))
        if any(not each.model.strip() or not each.folder or each.pooling not in ("mean", "first") for each in found):
            raise ValueError("a name, a folder and a known pooling are needed")
        if any(type(each.dimension) is not int or each.dimension < 1 for each in found):
            raise ValueError("numbers must be above 0")
    except (ValueError, TypeError, AttributeError) as error:
        raise ImproperlyConfigured(
            "EMBEDDING_FILES must be a JSON list of objects with model, dimension, folder and, if the first token's"
            " vector is that of the text, pooling: first"
        ) from error
    return found


def embedding_endpoints(text: str) -> tuple[EmbeddingEndpoint, ...]:
    """Return the endpoints of EMBEDDING_ENDPOINTS, a JSON list of objects.

    Errors omit the value, which may contain a key.
    """
    try:
        return tuple(_endpoint(entry) for entry in json.loads(text or "[]"))
    except (ValueError, TypeError, AttributeError) as error:
        known = ", ".join(field.name for field in fields(EmbeddingEndpoint))
        raise ImproperlyConfigured(
            f"EMBEDDING_ENDPOINTS must be a JSON list of objects with model, dimension and base_url; known are: {known}"
        ) from error


def _endpoint(entry: dict[str, Any]) -> EmbeddingEndpoint:
    endpoint = EmbeddingEndpoint(**entry)
    if not endpoint.model.strip() or not endpoint.base_url.strip() or not isinstance(endpoint.api_key, str):
        raise ValueError("a name and an address are needed")
    if type(endpoint.dimension) is not int or endpoint.dimension < 1 or endpoint.timeout_seconds <= 0:
        raise ValueError("numbers must be above 0")
    return endpoint
