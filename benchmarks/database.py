"""A temporary database for a benchmark, with real settings: a commit waits for the disk."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import django

from benchmarks.texts import BENCHMARK_NOW
from memory_platform.embedded.postgres import start_postgres
from memory_platform.embedded.processes import stop_processes
from memory_platform.embedded.provision import EMBEDDED_ROLES, DatabaseLogin, provision

if TYPE_CHECKING:
    from memories.models import Tenant
    from memories.services.store.drafts import NewMemory
    from memories.store.search_scope import SearchScope
    from memories.tenancy.audit import Actor


@contextmanager
def throwaway_database(kept: Path | None = None) -> Iterator[None]:
    """Start an embedded Postgres in a temporary folder, migrate it and connect Django to it; delete it at exit.

    With `kept`, that folder is used and kept.
    """
    folder = kept or Path(tempfile.mkdtemp(prefix="memory-platform-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    child, superuser_url = start_postgres(folder)
    try:
        owner, app, *others = (DatabaseLogin(f"memory_{name}", f"{name}-of-bench") for name in EMBEDDED_ROLES)
        provision(superuser_url, database="memory", owner=owner, apps=[app, *others])
        host = superuser_url.partition("?")[2]
        os.environ |= {
            "DATA_DIR": str(folder),
            "SECRET_KEY": "secret-key-of-the-benchmarks-0123456789-0123456789",
            "DATABASE_URL": f"postgres://{app.role}:{app.password}@/memory?{host}",
            "DATABASE_OWNER_URL": f"postgres://{owner.role}:{owner.password}@/memory?{host}",
            **{
                f"DATABASE_{name.upper()}_URL": f"postgres://{login.role}:{login.password}@/memory?{host}"
                for name, login in zip(EMBEDDED_ROLES[2:], others, strict=True)
            },
            "CELERY_BROKER_URL": "memory://",
            "CACHE_URL": "locmemcache://",
            "DJANGO_SETTINGS_MODULE": "memory_platform.settings",
        }
        django.setup()
        from django.core.management import call_command
        from django.db import connections

        call_command("migrate", verbosity=0, interactive=False)
        yield
        for connection in connections.all(initialized_only=True):
            connection.close()
            if hasattr(connection, "close_pool"):
                connection.close_pool()
    finally:
        stop_processes([child], timeout_seconds=5)
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


def benchmark_scope(tenant_id: UUID, path: str = "", at: datetime = BENCHMARK_NOW) -> "SearchScope":
    """Return a search scope: the memories of a tenant at a point in time."""
    from memories.services.store.moments import PointInTime
    from memories.store.search_scope import SearchScope

    return SearchScope(tenant_id, path, PointInTime.now(at))


def benchmark_actor() -> "Actor":
    """Return the actor that the audit log names."""
    from memories.tenancy.audit import Actor

    return Actor.system("benchmark")


def new_benchmark_tenant(name: str) -> "Tenant":
    """Return a tenant without memories."""
    from memories.tenancy.actions.tenants import create_tenant
    from memories.tenancy.scopes import admin_write_scope

    with admin_write_scope():
        return create_tenant(name=name, by=benchmark_actor(), now=datetime.now(UTC))


def store_in_batches(
    tenant: "Tenant", rows: "Iterable[NewMemory]", *, now: datetime, batch: int = 500, with_vectors: bool = True
) -> None:
    """Store the memories, by default with vectors."""
    from memories.embeddings.indexer import index_memories
    from memories.store.actions.store import store_memories
    from memories.tenancy.scopes import tenant_scope

    rest = iter(rows)
    while some := list(islice(rest, batch)):
        with tenant_scope(tenant.pk):
            results = store_memories(tenant=tenant, rows=some, by=benchmark_actor(), now=now)
        if with_vectors:
            index_memories(tenant.pk, [result.memory.pk for result in results if result.memory])


@contextmanager
def without_vector_index() -> Iterator[None]:
    """Drop the vector index while vectors are loaded, build it at exit; single insertions take ten times as long."""
    from django.core.management import call_command
    from django.db import connections

    from memories.search.queries.nearest import index_prefix
    from memories.search.vector_index import models_to_index

    with connections["owner"].cursor() as cursor:
        for model in models_to_index():
            named = [f"{index_prefix(model)}%"]
            cursor.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE %s", named)
            for (name,) in cursor.fetchall():
                cursor.execute(f'DROP INDEX "{name}"')
    yield
    call_command("ensure_vector_index", verbosity=0)


def analyse() -> None:
    """Vacuum and analyse all tables, as the server itself does a minute after a load."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
