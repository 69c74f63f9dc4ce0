"""Searches read a real streaming replica, or the primary if the replica lacks a write (ADR-0191)."""

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from math import inf
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection, connections
from django.test import Client
from prometheus_client import REGISTRY

from memories.models import Tenant
from memories.tenancy import replica
from memory_platform.embedded.environment import replica_config
from memory_platform.embedded.files import write_private
from memory_platform.embedded.postgres import ENVIRONMENT, OS_USER, PROGRAMS, start_postgres
from memory_platform.embedded.processes import stop_processes
from memory_platform.postgres.roles import REPLICA
from tests import servers
from tests.database_roles import own_connections
from tests.users import api_client

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

WAIT_SECONDS = 60
LAG_SECONDS = 2.0


class Standby:
    """A replica of the tests' server."""

    def __init__(self) -> None:
        self.data_dir = servers.own_folder("replica")
        address = servers.superuser_parameters()
        write_private(self.data_dir / "secrets" / "postgres_superuser", address["password"])
        copy = [str(PROGRAMS / "pg_basebackup"), "--pgdata", str(self.data_dir / "postgres"), "--checkpoint=fast"]
        copy += ["--write-recovery-conf", "--no-sync", "--no-password"]
        copy += ["--host", address["host"], "--username", address["user"]]
        subprocess.run(copy, env={**ENVIRONMENT, "PGPASSWORD": address["password"]}, check=True, capture_output=True)
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", OS_USER, str(self.data_dir / "postgres")], check=True)
        self.start()

    def start(self) -> None:
        self.child, self.url = start_postgres(self.data_dir, options=servers.FAST)

    def run(self, statement: str) -> Any:
        with psycopg.connect(self.url, autocommit=True) as server:
            cursor = server.execute(statement)
            return cursor.fetchone() if cursor.description else None

    def wait_until_current(self) -> None:
        """Wait until it has replayed all that the primary has written."""
        with psycopg.connect(os.environ[servers.SUPERUSER_URL], autocommit=True) as primary:
            row = primary.execute("SELECT pg_current_wal_insert_lsn()").fetchone()
        waiting, pause = threading.Event(), 0.02
        for _ in range(int(WAIT_SECONDS / pause)):
            (is_there,) = self.run(f"SELECT pg_last_wal_replay_lsn() >= '{row[0] if row else ''}'")
            if is_there:
                return
            waiting.wait(pause)
        pytest.fail("the replica does not follow")


@pytest.fixture(scope="module")
def standby(django_db_setup: None) -> Iterator[Standby]:
    started = Standby()
    yield started
    stop_processes([started.child], timeout_seconds=5)
    shutil.rmtree(started.data_dir)


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


@pytest.fixture
def replicated(
    standby: Standby, monkeypatch: pytest.MonkeyPatch, clock: list[float], tenant: Tenant, api_key: str
) -> Iterator[Standby]:
    """Set DATABASE_REPLICA_URL for this process. Its clock stands still, so that only the tests compare positions."""
    connection.close()
    config = {**connections.settings["default"], "HOST": psycopg.conninfo.conninfo_to_dict(standby.url)["host"]}
    config["OPTIONS"] = {**config["OPTIONS"], "pool": dict(config["OPTIONS"]["pool"])}
    monkeypatch.setitem(connections.settings, REPLICA, replica_config(config))
    monkeypatch.setattr(settings, "DATABASE_REPLICA_LAG_SECONDS", LAG_SECONDS)
    lag = replica.ReplicaLag(lambda: clock[0])
    lag._next_check = inf
    monkeypatch.setattr(replica, "lag", lag)
    with own_connections():
        yield standby


def outcomes() -> dict[str, float]:
    names = ("replica", "behind", "written", "failed")
    metric = "memory_platform_replica_reads_total"
    return {name: REGISTRY.get_sample_value(metric, {"outcome": name}) or 0.0 for name in names}


def store(key: str, text: str) -> None:
    assert api_client(key).post("/api/v1/memories", {"content": text}).status_code == 201


def search(key: str, word: str) -> tuple[bool, str]:
    """Return whether a context contains the word, and which server was read."""
    before = outcomes()
    answer = api_client(key).post("/api/v1/context", {"query": f"Where is the {word}?", "max_tokens": 300})
    assert answer.status_code == 200, answer.content
    (outcome,) = (name for name, value in outcomes().items() if value > before[name])
    return word in answer.json()["text"], outcome


def compare_positions(standby: Standby) -> None:
    """Wait until the replica is known to have everything; the server writes occasionally by itself."""
    for _ in range(10):
        standby.wait_until_current()
        replica.lag.check()
        if replica.lag.seconds() == 0:
            return
    pytest.fail("the replica does not follow")


def forget_writes(tenant: Tenant) -> None:
    """Pretend that the seconds after the tenant's last write are over."""
    replica.cache.delete(replica._key(tenant.pk))


def test_a_search_reads_the_replica_once_the_tenant_s_writes_are_there(
    replicated: Standby, tenant: Tenant, api_key: str
) -> None:
    store(api_key, "The raspberry jam is in the cellar.")
    assert search(api_key, "raspberry") == (True, "behind")  # nothing is known about the replica yet
    compare_positions(replicated)
    assert search(api_key, "raspberry") == (True, "written")
    forget_writes(tenant)
    assert search(api_key, "raspberry") == (True, "replica")
    assert search(api_key, "periwinkle") == (False, "replica")
    assert Client().get("/readyz").json()["parts"]["replica"]["status"] == "ok"


def test_a_search_finds_its_agent_s_own_write_while_the_replica_lags(
    replicated: Standby, tenant: Tenant, api_key: str, clock: list[float]
) -> None:
    compare_positions(replicated)
    replicated.run("SELECT pg_wal_replay_pause()")
    try:
        store(api_key, "The raspberry jam is in the cellar.")
        assert search(api_key, "raspberry") == (True, "written")
        forget_writes(tenant)
        assert search(api_key, "raspberry") == (False, "replica")  # of another agent, for as long as the lag may be
        for _ in range(2):
            clock[0] += LAG_SECONDS
            replica.lag.check()
        assert search(api_key, "raspberry") == (True, "behind")
        answer = Client().get("/readyz")
        assert (answer.status_code, answer.json()["parts"]["replica"]["status"]) == (200, "down")
        assert answer.json()["parts"]["replica"]["detail"] == "behind"
    finally:
        replicated.run("SELECT pg_wal_replay_resume()")
    compare_positions(replicated)
    assert search(api_key, "raspberry") == (True, "replica")


def test_searches_succeed_although_the_replica_is_down(replicated: Standby, tenant: Tenant, api_key: str) -> None:
    store(api_key, "The raspberry jam is in the cellar.")
    compare_positions(replicated)
    forget_writes(tenant)
    assert search(api_key, "raspberry") == (True, "replica")
    stop_processes([replicated.child], timeout_seconds=5)
    assert search(api_key, "raspberry") == (True, "failed")
    assert search(api_key, "raspberry") == (True, "behind")
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["parts"]["replica"]["detail"]) == (200, "cannot be reached")
    replicated.start()
    compare_positions(replicated)
    assert search(api_key, "raspberry") == (True, "replica")
