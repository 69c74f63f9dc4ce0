"""The configuration that a start reads from the environment and .env before Django is loaded, and its checks."""

import fcntl
import os
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from memory_platform.embedded.files import StartError

#: The default of gunicorn.
LISTEN_BACKLOG = 2048
PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class EmbeddedConfig:
    """The configuration of a start; "" for a URL starts the embedded server."""

    data_dir: Path
    host: str
    port: int
    #: By the names of `EMBEDDED_ROLES`.
    database_urls: Mapping[str, str]
    broker_url: str
    cache_url: str
    web_processes: int

    @property
    def url(self) -> str:
        """The URL for a browser on this machine, with 127.0.0.1 if the host means all addresses."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104 - compared, not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"


def config_from(environ: Mapping[str, str]) -> EmbeddedConfig:
    """Return the configuration of a start. Raises `StartError`."""
    return EmbeddedConfig(
        # The same rule as in settings: a relative DATA_DIR is in the project.
        data_dir=(PROJECT / (environ.get("DATA_DIR") or "var")).expanduser().resolve(),
        host=environ.get("HOST") or "127.0.0.1",
        port=_number(environ, "PORT", default=8000, most=65535),
        database_urls={
            "app": environ.get("DATABASE_URL", ""),
            **{name: environ.get(f"DATABASE_{name.upper()}_URL", "") for name in ("owner", "console", "maintenance")},
        },
        broker_url=environ.get("CELERY_BROKER_URL", ""),
        cache_url=environ.get("CACHE_URL", ""),
        web_processes=_number(environ, "WEB_CONCURRENCY", default=max(2, min(4, os.cpu_count() or 2)), most=256),
    )


def _number(environ: Mapping[str, str], name: str, *, default: int, most: int) -> int:
    text = environ.get(name) or str(default)
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise StartError(f"{name} must be a whole number from 1 to {most}, not {text!r}.")
    return int(text)


def check_data_dir(data_dir: Path) -> None:
    """Create the folder. Raises `StartError` if it cannot be written."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        (data_dir / "run").mkdir(exist_ok=True, mode=0o711)
        tempfile.TemporaryFile(dir=data_dir).close()
    except OSError as error:
        raise StartError(
            f"{data_dir} cannot be written ({error.strerror}): set DATA_DIR to a folder that you own."
        ) from error


def acquire_lock(data_dir: Path) -> IO[str]:
    """Lock the DATA_DIR until this process ends, even if it is killed.

    Raises `StartError` if another process has the lock.
    """
    lock = (data_dir / "run" / "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "?"
        lock.close()
        raise StartError(
            f"Process {holder} already runs on {data_dir}: stop it with Ctrl-C or `kill {holder}`,"
            " or set DATA_DIR to another folder."
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def check_port(host: str, port: int) -> None:
    """Raise `StartError` if the port cannot be used."""
    listen(host, port).close()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections. Raises `StartError` if the port cannot be used."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(LISTEN_BACKLOG)
    except OSError as error:
        listener.close()
        raise _port_error(host, port, error) from error
    return listener


def _port_error(host: str, port: int, error: OSError) -> StartError:
    if isinstance(error, PermissionError):
        return StartError(f"Port {port} requires permissions that you do not have: use another one, such as PORT=8000.")
    if isinstance(error, socket.gaierror):
        return StartError(f"HOST {host} is not an address of this machine: use 127.0.0.1, or 0.0.0.0 for all.")
    return StartError(
        f"Port {port} of {host} cannot be used ({error.strerror}): choose another one, such as PORT={port + 1}."
    )
