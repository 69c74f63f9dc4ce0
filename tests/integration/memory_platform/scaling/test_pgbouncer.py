"""Two tenants at once through PgBouncer in transaction mode, with two server connections for each role (ADR-0190)."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from memories import tasks
from memories.models import Tenant
from memory_platform.embedded.postgres import OS_USER
from memory_platform.embedded.processes import spawn_process, stop_processes, wait_until_ready
from tests import servers
from tests.concurrency import run_concurrently
from tests.database_roles import own_connections
from tests.users import PASSWORD, api_client, new_key, new_operator

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
SERVER_CONNECTIONS = 2
ROUNDS = 4
ROLES = {"default": servers.APP, "console": servers.CONSOLE, "maintenance": servers.MAINTENANCE}

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(PROGRAM is None, reason="no pgbouncer on this machine: see bin/pgbouncer"),
]


def keeps_prepared_statements() -> bool:
    """Return whether this PgBouncer keeps prepared statements, as it does from 1.21 on; Debian 12 has 1.18."""
    if PROGRAM is None:
        return False
    output = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    numbers = re.search(r"(\d+)\.(\d+)", output)
    return bool(numbers) and (int(numbers[1]), int(numbers[2])) >= (1, 21)


@pytest.fixture(scope="module")
def pooler() -> Iterator[Path]:
    """The folder of the pooler's socket; as the OS user of PostgreSQL, because it does not run as root either."""
    user = OS_USER if os.geteuid() == 0 else None
    folder = servers.own_folder("pgbouncer")
    address = servers.superuser_parameters()
    lines = [
        "[databases]",
        f"* = host={address['host']}",
        "[pgbouncer]",
        "pool_mode = transaction",
        f"default_pool_size = {SERVER_CONNECTIONS}",
        "auth_type = scram-sha-256",
        f"auth_file = {folder / 'users'}",
        "listen_port = 6432",
        f"unix_socket_dir = {folder}",
        *(["max_prepared_statements = 200"] if keeps_prepared_statements() else []),
    ]
    (folder / "settings").write_text("\n".join(lines) + "\n")
    (folder / "users").write_text("".join(f'"{login.role}" "{login.password}"\n' for login in ROLES.values()))
    if user:
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, user)
    log = Path(os.environ["DATA_DIR"]) / "logs" / "pgbouncer.log"
    child = spawn_process("PgBouncer", [PROGRAM or "", str(folder / "settings")], log=log, user=user, cwd=folder)
    login = {"host": str(folder), "port": 6432, "user": servers.APP.role, "password": servers.APP.password}

    def probe() -> None:
        psycopg.connect(dbname=servers.own_database(), **login).close()

    wait_until_ready(child, probe, errors=(psycopg.OperationalError,), timeout_seconds=60)
    yield folder
    stop_processes([child], timeout_seconds=5)
    shutil.rmtree(folder)


@pytest.fixture(params=[False, True] if keeps_prepared_statements() else [False])
def pooled(
    pooler: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, two: list["Customer"]
) -> Iterator[None]:
    """This process connects to its database through the pooler, as with DATABASE_POOLER=1."""
    monkeypatch.setattr(settings, "DATABASE_POOLER", True)
    monkeypatch.setattr(settings, "DATABASE_PREPARED_STATEMENTS", request.param)
    for alias in ROLES:
        config = connections.settings[alias]
        monkeypatch.setitem(config, "HOST", str(pooler))
        monkeypatch.setitem(config, "PORT", "6432")
        monkeypatch.setitem(config["OPTIONS"], "prepare_threshold", 0 if request.param else None)
    with own_connections():
        yield


@dataclass
class Customer:
    """A tenant with an agent and an operator, and the word in its memories."""

    tenant: Tenant
    key: str
    person: User
    word: str


@pytest.fixture
def two(tenant: Tenant, other_tenant: Tenant) -> list[Customer]:
    return [
        Customer(each, new_key(each, "read", "write"), new_operator(word, "viewer", each), word)
        for each, word in ((tenant, "raspberry"), (other_tenant, "periwinkle"))
    ]


def use_as_agent(own: Customer, other: Customer) -> None:
    """Write, search and use a session; nothing of the other tenant appears."""
    agent, word = api_client(own.key), own.word

    def ask(path: str, body: dict[str, Any]) -> Any:
        answer = agent.post(f"/api/v1/{path}", body)
        assert answer.status_code < 300, answer.content
        text = answer.content.decode()
        assert other.word not in text
        return answer.json()

    session = ask("sessions", {"max_context_tokens": 4000})["id"]
    for number in range(ROUNDS):
        ask("memories", {"content": f"The {word} of day {number} is in the cellar."})
        assert word in ask("context", {"query": f"Where is the {word}?", "max_tokens": 300})["text"]
        ask(f"sessions/{session}/messages", {"messages": [{"role": "user", "content": f"Message {number}: {word}"}]})
        assert word in str(ask(f"sessions/{session}/context", {"query": word}))


def use_as_operator(own: Customer, other: Customer) -> None:
    """Read pages of the console."""
    client = Client()
    signed_in = client.post("/sign-in", {"username": own.person.username, "password": PASSWORD})
    assert signed_in.status_code == 302
    for _ in range(ROUNDS):
        for page in ("memories", "sessions", "contexts"):
            answer = client.get(f"/t/{own.tenant.pk}/{page}")
            assert answer.status_code == 200
            assert own.tenant.name in answer.content.decode()
            assert other.tenant.name not in answer.content.decode()
            assert other.word not in answer.content.decode()


def work_in_background() -> None:
    """Run what takes advisory locks and works for all tenants."""
    for _ in range(ROUNDS):
        tasks.fold_retrievals_task()
        tasks.seal_audit_entries_task()


def server_connections() -> dict[str, int]:
    with psycopg.connect(os.environ[servers.SUPERUSER_URL]) as server:
        rows = server.execute(
            "SELECT usename, count(*) FROM pg_stat_activity WHERE datname = %s GROUP BY usename",
            [servers.own_database()],
        ).fetchall()
    return dict(rows)


def test_two_tenants_share_two_connections_and_see_their_own_rows(pooled: None, two: list[Customer]) -> None:
    works: list[Callable[[], None]] = [work_in_background]
    for pair in (two, two[::-1]):
        works += [partial(use_as_agent, *pair), partial(use_as_agent, *pair), partial(use_as_operator, *pair)]
    run_concurrently(works)
    opened = server_connections()
    for login in ROLES.values():
        assert opened.get(login.role, 0) <= SERVER_CONNECTIONS, opened
    answer = Client().get("/readyz")
    assert answer.status_code == 200, answer.content
