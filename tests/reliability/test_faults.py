"""Faults: a long lock, an exhausted pool, a read-only database, a full disk, a failing broker, a terminated worker.

All tests share one `make run`, on a small disk if they run as root.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from redis import Redis

from memory_platform.embedded.files import read_endpoints
from memory_platform.embedded.provision import LOCK_WAIT_MAX_SECONDS
from tests import servers
from tests.integration.memory_platform.embedded.test_embedded_start import Start
from tests.reliability.chaos import end
from tests.reliability.platform_under_load import new_key, started
from tests.reliability.soak import blocks_after, counting_environment

pytestmark = pytest.mark.long

LOCKED_ROWS = "SELECT FROM memories_memory FOR UPDATE"
RUN_STATES = "SELECT state FROM compaction_run"
END_OTHER_SESSIONS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""
#: `make run` with a sweep every second, instead of every 30, for runs that lost their task.
PROGRAM = """
import sys
from memory_platform import schedule
schedule.BEAT_SCHEDULE["Resume abandoned compactions"]["schedule"] = 1.0
from memory_platform.embedded import supervisor
sys.exit(supervisor.main())
"""
#: The sweep ignores runs of the last minute.
BACKDATE_QUEUED_RUN = "UPDATE compaction_run SET created_at = created_at - interval '5 minutes' WHERE state = 'queued'"
SHOW_READ_ONLY = "SHOW default_transaction_read_only"
#: Only a platform that never recovers takes as long.
RECOVERY_MAX_SECONDS = 180.0
#: PostgreSQL, its log of 16 MB files, Redis and the logs of the processes fit in.
DISK_MEGABYTES = 400
CHUNK = b"\0" * 65536
#: After this many writes, each may keep this many blocks of memory on average, for caches of texts.
WARM_WRITES, MEASURED_WRITES, BLOCKS_KEPT_MAX = 200, 300, 15


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk in memory, which only root may mount; for others, an ordinary folder."""
    folder.mkdir()
    if os.geteuid() != 0:
        yield folder
        return
    options = f"size={DISK_MEGABYTES}m,mode=711"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="module")
def running() -> Iterator[Start]:
    """One web process with two connections to the database."""
    folder = servers.own_folder("faults")
    counting = counting_environment(folder / "counts")
    with small_disk(folder / "small") as disk:
        start = started(disk, ("-c", PROGRAM), WEB_CONCURRENCY="1", DATABASE_POOL_SIZE="2", **counting)
        yield start
        end(start)


@pytest.fixture(scope="module")
def key(running: Start) -> str:
    return new_key(running)


