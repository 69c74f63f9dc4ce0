"""Broker and cache find the current master through a real Redis Sentinel (ADR-0192)."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from django.core.cache.backends.redis import RedisCache
from kombu import Connection

from memory_platform.embedded.environment import broker_options, cache_config
from memory_platform.embedded.processes import ChildProcess, spawn_process, stop_processes, wait_until_ready
from memory_platform.embedded.redis import find_program
from tests import servers

pytestmark = pytest.mark.long

MASTER = {"master": "memory", "sentinel_password": ""}
PASSWORD = "secret/of:redis"
WAIT_SECONDS = 60


@pytest.fixture
def children() -> Iterator[list[ChildProcess]]:
    started: list[ChildProcess] = []
    yield started
    stop_processes(started, timeout_seconds=5)


def wait_until(is_so: Callable[[], object]) -> None:
    waiting, pause = threading.Event(), 0.05
    for _ in range(int(WAIT_SECONDS / pause)):
        try:
            if is_so():
                return
        except redis.RedisError:
            pass
        waiting.wait(pause)
    pytest.fail("not in time")


def start(children: list[ChildProcess], folder: Path, *arguments: str) -> int:
    """Start a Redis program on a port of this machine."""
    port = servers.unused_port()
    folder.mkdir()
    command = [find_program() or "", *arguments, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    children.append(spawn_process(folder.name, command, log=folder / "log"))
    with redis.Redis(port=port, password=None if "--sentinel" in arguments else PASSWORD) as client:
        wait_until_ready(children[-1], client.ping, errors=(redis.RedisError,), timeout_seconds=WAIT_SECONDS)
    return port


def test_broker_and_cache_follow_a_failover(children: list[ChildProcess], tmp_path: Path) -> None:
    passwords = ["--requirepass", PASSWORD, "--masterauth", PASSWORD]
    first = start(children, tmp_path / "first", *passwords)
    second = start(children, tmp_path / "second", *passwords, "--replicaof", "127.0.0.1", str(first))
    settings = tmp_path / "sentinel.conf"
    settings.write_text(
        f"sentinel monitor memory 127.0.0.1 {first} 1\nsentinel auth-pass memory {PASSWORD}\n"
        "sentinel down-after-milliseconds memory 1000\nsentinel failover-timeout memory 3000\n"
    )
    with redis.Redis(port=second, password=PASSWORD) as client:
        # before the sentinel checks, which it repeats only after ten seconds
        wait_until(lambda: client.info("replication")["master_link_status"] == "up")
    sentinel = start(children, tmp_path / "sentinel", str(settings), "--sentinel")
    with redis.Redis(port=sentinel) as client:
        wait_until(lambda: client.sentinel_slaves("memory"))
    # the first address does not respond: a sentinel may be down, too
    hosts = [f"sentinel://:secret%2Fof%3Aredis@127.0.0.1:{servers.unused_port()}", f"sentinel://127.0.0.1:{sentinel}"]
    config = cache_config(";".join(f"{host}/1" for host in hosts), MASTER)
    cache = RedisCache(config["LOCATION"], config)
    url = ";".join(f"{host}/0" for host in hosts)
    options = broker_options(url, tmp_path, MASTER)

    def send(text: str) -> None:
        with Connection(url, transport_options=options) as broker, broker.SimpleQueue("work") as queue:
            queue.put(text)

    cache.set("name", "before")
    send("before")
    with redis.Redis(port=first, password=PASSWORD) as client:
        client.wait(1, WAIT_SECONDS * 1000)
    stop_processes(children[:1], timeout_seconds=5)
    with redis.Redis(port=second, password=PASSWORD) as client:
        wait_until(lambda: client.role()[0] == b"master")
    wait_until(lambda: cache.get("name") == "before")
    send("after")
    with Connection(url, transport_options=options) as broker, broker.SimpleQueue("work") as queue:
        assert [queue.get(timeout=WAIT_SECONDS).payload for _ in range(2)] == ["before", "after"]
