"""The database server that a backup or restore works on: the embedded one of DATA_DIR, or the one of DATABASE_URL."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings

from memory_platform.backup.files import BackupError
from memory_platform.embedded.config import acquire_lock, check_data_dir
from memory_platform.embedded.files import StartError, read_endpoints
from memory_platform.embedded.postgres import start_postgres
from memory_platform.embedded.processes import stop_processes
from memory_platform.embedded.provision import DatabaseLogin, embedded_logins
from memory_platform.postgres.roles import API, CONSOLE, MAINTENANCE

_STOP_SECONDS = 30.0
#: Settings with URLs of servers, which differ between deployments.
_ADDRESSES = ("DATABASE_", "CELERY_BROKER_URL", "CACHE_URL", "DATA_DIR", "HOST", "PORT")


@dataclass(frozen=True)
class Server:
    """A superuser's URL, and the database with its roles, the owner of the tables first."""

    superuser_url: str
    database: str
    logins: list[DatabaseLogin]
    is_embedded: bool


@contextmanager
def database_server(superuser_url: str = "", *, is_exclusive: bool = False) -> Iterator[Server]:
    """Yield the server; starts the embedded one if it is not running. Raises `BackupError`.

    `is_exclusive` refuses an embedded server that `make run` uses.
    """
    url = superuser_url or os.environ.get("DATABASE_SUPERUSER_URL", "")
    if url or os.environ.get("DATABASE_URL"):
        if not url:
            raise BackupError("Give --superuser-url or set DATABASE_SUPERUSER_URL.")
        if "owner" not in settings.DATABASES:
            raise BackupError("Set DATABASE_OWNER_URL: the role that owns the tables.")
        aliases = [alias for alias in ("owner", API, CONSOLE, MAINTENANCE) if alias in settings.DATABASES]
        configs = [settings.DATABASES[alias] for alias in aliases]
        logins = [DatabaseLogin(config["USER"], config["PASSWORD"]) for config in configs]
        yield Server(url, settings.DATABASES[API]["NAME"], logins, is_embedded=False)
        return
    with _embedded_superuser_url(is_exclusive=is_exclusive) as url:
        yield Server(url, "memory", embedded_logins(settings.DATA_DIR), is_embedded=True)


@contextmanager
def _embedded_superuser_url(*, is_exclusive: bool) -> Iterator[str]:
    try:
        check_data_dir(settings.DATA_DIR)
        lock = acquire_lock(settings.DATA_DIR)
    except StartError as error:
        endpoints = read_endpoints(settings.DATA_DIR)
        if is_exclusive or not endpoints or not endpoints.database_superuser_url:
            raise BackupError(str(error)) from error
        yield endpoints.database_superuser_url
        return
    with lock:
        try:
            child, url = start_postgres(settings.DATA_DIR)
        except StartError as error:
            raise BackupError(str(error)) from error
        try:
            yield url
        finally:
            stop_processes([child], timeout_seconds=_STOP_SECONDS)


def settings_of_deployment() -> dict[str, str]:
    """Return the environment variables that settings have read, with the secret key, without URLs of servers."""
    names = {name for name in settings.ENVIRONMENT_NAMES if not name.startswith(_ADDRESSES)}
    own = {name: value for name in sorted(names) if (value := os.environ.get(name))}
    return {**own, "SECRET_KEY": settings.SECRET_KEY}