def ask(start: Start, key: str, method: str, path: str, body: object = None) -> tuple[int, HTTPMessage, Any]:
    connection = HTTPConnection("127.0.0.1", start.port, timeout=60)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with closing(connection):
        connection.request(method, f"/api/v1/{path}", None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
    return response.status, response.headers, answer


def test_requests_keep_no_memory(running: Start, key: str) -> None:
    """A short `make soak`."""
    former, latter = (blocks_after(running, key, writes) for writes in (WARM_WRITES, MEASURED_WRITES))
    assert (latter - former) / MEASURED_WRITES < BLOCKS_KEPT_MAX


def test_held_lock_and_used_up_pool_refuse_what_needs_them_after_a_while_and_nothing_else(
    running: Start, key: str
) -> None:
    paths = [
        f"memories/{ask(running, key, 'POST', 'memories', {'content': f'Cup {number}.'})[2]['id']}"
        for number in range(2)
    ]
    blue = {"content": "The cup is blue."}
    with running.superuser() as holder, holder.transaction(), ThreadPoolExecutor() as pool:
        holder.execute(LOCKED_ROWS)
        began = time.monotonic()
        edits = [pool.submit(ask, running, key, "PATCH", paths[0], blue)]
        status, _, read = ask(running, key, "GET", paths[0])
        assert status == 200, read
        edits.append(pool.submit(ask, running, key, "PATCH", paths[1], {"pinned": True}))
        reads = iter(lambda: ask(running, key, "GET", "memories"), None)  # until the second connection also waits
        status, headers, problem = next(read for read in reads if read[0] != 200 or edits[0].done())
        assert (status, problem.get("code")) == (503, "database_unavailable")
        assert headers["Retry-After"]
        assert running.status_of("/healthz") == 200
        for status, headers, problem in (edit.result() for edit in edits):
            assert (status, problem["code"]) == (503, "try_again")
            assert headers["Retry-After"]
        assert LOCK_WAIT_MAX_SECONDS - 1 < time.monotonic() - began < LOCK_WAIT_MAX_SECONDS + 10
    assert ask(running, key, "GET", "memories")[0] == 200
    assert ask(running, key, "PATCH", paths[0], blue)[0] == 200


def test_read_only_database_answers_reads_and_refuses_writes(running: Start, key: str) -> None:
    memory = ask(running, key, "POST", "memories", {"content": "The lamp is green."})[2]["id"]
    with running.superuser() as server:
        server.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        try:
            server.execute("SELECT pg_reload_conf()")
            wait_until(lambda: setting_of_new_session(running, SHOW_READ_ONLY) == "on")
            server.execute(END_OTHER_SESSIONS)  # they may read their settings later
            status, headers, problem = ask(running, key, "POST", "memories", {"content": "Another one."})
            assert (status, problem["code"]) == (503, "database_read_only")
            assert headers["Retry-After"]
            assert ask(running, key, "GET", f"memories/{memory}")[0] == 200
            assert ask(running, key, "POST", "memories/search", {"query": "lamp"})[0] == 200
            status, _, context = ask(running, key, "POST", "context", {"query": "lamp", "max_tokens": 500})
            assert status == 200, context
            assert "The lamp is green." in context["text"]
            assert [warning["code"] for warning in context["warnings"]] == ["receipt_failed"]
            assert [running.status_of(path) for path in ("/healthz", "/sign-in")] == [200, 200]
        finally:
            server.execute("SET default_transaction_read_only = off")
            server.execute("ALTER SYSTEM RESET default_transaction_read_only")
            server.execute("SELECT pg_reload_conf()")
    wait_until(lambda: ask(running, key, "POST", "memories", {"content": "The lamp is blue."})[0] == 201)


def test_broker_without_memory_for_more_stops_no_request_and_loses_no_work(running: Start, key: str) -> None:
    with broker(running) as server:
        former = server.config_get("maxmemory")["maxmemory"]
        server.config_set("maxmemory", "1")
        try:
            assert ask(running, key, "POST", "memories", {"content": "The mug is white."})[0] == 201
            status, _, run = ask(running, key, "POST", f"sessions/{full_session(running, key)}/compact", {})
            assert status == 202, run
            assert [running.status_of(path) for path in ("/healthz", "/sign-in")] == [200, 200]
        finally:
            server.config_set("maxmemory", former)
    backdate_queued_run(running)
    wait_until_compacted(running)


def test_worker_that_is_terminated_finishes_its_tasks_or_returns_them(running: Start, key: str) -> None:
    sessions = [full_session(running, key) for _ in range(4)]
    for session in sessions:
        assert ask(running, key, "POST", f"sessions/{session}/compact", {})[0] == 202
    workers = [process for process in running.running() if process.name() == "worker"]
    min(workers, key=lambda process: process.create_time()).terminate()
    wait_until_compacted(running)
    with running.superuser() as reader:
        attempts = reader.execute("SELECT attempts FROM compaction_run WHERE session_id = ANY (%s)", [sessions])
        assert attempts.fetchall() == [(1,)] * len(sessions)  # none was interrupted


def full_session(running: Start, key: str) -> str:
    """Return a new session with messages to compact."""
    session: str = ask(running, key, "POST", "sessions", {"max_context_tokens": 2_000})[2]["id"]
    messages = [{"role": "user", "content": f"Bowl {number} costs {number} euros."} for number in range(99)]
    assert ask(running, key, "POST", f"sessions/{session}/messages", {"messages": messages})[0] == 201
    return session


def broker(running: Start) -> Redis:
    """Return a client of the Redis server that broker and cache use."""
    endpoints = read_endpoints(running.data_dir)
    assert endpoints
    # The broker uses another database of the same server.
    return Redis(unix_socket_path=urlsplit(endpoints.cache_url).path, decode_responses=True)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + RECOVERY_MAX_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def setting_of_new_session(running: Start, statement: str) -> str:
    """Return the database's response to a client that connects now."""
    with running.superuser() as reader:
        row = reader.execute(statement).fetchone()
    assert row
    return str(row[0])


def backdate_queued_run(running: Start) -> None:
    with running.superuser() as writer:
        assert writer.execute(BACKDATE_QUEUED_RUN).rowcount == 1


def wait_until_compacted(running: Start) -> None:
    with running.superuser() as reader:
        wait_until(lambda: set(reader.execute(RUN_STATES).fetchall()) == {("done",)})


def test_broker_that_loses_its_queue_loses_no_work(running: Start, key: str) -> None:
    session = full_session(running, key)
    workers = [process for process in running.running() if process.name() == "worker"]
    with broker(running) as server:
        for process in workers:
            process.suspend()  # or it could take the task before the queue is lost
        for client in server.client_list():
            if "b" in client["flags"]:  # the server gives the next task to a worker that waits for one
                server.client_kill_filter(_id=client["id"])
        status, _, run = ask(running, key, "POST", f"sessions/{session}/compact", {})
        assert status == 202, run
        assert any("run_compaction_task" in message for message in server.lrange("compaction", 0, -1))
        server.flushall()
    backdate_queued_run(running)
    for process in workers:
        process.resume()
    wait_until_compacted(running)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_full_disk_refuses_writes_and_loses_nothing(running: Start, key: str) -> None:
    kept: list[str] = []

    def write(number: int) -> int:
        body = {"content": f"Box {number} holds {'a candle, ' * 500}", "source_id": f"box-{number}"}
        status, headers, answer = ask(running, key, "POST", "memories", body)
        if status == 201:
            kept.append(answer["id"])
        else:
            assert (status, bool(headers["Retry-After"])) == (503, True), answer
        return status

    def is_read() -> bool:
        with suppress(OSError):  # a process that is killed meanwhile
            return ask(running, key, "GET", f"memories/{kept[0]}")[0] == 200
        return False

    assert write(0) == 201
    filler = fill(running.data_dir)
    try:
        statuses = [write(number) for number in range(1, 40)]
        assert 503 in statuses
        assert running.status_of("/healthz") == 200
        for name in ("beat", "web"):
            former = processes_of(running, name)
            for process in former:
                process.kill()
            running.wait_until(partial(has_others, running, name, former))
        wait_until(is_read)
    finally:
        filler.unlink()
    wait_until(lambda: write(1000) == 201)
    found = [ask(running, key, "GET", f"memories/{each}")[0] for each in kept]
    assert found == [200] * len(kept)


def processes_of(running: Start, name: str) -> set[psutil.Process]:
    return {process for process in running.running() if process.name() == name}


def has_others(running: Start, name: str, former: set[psutil.Process]) -> bool:
    return bool(processes_of(running, name) - former)


def fill(folder: Path) -> Path:
    """Fill the disk; removing the file frees the space."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(CHUNK)
    return filler
