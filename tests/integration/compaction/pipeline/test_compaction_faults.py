"""Compactions with killed workers, two workers at once, and messages that change in the meantime.

For a restart of Redis, see test_scenario_sessions_troubled.py.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from compaction.models import Message, Run
from compaction.pipeline import orchestrator
from compaction.pipeline.actions import retry_compaction_run
from compaction.sessions.actions import pin_message
from memories.models import Tenant
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import tenant_scope
from memory_platform.embedded.processes import ChildProcess, stop_processes
from memory_platform.embedded.redis import start_redis
from tests.integration.compaction_helpers import (
    compact,
    conversation,
    full_session,
    live_memories,
    message_texts,
    set_policy,
    shown,
    stored_compactions,
    stored_runs,
)
from tests.integration.session_helpers import append, stored_messages
from tests.users import BY, api_client

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

ROOT = Path(__file__).resolve().parents[4]
STEPS = ["claimed", "planned", "summarised", "journaled", "checked", "applying"]
AFTER = "done"
#: Forks a worker for each line of its input. The worker dies at the step that the line names; prints its exit code.
WORKERS = """
import os, signal, sys, uuid
from datetime import datetime
import django
django.setup()
from compaction.pipeline import orchestrator
from memories.embeddings.providers import get_embedder
from memories.services.tokens import ENCODINGS, load_encoding
# what takes long to load is loaded once
get_embedder()
[load_encoding(name) for name in ENCODINGS]
for line in sys.stdin:
    fatal_step, tenant_id, run_id, now = line.split()
    worker = os.fork()
    if not worker:
        def note_step(step):
            if step == fatal_step:
                os.kill(os.getpid(), signal.SIGKILL)
        orchestrator.note_step = note_step
        orchestrator.run_compaction(uuid.UUID(tenant_id), uuid.UUID(run_id), now=datetime.fromisoformat(now))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]), flush=True)
"""
WAIT_SECONDS = 240


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


def assert_stored_once(tenant: Tenant) -> None:
    """What one compaction stores: facts, and at most one memory of what the summary says beyond them."""
    stored = [memory.content for memory in live_memories(tenant)]
    assert len(set(stored)) == len(stored) > 0
    assert len(live_memories(tenant, "context_synthesis")) <= 1


@pytest.fixture
def session(admin: APIClient, tenant: Tenant) -> dict[str, Any]:
    set_policy(tenant, retention_floor=0.0)  # little of the tool calls is kept
    return full_session(admin, lookups=2)


@pytest.fixture
def run(admin: APIClient, tenant: Tenant, session: dict[str, Any]) -> Run:
    compact(admin, session, 202, wait=False)
    return stored_runs(tenant)[0]


def python(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


Killer = Callable[[str, Run, datetime], None]


@pytest.fixture(scope="module")
def die_at() -> Iterator[Killer]:
    """Have a worker process run a compaction and kill it at a step."""
    command = [sys.executable, "-c", WORKERS]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as workers:
        assert workers.stdin
        assert workers.stdout

        def die(step: str, run: Run, now: datetime) -> None:
            workers.stdin.write(f"{step} {run.tenant_id} {run.pk} {now.isoformat()}\n")
            workers.stdin.flush()
            assert workers.stdout.readline().strip() == "-9", step

        yield die
        workers.stdin.close()


def test_worker_killed_at_any_step_leaves_before_or_after(
    tenant: Tenant, session: dict[str, Any], run: Run, die_at: Killer
) -> None:
    before = shown(tenant, session["id"])
    now = timezone.now()
    for step in STEPS:
        die_at(step, run, now)
        assert shown(tenant, session["id"]) == before, f"killed at {step}, the session is not as before"
        assert live_memories(tenant) == []
        assert stored_compactions(tenant)[0].state == "pending"
        assert orchestrator.run_compaction(tenant.pk, run.pk, now=now).state == "", "taken from a worker that may live"
        now += orchestrator.COMPACTION_LEASE + timedelta(seconds=1)
    die_at(AFTER, run, now)
    after = shown(tenant, session["id"])
    assert after != before
    assert [row.state for row in stored_compactions(tenant)] == ["applied"]
    assert stored_runs(tenant)[0].state == "done"
    again = orchestrator.run_compaction(tenant.pk, run.pk, now=now + orchestrator.COMPACTION_LEASE * 2)
    assert again.state == ""
    assert shown(tenant, session["id"]) == after


def test_next_worker_finishes_what_a_killed_one_began(
    tenant: Tenant, session: dict[str, Any], run: Run, die_at: Killer
) -> None:
    now = timezone.now()
    die_at("applying", run, now)
    outcome = orchestrator.run_compaction(
        tenant.pk, run.pk, now=now + orchestrator.COMPACTION_LEASE + timedelta(seconds=1)
    )
    assert outcome.state == "applied"
    assert stored_runs(tenant)[0].attempts == 2
    assert_stored_once(tenant)


def test_run_that_kills_every_worker_is_given_up(tenant: Tenant, run: Run) -> None:
    now = timezone.now()
    with tenant_scope(tenant.pk):
        Run.objects.filter(pk=run.pk).update(attempts=orchestrator.COMPACTION_ATTEMPTS_MAX)
    outcome = orchestrator.run_compaction(tenant.pk, run.pk, now=now)
    assert (outcome.state, outcome.code) == ("failed", "too_many_attempts")


def test_of_two_workers_one_does_the_run(tenant: Tenant, session: dict[str, Any], run: Run) -> None:
    barrier, states = threading.Barrier(2), []
    now = timezone.now()

    def work() -> None:
        try:
            barrier.wait()
            states.append(orchestrator.run_compaction(tenant.pk, run.pk, now=now).state)
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(states) == ["", "applied"]
    assert_stored_once(tenant)


def once_at(step: str, act: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Call a function when the orchestrator first reaches a step."""
    left = [act]

    def reached(at: str) -> None:
        if at == step and left:
            left.pop()()

    monkeypatch.setattr(orchestrator, "note_step", reached)


