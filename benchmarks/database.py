"""A temporary database for a benchmark, with real settings: a commit waits for the disk."""

import importlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import django

from benchmarks.texts import BENCHMARK_NOW
from memory_platform.embedded.postgres import start_postgres
from memory_platform.embedded.processes import stop_processes
from memory_platform.embedded.provision import EMBEDDED_ROLES, DatabaseLogin, provision

if TYPE_CHECKING:
    from context.services.evaluation.corpus import Corpus
    from memories.models import Tenant
    from memories.services.store.drafts import NewMemory
    from memories.store.search_scope import SearchScope
    from memories.tenancy.audit import Actor


@contextmanager
def throwaway_database(kept: Path | None = None) -> Iterator[Path]:
    """Start an embedded Postgres in a temporary folder, migrate it and connect Django to it; delete it at exit.

    Yield the folder. With `kept`, that folder is used and kept.
    """
    folder = (kept or Path(tempfile.mkdtemp(prefix="memory-platform-bench-"))).resolve()
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
        yield folder
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


def new_key(tenant_id: UUID) -> str:
    """Return the text of a new key that may read and write."""
    from memories.models import Tenant
    from memories.tenancy.actions.api_keys import create_api_key
    from memories.tenancy.scopes import admin_write_scope

    with admin_write_scope():
        tenant = Tenant.objects.get(pk=tenant_id)
        by, now = benchmark_actor(), datetime.now(UTC)
        return create_api_key(tenant=tenant, name="bench", scopes=["read", "write"], by=by, now=now)[1]


def api_client(tenant_id: UUID) -> Any:
    """Return a client of the API in this process, with a new key."""
    from rest_framework.test import APIClient

    return APIClient(headers={"Authorization": f"Bearer {new_key(tenant_id)}", "Host": "localhost"})


def console_client(user: Any) -> Any:
    """Return a client of the console in this process, as a web process serves it, without parallel database workers."""
    from django.conf import settings
    from django.db import connection
    from django.test import Client

    # Serve assets from their sources, so that they need not be collected first.
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    # Start like a web process: modules loaded and frozen for garbage collection.
    importlib.import_module("memory_platform.wsgi")
    with connection.cursor() as cursor:  # parallel workers would not be timed
        cursor.execute("SET max_parallel_workers_per_gather = 0")
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    return client


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


def stage_corpus(corpus: "Corpus", now: datetime) -> "tuple[UUID, Mapping[str, UUID]]":
    """Return a hidden tenant with the memories of a corpus, and the memory for each id of the corpus."""
    from context.evaluation.staging import load_staged_corpus

    staged = load_staged_corpus(uuid4(), corpus, now=now, loaded=lambda _: None)
    analyse()
    return staged


def analyse() -> None:
    """Vacuum and analyse all tables, as the server itself does a minute after a load."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
