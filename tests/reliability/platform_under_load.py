"""`make run` in a separate folder with clients that write, compact and read, for `chaos` and `soak`."""

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import uuid4

from memory_platform.embedded.config import PROJECT
from tests import servers
from tests.integration.memory_platform.embedded.test_embedded_start import Start

TENANT = "Under load"
REQUEST_SECONDS = 60.0
BULK_ROWS = 1_000
PAUSE_SECONDS = 0.2
SESSIONS = 6
SESSIONS_SECONDS = 120.0
KEPT_ANSWERS = 300
WORDS = ["kettle", "harbour", "invoice", "garden", "ticket", "battery", "recipe", "window", "meeting"]


@dataclass(frozen=True)
class Acknowledged:
    """A write with its key, and the response that its client received."""

    key: str
    path: str
    body: dict[str, Any]
    status: int
    answer: Any


@dataclass
class Load:
    """The clients: each write is repeated until it is acknowledged, with the same key and ids."""

    port: int
    key: str
    sessions: list[str] = field(default_factory=list)
    memories: set[str] = field(default_factory=set)
    messages: set[str] = field(default_factory=set)
    #: The last writes with their responses, and the ids of the last contexts with their texts.
    acknowledged: deque[Acknowledged] = field(default_factory=lambda: deque(maxlen=KEPT_ANSWERS))
    contexts: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=KEPT_ANSWERS))
    statuses: dict[int, int] = field(default_factory=dict)
    durations: list[float] = field(default_factory=list)
    #: How many contexts were returned.
    reads: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, clients: int, *, has_compaction: bool = True) -> None:
        """Start the clients; the last of them compacts sessions, or writes as the others do.

        Raises `RuntimeError` if no sessions can be created.
        """
        deadline = time.monotonic() + SESSIONS_SECONDS
        while len(self.sessions) < SESSIONS:
            if time.monotonic() > deadline:
                raise RuntimeError(f"no sessions can be created; answers by status: {self.statuses}")
            status, answer = self.ask("POST", "sessions", {"max_context_tokens": 4000})
            if status == HTTPStatus.CREATED:
                self.sessions.append(answer["id"])
        kinds = (self._store_memory, self._append_message, self._store_memory, self._append_message, self._read)
        for number in range(clients):
            work = self._compact if has_compaction and number == clients - 1 else kinds[number % len(kinds)]
            thread = threading.Thread(target=self._repeat, args=(work, random.Random(number)))
            thread.start()
            self._threads.append(thread)

    def end(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, work: Callable[[random.Random], None], randomness: random.Random) -> None:
        while not self.stop.is_set():
            work(randomness)

    def _store_memory(self, randomness: random.Random) -> None:
        source = uuid4().hex
        body = {
            "content": f"{sentence(randomness)} {source}",
            "source_id": source,
            "user_id": f"u{randomness.randrange(20)}",
        }
        if self._until_acknowledged("memories", body, source):
            self.memories.add(source)

    def _append_message(self, randomness: random.Random) -> None:
        source = uuid4().hex
        message = {"role": "user", "content": f"{sentence(randomness)} {source}", "source_id": source}
        if self._until_acknowledged(
            f"sessions/{randomness.choice(self.sessions)}/messages", {"messages": [message]}, source
        ):
            self.messages.add(source)

    def _read(self, randomness: random.Random) -> None:
        status, answer = self.ask("POST", "context", {"query": sentence(randomness), "max_tokens": 1000})
        if status == HTTPStatus.OK and answer["id"]:
            self.contexts.append((answer["id"], answer["text"]))
            with self._lock:
                self.reads += 1

    def store_in_bulk(self, randomness: random.Random) -> None:
        """Store many memories in one request."""
        rows = [{"content": f"{sentence(randomness)} {uuid4().hex}"} for _ in range(BULK_ROWS)]
        self.ask("POST", "memories/bulk", {"memories": rows})

    def _compact(self, randomness: random.Random) -> None:
        self.ask("POST", f"sessions/{randomness.choice(self.sessions)}/compact", {})
        self.stop.wait(1)

    def _until_acknowledged(self, path: str, body: dict[str, Any], key: str) -> bool:
        """Return whether the write was acknowledged; a write that the end of the run interrupts does not count."""
        while not self.stop.is_set():
            status, answer = self.ask("POST", path, body, key)
            if status in {HTTPStatus.OK, HTTPStatus.CREATED}:
                self.acknowledged.append(Acknowledged(key, path, body, status, answer))
                return True
            self.stop.wait(PAUSE_SECONDS)
        return False

    def ask(self, method: str, path: str, body: dict[str, Any], key: str = "") -> tuple[int, Any]:
        """Send a request; status 0 means that there was no response."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        headers |= {"Idempotency-Key": key} if key else {}
        start, status, answer = time.monotonic(), 0, None
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=REQUEST_SECONDS)
        with suppress(OSError, http.client.HTTPException, ValueError):
            connection.request(method, f"/api/v1/{path}", json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read()
            status, answer = response.status, json.loads(text)
        connection.close()
        with self._lock:
            self.statuses[status] = self.statuses.get(status, 0) + 1
            self.durations.append(time.monotonic() - start)
        if not status:
            self.stop.wait(PAUSE_SECONDS)
        return status, answer


def sentence(randomness: random.Random) -> str:
    return f"The {randomness.choice(WORDS)} and the {randomness.choice(WORDS)} cost {randomness.randrange(1000)} euros."


def started(folder: Path, program: tuple[str, ...] = Start.program, **settings: str) -> Start:
    """Start `make run` there; that may take minutes on a busy machine."""
    more = {"WEB_CONCURRENCY": "2", **settings}
    return Start(folder / "data", servers.unused_port(), more, program).wait_until_ready()


#: Both commands in one process, because each would load Django first.
NEW_KEY = f"""
from django.core.management import call_command
call_command("create_tenant", {TENANT!r})
call_command("create_key", {TENANT!r}, scopes="read,write,admin")
"""


def new_key(start: Start) -> str:
    """Return a key of a new tenant."""
    return manage(start, "shell", "--no-imports", "--command", NEW_KEY).stdout.split()[-1]


def manage(start: Start, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command of the project while the platform is running."""
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=PROJECT, env=start.environment(), capture_output=True, text=True, check=check)


def machine() -> str:
    load = f"load {os.getloadavg()[0]:.1f}"
    return f"{os.cpu_count()} processor cores, Python {sys.version.split()[0]}, {sys.platform}, {load}"