def test_worker_that_was_thought_dead_writes_nothing(
    tenant: Tenant, session: dict[str, Any], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    taken_over: list[str] = []

    def take_over() -> None:
        late = now + orchestrator.COMPACTION_LEASE + timedelta(seconds=1)
        taken_over.append(orchestrator.run_compaction(tenant.pk, run.pk, now=late).state)

    once_at("checked", take_over, monkeypatch)
    assert orchestrator.run_compaction(tenant.pk, run.pk, now=now).state == ""
    assert taken_over == ["applied"]
    assert_stored_once(tenant)
    assert [row.state for row in stored_compactions(tenant)] == ["applied"]


def test_message_pinned_meanwhile_stays_and_new_ones_do_not_matter(
    admin: APIClient, tenant: Tenant, session: dict[str, Any], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = stored_messages(tenant, session["id"])[0]

    def pin_and_append() -> None:
        with tenant_scope(tenant.pk):
            message = Message.objects.for_tenant(tenant.pk).get(pk=first.pk)
            pin_message(message=message, pinned=True, by=BY, now=timezone.now())
        append(admin, session, *conversation(1, start=500))

    once_at("checked", pin_and_append, monkeypatch)
    assert orchestrator.run_compaction(tenant.pk, run.pk, now=timezone.now()).state == "applied"
    now_shown = message_texts(shown(tenant, session["id"]))
    assert first.content in now_shown
    assert now_shown[-2] == conversation(1, start=500)[0]["content"]


def test_retry_of_what_is_open_elsewhere_is_refused(admin: APIClient, tenant: Tenant, run: Run) -> None:
    with tenant_scope(tenant.pk):
        Run.objects.filter(pk=run.pk).update(state="failed")
    with tenant_scope(tenant.pk), pytest.raises(Conflict, match="pending"):
        retry_compaction_run(run=run, by=BY, now=timezone.now())


# --- A worker of its own, with a Redis of its own ------------------------------------------------------------------


class Runtime:
    """A Redis that can be stopped and started, and a worker connected to it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.redis: ChildProcess | None = None
        self.start()
        self.environment = {**os.environ, **environment, "CELERY_BROKER_URL": self.broker_url}
        command = [
            "-m",
            "celery",
            "-A",
            "memory_platform",
            "worker",
            "--pool",
            "solo",
            "-l",
            "WARNING",
        ]
        self.log = (folder / "worker.log").open("w")
        self.worker = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=self.environment, stdout=self.log, stderr=self.log
        )

    def start(self) -> None:
        broker = start_redis(self.folder)
        self.redis, self.broker_url = broker.child, broker.broker_url

    def stop_redis(self) -> None:
        assert self.redis is not None
        stop_processes([self.redis], timeout_seconds=5)

    def end(self) -> None:
        self.worker.kill()
        self.worker.wait()
        self.log.close()
        self.stop_redis()

    def call(self, code: str, *arguments: object) -> None:
        done = python(f"import sys, uuid, django\ndjango.setup()\n{code}", *arguments, **self.environment)
        assert done.returncode == 0, done.stderr[-2000:]


def wait_for(condition: Any, runtime: Runtime) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, (runtime.folder / "worker.log").read_text()[-3000:]
        time.sleep(0.1)
