"""What a start takes from the environment and .env, before Django is loaded."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from environ import Env

from memory_platform.embedded.errors import StartError

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class EmbeddedConfig:
    data_dir: Path
    host: str
    port: int
    database_url: str
    database_owner_url: str
    broker_url: str
    cache_url: str
    web_processes: int

    @property
    def url(self) -> str:
        """Where this machine's browser finds it; an address that means "all" is reached as this machine."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104 - compared, not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"


def read_config() -> EmbeddedConfig:
    Env.read_env(PROJECT / ".env")
    return config_from(os.environ)


def config_from(environ: Mapping[str, str]) -> EmbeddedConfig:
    return EmbeddedConfig(
        # The same rule as in settings: a relative DATA_DIR lies in the project.
        data_dir=(PROJECT / (environ.get("DATA_DIR") or "var")).expanduser().resolve(),
        host=environ.get("HOST") or "127.0.0.1",
        port=_number(environ, "PORT", default=8000, most=65535),
        database_url=environ.get("DATABASE_URL", ""),
        database_owner_url=environ.get("DATABASE_OWNER_URL", ""),
        broker_url=environ.get("CELERY_BROKER_URL", ""),
        cache_url=environ.get("CACHE_URL", ""),
        web_processes=_number(environ, "WEB_CONCURRENCY", default=max(2, min(4, os.cpu_count() or 2)), most=256),
    )


def _number(environ: Mapping[str, str], name: str, *, default: int, most: int) -> int:
    text = environ.get(name) or str(default)
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise StartError(f"{name} must be a whole number from 1 to {most}, not {text!r}.")
    return int(text)
