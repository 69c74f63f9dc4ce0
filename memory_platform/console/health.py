"""The state of the platform components, for pages and for the public endpoints `/healthz` and `/readyz`."""

import logging
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

import psycopg
from celery import current_app
from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from compaction.pipeline.summarisers import has_model
from memories.embeddings.embedders import model_problems
from memories.embeddings.providers import get_embedder, is_provider_local
from memories.models import ApiKey
from memories.tenancy import replica
from memories.tenancy.scopes import authentication_scope
from memory_platform.console import heartbeats
from memory_platform.console.optional_cache import read_cached, write_cached
from memory_platform.postgres.base import lost_migrations
from memory_platform.web.numerals import counted

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 2.0
STATEMENT_TIMEOUT_MILLISECONDS = int(TIMEOUT_SECONDS * 1000)
#: Overviews show states up to this age; the health page checks again.
REMEMBERED_SECONDS = 20
REMEMBERED_KEY = "components.remembered"
CONNECT_SECONDS = 0.5
HOSTED_ADDRESS = "https://api.openai.com"
#: The title of each component, and the effect on users while it is down.
_TEXTS: Mapping[str, tuple[str, str]] = {
    "database": ("Database", "Agents get errors and no page opens."),
    "replica": ("Replica", "Searches read the primary."),
    "vector": ("Vector search", "Vector search and embedding fail."),
    "role": ("Database role", "The database does not enforce tenant isolation."),
    "migrations": ("Migrations", "Pages and requests that need missing tables fail."),
    "broker": ("Broker", "Background work waits. Contexts are still served."),
    "workers": ("Workers", "Compactions, roll-ups, evaluations and re-embedding wait."),
    "beat": ("Scheduler", "No scheduled task runs."),
    "embedder": ("Embedder", "Search is lexical only."),
    "embedding_models": ("Embedding models", "Search does not use the configured model."),
    "summariser": ("Summariser", "Summaries are extractive and marked as such."),
}
_STATUS = {True: "ok", False: "down"}
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


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Return 200 without checking any component."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """Return the state of every component; 503 if one is down. Versions are only for requests with a key."""
    states = component_states()
    sees_versions = states["database"].is_ok and _has_key(request)
    parts = {
        name: {
            "status": _STATUS[state.is_ok],
            "detail": state.detail if sees_versions or not state.is_ok else "",
            "ms": state.milliseconds,
        }
        for name, state in states.items()
    }
    is_ready = all(state.is_ok for name, state in states.items() if name not in OPTIONAL)
    return JsonResponse({"status": _STATUS[is_ready], "parts": parts}, status=200 if is_ready else 503)


def _has_key(request: HttpRequest) -> bool:
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    plain = request.headers.get("X-API-Key") or (bearer.strip() if scheme.lower() == "bearer" else "")
    if not plain or not plain.isascii() or not plain.isprintable():
        return False
    with authentication_scope():
        return bool(ApiKey.objects.is_valid(plain))


def component_states() -> dict[str, ComponentState]:
    """Check every component now; return the states by name."""
    parts: dict[str, ComponentState] = {}
    for name, check in CHECKS.items():
        if name == "replica" and not replica.has_replica():
            continue
        lacks_database = name in NEED_DATABASE | OPTIONAL and not parts["database"].is_ok
        parts[name] = ComponentState(False, "needs the database", 0.0) if lacks_database else component_state(check)
    return parts


def component_state(check: Callable[[], str]) -> ComponentState:
    """Return the result of a check, or the reason for its failure without any URL."""
    start = time.perf_counter()
    try:
        is_ok, detail = True, check()
    except ComponentNotReady as error:
        is_ok, detail = False, str(error)
    except Exception as error:  # noqa: BLE001 - whatever it raises, it is down; the text may contain an address
        is_ok, detail = False, type(error).__name__
    return ComponentState(is_ok, detail, round((time.perf_counter() - start) * 1000, 1))


def check_address(url: str, timeout_seconds: float) -> str:
    """Return "reachable" if the server of `url` accepts connections. Raises `OSError`."""
    address = urlsplit(url)
    port = address.port or (80 if address.scheme == "http" else 443)
    socket.create_connection((address.hostname or "", port), timeout=timeout_seconds).close()
    return "reachable"


def _database() -> str:
    """Connect without the pool, which waits too long for a server that is down."""
    parameters = connection.get_connection_params() | {"connect_timeout": int(TIMEOUT_SECONDS)}
    with psycopg.connect(**parameters) as own:
        return f"PostgreSQL {own.info.server_version // 10000}"


def _replica() -> str:
    replica.lag.check()  # this process may not have read it yet
    seconds = replica.lag.seconds()
    if seconds > settings.DATABASE_REPLICA_LAG_SECONDS:
        raise ComponentNotReady("cannot be reached" if replica.lag.is_down else "behind")
    return f"less than {max(seconds, 0.1):.1f} s behind"


def _vector() -> str:
    row = _row("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if not row:
        raise ComponentNotReady("the extension vector is not installed in this database")
    return f"vector {row[0]}"


def _role() -> str:
    is_superuser, is_above_policies, is_owner = _row(_ROLE, ["memories_memory"])
    if is_superuser or is_above_policies:
        raise ComponentNotReady("the app connects as a role that bypasses row-level security")
    if is_owner:
        raise ComponentNotReady("the app connects as the owner of its tables")
    return "neither superuser nor owner"


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    if lost_migrations(executor.loader):
        raise ComponentNotReady("the database was created by an earlier development version")
    if missing := executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise ComponentNotReady(f"{counted(len(missing), 'migration is', 'migrations are')} not applied")
    with authentication_scope():
        if not _row("SELECT row_scope('authentication') IS NOT NULL")[0]:
            raise ComponentNotReady("the database was set up with another SECRET_KEY: run manage.py migrate")
    return "all applied"


def _broker() -> str:
    with current_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=int(TIMEOUT_SECONDS))
        return str(broker.transport.driver_name)


def _embedder() -> str:
    if not is_provider_local():
        return check_address(settings.EMBEDDING_BASE_URL, TIMEOUT_SECONDS)
    embedder = get_embedder()
    embedder.embed(["ready"])
    return f"{embedder.name}, {embedder.dimension} dimensions"


def _embedding_models() -> str:
    """Check that stored vectors match the model that the settings name (ADR-0082)."""
    if problems := model_problems():
        raise ComponentNotReady(" ".join(problem.detail for problem in problems))
    return "as configured"


def _row(sql: str, parameters: list[str] | None = None) -> tuple[object, ...]:
    # A pooler may give the next transaction another connection.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {STATEMENT_TIMEOUT_MILLISECONDS}")
        cursor.execute(sql, parameters)
        row = tuple(cursor.fetchone() or ())
        cursor.execute("SET LOCAL statement_timeout TO DEFAULT")  # for an enclosing transaction
        return row


#: Components whose work others take over while they are down.
OPTIONAL = frozenset({"replica"})
NEED_DATABASE = frozenset({"vector", "role", "migrations", "embedding_models"})
#: In the order of the response: the database first.
CHECKS: dict[str, Callable[[], str]] = {
    "database": _database,
    "replica": _replica,
    "vector": _vector,
    "role": _role,
    "migrations": _migrations,
    "broker": _broker,
    "embedder": _embedder,
    "embedding_models": _embedding_models,
}


@dataclass(frozen=True)
class Component:
    """A component and its state when it was checked."""

    name: str
    title: str
    effect_when_down: str
    state: ComponentState


def read_components(now: datetime) -> list[Component]:
    """Check every component now and cache the states."""
    states = component_states() | {
        "workers": component_state(
            lambda: _check_heartbeat(now, heartbeats.WORKER, heartbeats.WORKER_AWAY_AFTER_SECONDS, "no worker seen")
        ),
        "beat": component_state(
            lambda: _check_heartbeat(now, heartbeats.BEAT, heartbeats.BEAT_AWAY_AFTER_SECONDS, "no task sent")
        ),
        "summariser": component_state(_check_summariser),
    }
    write_cached(REMEMBERED_KEY, {name: asdict(state) for name, state in states.items()}, REMEMBERED_SECONDS)
    return _components(states)


def cached_components() -> list[Component]:
    """Return the components as of the last check; empty if that is too long ago."""
    states = read_cached([REMEMBERED_KEY]).get(REMEMBERED_KEY) or {}
    return _components({name: ComponentState(**state) for name, state in states.items()}) if states else []


def _components(states: Mapping[str, ComponentState]) -> list[Component]:
    return [Component(name, *texts, states[name]) for name, texts in _TEXTS.items() if name in states]


def _check_heartbeat(now: datetime, key: str, away_after_seconds: float, never: str) -> str:
    """Return when the process was last seen. Raises `ComponentNotReady`."""
    seen: float | None = read_cached([key]).get(key)
    if seen is None:
        shared = "locmem" not in settings.CACHES["default"]["BACKEND"]
        raise ComponentNotReady(never if shared else "not known: the cache is not shared (CACHE_URL)")
    seconds = max(now.timestamp() - seen, 0.0)
    if seconds > away_after_seconds:
        raise ComponentNotReady(f"last seen on {datetime.fromtimestamp(seen, UTC):%-d %b %Y, %H:%M} UTC")
    return f"seen {seconds:.0f} s ago" if seconds >= 1.5 else "seen just now"


def _check_summariser() -> str:
    """Return whether the model's address accepts connections; a request to the model could cost money."""
    if not has_model():
        return "no model configured; summaries are extractive"
    state = check_address(settings.LLM_BASE_URL or HOSTED_ADDRESS, CONNECT_SECONDS)
    return f"{settings.LLM_MODEL or 'the model of each session'}, {state}"
