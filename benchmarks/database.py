"""A database of its own for a benchmark: real settings (it waits for the disk), gone afterwards."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import django

from memory_platform.embedded.postgres import start_postgres
from memory_platform.embedded.processes import stop_processes
from memory_platform.embedded.provision import DatabaseLogin, provision

if TYPE_CHECKING:
    from memories.models import Tenant


@contextmanager
def throwaway_database(kept: Path | None = None) -> Iterator[None]:
    """Start an embedded Postgres in a temporary folder, migrate it, set Django up on it; end and delete all at exit.

    In the folder `kept` instead, where it is given: that stays, and what is in it.
    """
    folder = kept or Path(tempfile.mkdtemp(prefix="memory-platform-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    child, superuser_url = start_postgres(folder)
    try:
        owner, app = DatabaseLogin("memory_owner", "owner-of-bench"), DatabaseLogin("memory_app", "app-of-bench")
        provision(superuser_url, database="memory", owner=owner, app=app)
        host = superuser_url.partition("?")[2]
        os.environ |= {
            "DATA_DIR": str(folder),
            "SECRET_KEY": "secret-key-of-the-benchmarks-0123456789-0123456789",
            "DATABASE_URL": f"postgres://{app.role}:{app.password}@/memory?{host}",
            "DATABASE_OWNER_URL": f"postgres://{owner.role}:{owner.password}@/memory?{host}",
            "CELERY_BROKER_URL": "memory://",
            "CACHE_URL": "locmemcache://",
            "DJANGO_SETTINGS_MODULE": "memory_platform.settings",
        }
        django.setup()
        _migrate()
        yield
        _close_connections()
    finally:
        stop_processes([child], patience_seconds=5)
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


def new_benchmark_tenant(name: str) -> "Tenant":
    """A tenant with nothing in it."""
    from memories.tenancy.actions.tenants import create_tenant
    from memories.tenancy.audit import Actor
    from memories.tenancy.scopes import admin_write_scope

    with admin_write_scope():
        return create_tenant(name=name, by=Actor.system("benchmark"), now=datetime.now(UTC))


@contextmanager
def without_vector_index() -> Iterator[None]:
    """Load many vectors, then build the index over them at once: row by row takes ten times as long."""
    from django.core.management import call_command
    from django.db import connections

    from memories.search.queries.nearest import index_name
    from memories.search.vector_index import models_to_index

    with connections["owner"].cursor() as cursor:
        for model in models_to_index():
            cursor.execute(f'DROP INDEX IF EXISTS "{index_name(model.name)}"')
    yield
    call_command("ensure_vector_index", verbosity=0)


def analyse() -> None:
    """Give the planner its statistics and mark what all may see, as the server itself does a minute after a load."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _migrate() -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0, interactive=False)


def _close_connections() -> None:
    from django.db import connections

    for connection in connections.all(initialized_only=True):
        connection.close()
        if hasattr(connection, "close_pool"):
            connection.close_pool()
