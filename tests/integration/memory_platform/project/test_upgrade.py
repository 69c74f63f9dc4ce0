"""A database of the first schema, with rows in it, is upgraded to this version without losing any, also under load."""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import Error, connections, transaction
from django.db.migrations.executor import MigrationExecutor
from psycopg import sql

from memories.tenancy.row_scope_tokens import row_scope_token, store_signing_key
from memory_platform.embedded.environment import database_config
from memory_platform.embedded.provision import provision
from memory_platform.management.commands import migrate
from memory_platform.postgres import base
from memory_platform.postgres.grants import apply_grants
from tests import servers

pytestmark = pytest.mark.django_db(transaction=True)

FIRST_SCHEMA = [
    ("memories", "0002_row_security_and_triggers"),
    ("context", "0002_row_security_and_triggers"),
    ("compaction", "0002_row_security"),
]
AT = datetime(2026, 1, 1, tzinfo=UTC)
OWNER, SUPERUSER = "upgraded", "upgraded past policies"


@pytest.fixture
def database() -> Iterator[str]:
    """A new database with two aliases: of the owner of its tables, and of a superuser."""
    name, url = f"upgraded_{servers.worker_number()}", os.environ[servers.SUPERUSER_URL]
    provision(url, database=name, owner=servers.OWNER, apps=[servers.APP, servers.CONSOLE, servers.MAINTENANCE])
    own: Any = connections.settings["owner"]
    connections.settings[OWNER] = {**own, "NAME": name}
    superuser = database_config(url)
    connections.settings[SUPERUSER] = connections.settings[OWNER] | {
        key: superuser[key] for key in ("USER", "PASSWORD")
    }
    yield name
    for alias in (OWNER, SUPERUSER):
        connections[alias].close()
        del connections[alias]
        del connections.settings[alias]
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def fill(apps: Any) -> Any:
    """Store a tenant with a memory, a session and an audit entry, in the columns of the first schema; return its id."""

    def create(label: str, **values: Any) -> Any:
        return apps.get_model(label).objects.using(SUPERUSER).create(**values)

    tenant = create("memories.Tenant", name="Acme", created_at=AT)
    partition = create("memories.Partition", tenant=tenant, path="user=alex", depth=1, segments=["user=alex"])
    tokens = {"tokens_o200k_base": 3, "tokens_cl100k_base": 3}
    text = {"content": "Alex likes tea.", "content_hash": "a" * 64, "search_words": "", "search_lexemes": []}
    times = {"created_at": AT, "valid_from": AT, "recorded_from": AT}
    place = {"tenant": tenant, "partition": partition, "partition_path": "user=alex"}
    create("memories.Memory", **place, **text, **tokens, **times, search_of="19d99c33")
    create("compaction.Session", **place, model="gpt-4o", max_context_tokens=8_000, created_at=AT)
    create("memories.AuditEntry", tenant=tenant, at=AT, actor_kind="system", verb="create", target_kind="tenant")
    return tenant.pk


@dataclass
class Writers:
    """Clients that store memories, each with an audit entry, with the columns of the first schema."""

    apps: Any
    tenant_id: Any
    acknowledged: list[Any] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    longest_seconds: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)

    def write(self) -> None:
        """Write until stopped, as one client."""
        try:
            while not self.stop.is_set():
                began = time.monotonic()
                try:
                    self.acknowledged.append(store(self.apps, self.tenant_id))
                except Error as error:
                    self.refused.append(str(error))
                self.longest_seconds = max(self.longest_seconds, time.monotonic() - began)
        finally:
            connections[SUPERUSER].close()


