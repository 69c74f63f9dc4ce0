"""A held lock, a used-up connection pool, and a broker that loses its queue, in one `make run`."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPMessage
from typing import Any
from urllib.parse import urlsplit

import pytest
from redis import Redis

from memory_platform.embedded.files import read_endpoints
from memory_platform.embedded.provision import LOCK_WAIT_MAX_SECONDS
from tests.integration.memory_platform.embedded.test_embedded_start import Start
from tests.reliability.chaos import end
from tests.reliability.platform_under_load import new_key, started

pytestmark = pytest.mark.long

LOCKED_ROWS = "SELECT FROM memories_memory FOR UPDATE"
RUN_STATES = "SELECT state FROM compaction_run"
#: A sweep every 30 seconds finds what lost its task.
SWEEP_MAX_SECONDS = 90.0


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """One web process with two connections to the database."""
    start = started(tmp_path_factory.mktemp("faults"), WEB_CONCURRENCY="1", DATABASE_POOL_SIZE="2")
    yield start
    end(start)


@pytest.fixture(scope="module")
def key(running: Start) -> str:
    return new_key(running)


def ask(start: Start, key: str, method: str, path: str, body: object = None) -> tuple[int, HTTPMessage, Any]:
    connection = HTTPConnection("127.0.0.1", start.port, timeout=60)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request(method, f"/api/v1/{path}", None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, response.headers, answer


def test_held_lock_refuses_what_needs_it_after_a_while_and_nothing_else(running: Start, key: str) -> None:
    memory = ask(running, key, "POST", "memories", {"content": "The kettle is red."})[2]
    path = f"memories/{memory['id']}"
    with running.superuser() as holder, holder.transaction():
        holder.execute(LOCKED_ROWS)
        began = time.monotonic()
        with ThreadPoolExecutor() as pool:
            edit = pool.submit(ask, running, key, "PATCH", path, {"content": "The kettle is blue."})
            status, _, read = ask(running, key, "GET", path)
            assert status == 200, read
            status, headers, problem = edit.result()
        assert (status, problem["code"]) == (503, "try_again")
        assert headers["Retry-After"]
        assert LOCK_WAIT_MAX_SECONDS - 1 < time.monotonic() - began < LOCK_WAIT_MAX_SECONDS + 10
    assert ask(running, key, "PATCH", path, {"content": "The kettle is blue."})[0] == 200


def test_used_up_connection_pool_refuses_and_recovers(running: Start, key: str) -> None:
    ids = [ask(running, key, "POST", "memories", {"content": f"Cup {number}."})[2]["id"] for number in range(2)]
    with running.superuser() as holder, holder.transaction(), ThreadPoolExecutor() as pool:
        holder.execute(LOCKED_ROWS)
        edits = [pool.submit(ask, running, key, "PATCH", f"memories/{each}", {"pinned": True}) for each in ids]
        time.sleep(1)  # both connections now wait for the lock
        status, headers, problem = ask(running, key, "GET", "memories")
        assert (status, problem["code"]) == (503, "database_unavailable")
        assert headers["Retry-After"]
        assert running.status_of("/healthz") == 200
        assert {edit.result()[0] for edit in edits} == {503}
    assert ask(running, key, "GET", "memories")[0] == 200


def test_broker_that_loses_its_queue_loses_no_work(running: Start, key: str) -> None:
    endpoints = read_endpoints(running.data_dir)
    assert endpoints
    session = ask(running, key, "POST", "sessions", {"max_context_tokens": 2_000})[2]["id"]
    messages = [{"role": "user", "content": f"Bowl {number} costs {number} euros."} for number in range(99)]
    assert ask(running, key, "POST", f"sessions/{session}/messages", {"messages": messages})[0] == 201
    workers = [process for process in running.running() if process.name() == "worker"]
    for process in workers:
        process.suspend()  # or it could take the task before the queue is lost
    status, _, run = ask(running, key, "POST", f"sessions/{session}/compact", {})
    assert status == 202, run
    # The broker is another database of the same server.
    Redis(unix_socket_path=urlsplit(endpoints.cache_url).path).flushall()
    for process in workers:
        process.resume()
    deadline = time.monotonic() + SWEEP_MAX_SECONDS
    with running.superuser() as reader:
        while (states := reader.execute(RUN_STATES).fetchall()) != [("done",)]:
            assert time.monotonic() < deadline, states
            time.sleep(0.5)
