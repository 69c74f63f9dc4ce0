"""`/healthz` and `/readyz`: whether the process answers and its components are ready. Open to all, without secrets."""

import logging
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import psycopg
from celery import current_app
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories.embeddings.embedders import model_problems
from memories.embeddings.providers import get_embedder, is_provider_local
from memory_platform.postgres.stale import lost_migrations

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 2.0
STATEMENT_TIMEOUT_MILLISECONDS = int(TIMEOUT_SECONDS * 1000)
MEMORIES_TABLE = "memories_memory"
_ROLE = (
    "SELECT r.rolsuper, r.rolbypassrls, EXISTS (SELECT FROM pg_class c WHERE c.relname = %s AND c.relowner = r.oid)"
    " FROM pg_roles r WHERE r.rolname = current_user"
)


class ComponentNotReady(Exception):
    """A component is down; the message contains no address and no secret."""


@dataclass(frozen=True)
class ComponentState:
    """The state of a component, a detail for people, and the duration of the check."""

    is_ok: bool
    detail: str
    milliseconds: float

    def as_answer(self) -> dict[str, object]:
        """Return the state as JSON values."""
        return {"status": "ok" if self.is_ok else "down", "detail": self.detail, "ms": self.milliseconds}


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer without checking anything else."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Return the state of every component; 503 when one is down."""
    parts = component_states()
    is_ready = all(part.is_ok for part in parts.values())
    answer = {"status": "ok" if is_ready else "down", "parts": {name: part.as_answer() for name, part in parts.items()}}
    return JsonResponse(answer, status=200 if is_ready else 503)


def component_states() -> dict[str, ComponentState]:
    """Check every component now; return the states by name."""
    parts: dict[str, ComponentState] = {}
    for name, check in CHECKS.items():
        lacks_database = name in NEED_DATABASE and not parts["database"].is_ok
        parts[name] = ComponentState(False, "needs the database", 0.0) if lacks_database else component_state(check)
    return parts


def component_state(check: Callable[[], str]) -> ComponentState:
    """Return the answer of a check, or the reason of its failure without any address."""
    start = time.perf_counter()
    try:
        is_ok, detail = True, check()
    except ComponentNotReady as error:
        is_ok, detail = False, str(error)
    except Exception as error:  # noqa: BLE001 - whatever it raises, it is down; the text may contain an address
        is_ok, detail = False, type(error).__name__
    return ComponentState(is_ok, detail, round((time.perf_counter() - start) * 1000, 1))


def _database() -> str:
    """Connect outside the pool, which waits long for a server that is down."""
    parameters = connection.get_connection_params() | {"connect_timeout": int(TIMEOUT_SECONDS)}
    with psycopg.connect(**parameters) as own:
        return f"PostgreSQL {own.info.server_version // 10000}"


def _vector() -> str:
    row = _row("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if not row:
        raise ComponentNotReady("the extension vector is not installed in this database")
    return f"vector {row[0]}"


def _role() -> str:
    is_superuser, is_above_policies, is_owner = _row(_ROLE, [MEMORIES_TABLE])
    if is_superuser or is_above_policies:
        raise ComponentNotReady("the app connects as a role that row-level security does not bind")
    if is_owner:
        raise ComponentNotReady("the app connects as the owner of its tables")
    return "neither superuser nor owner"


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    if lost_migrations(executor.loader):
        raise ComponentNotReady("the database comes from a pre-release schema")
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        raise ComponentNotReady(
            f"{len(missing)} {'migration is' if len(missing) == 1 else 'migrations are'} not applied"
        )
    return "all applied"


def _broker() -> str:
    with current_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=int(TIMEOUT_SECONDS))
        return str(broker.transport.driver_name)


def _embedder() -> str:
    if not is_provider_local():
        address = urlsplit(settings.EMBEDDING_BASE_URL)
        port = address.port or (80 if address.scheme == "http" else 443)
        socket.create_connection((address.hostname or "", port), timeout=TIMEOUT_SECONDS).close()
        return "reachable"
    embedder = get_embedder()
    embedder.embed(["ready"])
    return f"{embedder.name}, {embedder.dimension} dimensions"


def _embedding_models() -> str:
    """Check that stored vectors match the model that the settings name (ADR-0082)."""
    problems = model_problems()
    if problems:
        raise ComponentNotReady(" ".join(problem.detail for problem in problems))
    return "as settings name them"


def _row(sql: str, parameters: list[str] | None = None) -> tuple[object, ...]:
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MILLISECONDS}")
        try:
            cursor.execute(sql, parameters)
            return tuple(cursor.fetchone() or ())
        finally:
            cursor.execute("RESET statement_timeout")


NEED_DATABASE = frozenset({"vector", "role", "migrations", "embedding_models"})
#: In the order of the answer: the database first.
CHECKS: dict[str, Callable[[], str]] = {
    "database": _database,
    "vector": _vector,
    "role": _role,
    "migrations": _migrations,
    "broker": _broker,
    "embedder": _embedder,
    "embedding_models": _embedding_models,
}