def store(apps: Any, tenant_id: Any) -> Any:
    """Store a memory and its audit entry in one transaction; return the memory's id."""
    text = {"content": "Alex likes tea.", "content_hash": uuid4().hex * 2, "search_words": "", "search_lexemes": []}
    times = {"created_at": AT, "valid_from": AT, "recorded_from": AT}
    place = {"partition_id": partition_of(apps, tenant_id), "partition_path": "user=alex", "tenant_id": tenant_id}
    tokens = {"tokens_o200k_base": 3, "tokens_cl100k_base": 3, "search_of": "19d99c33"}
    with transaction.atomic(using=SUPERUSER):
        memory = apps.get_model("memories.Memory").objects.using(SUPERUSER).create(**text, **times, **place, **tokens)
        entry = {"at": AT, "actor_kind": "system", "verb": "create", "target_kind": "memory"}
        apps.get_model("memories.AuditEntry").objects.using(SUPERUSER).create(
            tenant_id=tenant_id, target_ids=[str(memory.pk)], **entry
        )
    return memory.pk


def partition_of(apps: Any, tenant_id: Any) -> Any:
    return apps.get_model("memories.Partition").objects.using(SUPERUSER).get(tenant_id=tenant_id).pk


def test_writers_of_the_first_schema_lose_nothing_during_an_upgrade_and_each_role_reads_it_after(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "LIMIT_LOCKS", "SET LOCAL lock_timeout = '200ms'")
    monkeypatch.setattr(migrate, "LOCK_PAUSE_SECONDS", 0.1)
    executor = MigrationExecutor(connections[OWNER])
    apps = executor.migrate(FIRST_SCHEMA).apps
    tenant_id = fill(apps)
    store_signing_key(connections[OWNER])
    writers, messages = Writers(apps, tenant_id), list[str]()
    url = os.environ[servers.SUPERUSER_URL]
    with ThreadPoolExecutor() as pool, psycopg.connect(url, dbname=database) as holder:
        holder.execute("LOCK TABLE memories_memoryembedding IN ROW EXCLUSIVE MODE")
        clients = [pool.submit(writers.write) for _ in range(3)]

        def record(message: str) -> None:
            messages.append(message)
            if len(messages) == 3:
                holder.commit()

        try:
            migrate.repeat_while_locked(upgrade, record)
            during = len(writers.acknowledged)
        finally:
            writers.stop.set()
        for client in clients:
            client.result()
    assert len(messages) >= 3
    assert during > 0
    assert writers.refused == []
    with psycopg.connect(url, dbname=database) as reader:
        stored = {pk for (pk,) in reader.execute("SELECT id FROM memories_memory WHERE tokens_o200k_base = 3")}
        waiting = reader.execute("SELECT count(*) FROM memories_unsealedauditentry").fetchone()
    assert len(stored) == len(writers.acknowledged) + 1
    assert stored >= set(writers.acknowledged)
    assert waiting == (len(stored),)  # each has its audit entry, and each of those will be sealed
    check_that_each_role_reads_the_first_rows(database, tenant_id, stored=len(stored))


def upgrade() -> None:
    executor = MigrationExecutor(connections[OWNER])
    executor.migrate(executor.loader.graph.leaf_nodes())
    apply_grants(connections[OWNER], connections.settings)


def check_that_each_role_reads_the_first_rows(database: str, tenant_id: Any, *, stored: int) -> None:
    """Each role that serves the platform reads what the first schema's clients stored."""
    host = os.environ[servers.SUPERUSER_URL].partition("?")[2]
    counts = {
        "memories_memory": stored,
        "compaction_session": 1,
        "memories_auditentry": stored,
        "memories_unsealedauditentry": stored,
    }
    for login in (servers.APP, servers.CONSOLE, servers.MAINTENANCE):
        with psycopg.connect(f"postgres://{login.role}:{login.password}@/{database}?{host}") as own:
            token = row_scope_token("tenant", str(tenant_id), own.info.backend_pid)
            own.execute("SELECT set_config('app.scope', %s, true)", [token])
            for table, count in counts.items():
                rows = own.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
                assert rows == (count,), (login.role, table)
            assert own.execute("SELECT DISTINCT content FROM memories_memory").fetchall() == [("Alex likes tea.",)]
