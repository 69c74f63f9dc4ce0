"""Two web servers and two workers in separate processes, with one database and one Redis."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from compaction.models import Compaction
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.embedded.processes import ChildProcess, spawn_process, stop_processes
from memory_platform.embedded.supervisor import web_command
from tests import servers
from tests.architecture import ROOT
from tests.integration.memory_platform.rest.test_api_http_server import Server, wait_until_it_answers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

SESSIONS = 8
WAIT_SECONDS = 200


@dataclass
class Machines:
    """Two web servers, and the logs of two workers."""

    web: list[Server]
    logs: list[Path]

    def ask(self, number: int, method: str, path: str, body: Any = None) -> Any:
        """Return the response of a web server, which must be a success."""
        response, answer = self.web[number].request(method, f"/api/v1/{path}", body)
        assert response.status < 300, answer
        return answer


@pytest.fixture
def machines(tmp_path: Path, transactional_db: None, admin_key: str) -> Iterator[Machines]:
    children: list[ChildProcess] = []

    def start(name: str, *arguments: str) -> ChildProcess:
        log = tmp_path / f"{name}.log"
        env = {**os.environ, "EMBEDDING_PROVIDER": "hashed"}
        children.append(spawn_process(name, [sys.executable, *arguments], log=log, env=env, cwd=ROOT))
        return children[-1]

    ports = [servers.unused_port() for _ in range(2)]
    try:
        webs = [start(f"web-{port}", *web_command(f"127.0.0.1:{port}", processes=1)) for port in ports]
        worker = ("-m", "celery", "-A", "memory_platform", "worker", "--concurrency", "1", "--loglevel", "INFO")
        workers = [start(f"worker-{number}", *worker, "--hostname", f"w{number}@test") for number in range(2)]
        for port, web in zip(ports, webs, strict=True):
            assert isinstance(web.process, subprocess.Popen)
            wait_until_it_answers(port, web.process)
        yield Machines([Server(port, admin_key) for port in ports], [each.log for each in workers])
    finally:
        stop_processes(children, timeout_seconds=10)


def test_two_machines_are_one_platform(machines: Machines, tenant: Tenant) -> None:
    # Each web server finds what the other one writes, including settings that it caches.
    for number in range(4):
        one, other = number % 2, 1 - number % 2
        word = f"raspberry{number}"
        machines.ask(one, "POST", "memories", {"content": f"The {word} is in the cellar."})
        machines.ask(one, "PUT", "memo", {"content": f"Memo {number}."})
        text = machines.ask(other, "POST", "context", {"query": f"Where is the {word}?", "max_tokens": 500})["text"]
        assert word in text
        assert f"Memo {number}." in text

    # Each piece of work for the two workers is done once.
    messages = [{"role": "user", "content": f"Bowl {bowl} costs {bowl} euros."} for bowl in range(99)]
    for number in range(SESSIONS):
        session = machines.ask(number % 2, "POST", "sessions", {"max_context_tokens": 2000})["id"]
        machines.ask(1 - number % 2, "POST", f"sessions/{session}/messages", {"messages": messages})
        machines.ask(number % 2, "POST", f"sessions/{session}/compact", {})
    waiting, pause = threading.Event(), 0.2
    for _ in range(int(WAIT_SECONDS / pause)):
        with tenant_scope(tenant.pk):
            states = list(Compaction.objects.for_tenant(tenant.pk).values_list("state", flat=True))
        if "pending" not in states:
            break
        waiting.wait(pause)
    assert len(states) == SESSIONS
    assert set(states) <= {"applied", "proposed"}
    done = [log.read_text().count("run_compaction_task") for log in machines.logs]
    assert all(done), "both workers took part"
