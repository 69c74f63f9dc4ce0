"""`make run`: start servers, migrations, web, worker and beat of one DATA_DIR in order, and stop them together.

A process that ends while the others are running is restarted (ADR-0126). The web server, the worker and beat are forked
from this process, which loads the application while the servers start (ADR-0194).
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from environ import Env

from memory_platform.embedded import processes, stops
from memory_platform.embedded.config import (
    PROJECT,
    EmbeddedConfig,
    acquire_lock,
    check_data_dir,
    check_port,
    config_from,
    listen,
)
from memory_platform.embedded.files import (
    ServerUrls,
    StartError,
    endpoints_file,
    read_or_create_secret,
    remove_short_socket_folder,
    write_endpoints,
)
from memory_platform.embedded.forks import fork, limit_memory_arenas
from memory_platform.embedded.parts import Part, describe_end
from memory_platform.embedded.postgres import (
    OS_USER,
    PROGRAMS,
    create_cluster,
    launch_postgres,
    request_checkpoint,
    wait_for_postgres,
)
from memory_platform.embedded.processes import ChildProcess
from memory_platform.embedded.provision import EMBEDDED_ROLES, embedded_logins, provision
from memory_platform.embedded.redis import launch_redis, wait_for_redis

# In total less than the five seconds within which all processes have to end.
APP_TIMEOUT_SECONDS = 3.0
SERVER_TIMEOUT_SECONDS = 1.5
READY_TIMEOUT_SECONDS = 90.0
SUPERVISOR_POLL_SECONDS = 0.1
SECRET_KEY_BYTES = 48
WEB_THREADS = 8
WEB_WORKER = "memory_platform.http_worker.HeadBufferingWorker"
WORKER_PROCESSES = 4
LOG_MAX_BYTES = 10_000_000
# The maximum of gunicorn; its default refuses the percent-encoded URL of a long partition.
REQUEST_LINE_MAX_BYTES = 8190


UNNEEDED_URLS = {
    "web": ("DATABASE_OWNER_URL", "DATABASE_MAINTENANCE_URL"),
    "worker": ("DATABASE_CONSOLE_URL",),
    "beat": ("DATABASE_OWNER_URL", "DATABASE_MAINTENANCE_URL", "DATABASE_CONSOLE_URL"),
}


def main() -> int:
    """Run everything until a signal arrives; return the exit code."""
    stops.handle_stop_signals()
    Env.read_env(PROJECT / ".env")
    try:
        config = config_from(os.environ)
        check_data_dir(config.data_dir)
        with acquire_lock(config.data_dir) as lock:
            processes.stop_recorded_processes(config.data_dir)
            check_port(config.host, config.port)
            limit_memory_arenas()
            Supervisor(config, lock).run()
    except stops.StopRequested:
        return 0
    except StartError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


class Supervisor:
    """Starts all processes of a DATA_DIR and restarts those that end."""

    def __init__(self, config: EmbeddedConfig, lock: IO[str]) -> None:
        self._config, self._lock = config, lock
        self._data_dir = config.data_dir
        self._servers: list[Part] = []
        self._apps: list[Part] = []
        #: Opened by the supervisor: clients that connect while the web process starts wait instead of being refused.
        self._listener: socket.socket | None = None

    def run(self) -> None:
        """Start, report the URL, and watch. Raises `StartError` if a part ends before all are ready."""
        try:
            for log in (self._data_dir / "logs").glob("*.log"):
                if log.stat().st_size > LOG_MAX_BYTES:
                    log.replace(log.with_suffix(".log.1"))
            if os.geteuid() == 0 and not self._config.database_urls["app"]:
                sys.stderr.write(
                    f"Running as root: PostgreSQL runs as the OS user {OS_USER}, which is created if missing and may"
                    f" pass through the folders above {self._data_dir / 'postgres'} and {PROGRAMS}.\n"
                )
            shutil.rmtree(self._data_dir / "run" / "metrics", ignore_errors=True)  # counters start at zero
            self._keep(self._servers, self._start_watcher)
            endpoints, waits = self._launch_servers()
            os.environ.update(self._environment(endpoints))
            application = _load_application()
            for wait in waits:
                wait()
            write_endpoints(self._data_dir, endpoints)
            self._start_apps(application)
            self._wait_until_ready()
            if endpoints.database_superuser_url:
                request_checkpoint(endpoints.database_superuser_url)
            self._watch()
        finally:
            stops.ignore_stop_signals()
            processes.stop_processes([part.child for part in self._apps], timeout_seconds=APP_TIMEOUT_SECONDS)
            processes.stop_processes([part.child for part in self._servers], timeout_seconds=SERVER_TIMEOUT_SECONDS)
            if self._listener:
                self._listener.close()
            for file in (endpoints_file(self._data_dir), processes.records_file(self._data_dir)):
                file.unlink(missing_ok=True)
            remove_short_socket_folder(self._data_dir)

    def _start_watcher(self) -> ChildProcess:
        """Start the process that ends the others if this one is killed."""
        command = [sys.executable, "-m", "memory_platform.embedded.watcher"]
        log = self._data_dir / "logs" / "watcher.log"
        return processes.spawn_process("watcher", command, log=log, cwd=PROJECT, stdin=subprocess.PIPE)

    def _launch_servers(self) -> tuple[ServerUrls, list[Callable[[], object]]]:
        """Start the servers; return the URLs, and a function that waits until they respond and prepares the roles."""
        config = self._config
        waits: list[Callable[[], object]] = []
        urls, superuser_url = config.database_urls, ""
        if not urls["app"]:
            create_cluster(self._data_dir)
            with stops.postponed_stop():
                postgres, superuser_url = launch_postgres(self._data_dir)
                self._keep(self._servers, lambda: launch_postgres(self._data_dir)[0], postgres)
            owner, *apps = embedded_logins(self._data_dir)
            waits.append(partial(wait_for_postgres, postgres, superuser_url))
            waits.append(partial(provision, superuser_url, database="memory", owner=owner, apps=apps))
            host = superuser_url.partition("?")[2]
            logins = zip(EMBEDDED_ROLES, (owner, *apps), strict=True)
            urls = {name: f"postgres://{login.role}:{login.password}@/memory?{host}" for name, login in logins}
        broker_url, cache_url = config.broker_url, config.cache_url
        if not (broker_url and cache_url):
            with stops.postponed_stop():
                redis = launch_redis(self._data_dir)
                if redis.child:
                    self._keep(self._servers, self._start_redis_again, redis.child)
            waits.append(partial(wait_for_redis, redis.child, self._data_dir))
            broker_url, cache_url = broker_url or redis.broker_url, cache_url or redis.cache_url
        endpoints = ServerUrls(
            database_url=urls["app"],
            database_owner_url=urls["owner"],
            database_superuser_url=superuser_url,
            broker_url=broker_url,
            cache_url=cache_url,
            database_console_url=urls["console"],
            database_maintenance_url=urls["maintenance"],
        )
        return endpoints, waits

    def _start_redis_again(self) -> ChildProcess:
        if child := launch_redis(self._data_dir).child:
            return child
        raise StartError("The Redis program is missing.")

    def _environment(self, endpoints: ServerUrls) -> dict[str, str]:
        own_key = os.environ.get("SECRET_KEY")
        return {
            "DJANGO_SETTINGS_MODULE": "memory_platform.settings",
            "PYTHONUNBUFFERED": "1",
            "PROMETHEUS_MULTIPROC_DIR": str(self._data_dir / "run" / "metrics"),
            "DATA_DIR": str(self._data_dir),
            "PORT": str(self._config.port),
            "SECRET_KEY": own_key or read_or_create_secret(self._data_dir, "secret_key", SECRET_KEY_BYTES),
            "DATABASE_URL": endpoints.database_url,
            "DATABASE_OWNER_URL": endpoints.database_owner_url,
            "DATABASE_CONSOLE_URL": endpoints.database_console_url,
            "DATABASE_MAINTENANCE_URL": endpoints.database_maintenance_url,
            "CELERY_BROKER_URL": endpoints.broker_url,
            "CACHE_URL": endpoints.cache_url,
        }

    def _start_apps(self, application: Any) -> None:
        """Prepare the database in a process that ends by itself, then start web, worker and beat."""
        prepare = self._keep(self._apps, lambda: self._fork("prepare", application.prepare, []))
        application.preload()  # meanwhile
        while prepare.child.is_running():
            self._pause()
        self._apps.remove(prepare)
        if prepare.child.process.returncode:
            reason = last_log_line(prepare.child.log)
            raise StartError(f"The database could not be prepared: {reason} See the end of {prepare.child.log}.")
        config = self._config
        listener = self._listener = listen(config.host, config.port)
        web = web_arguments(f"fd://{listener.fileno()}", processes=config.web_processes)
        worker = f"worker --concurrency {WORKER_PROCESSES} --loglevel INFO --without-gossip --without-mingle"
        beat = ["beat", "--pidfile=", "--loglevel", "WARNING", "--schedule"]
        beat.append(str(self._data_dir / "run" / "celerybeat-schedule"))
        self._keep(self._apps, lambda: self._fork("web", application.serve, web))
        self._keep(self._apps, lambda: self._fork("worker", application.run_celery, worker.split()))
        self._keep(self._apps, lambda: self._fork("beat", application.run_celery, beat))

    def _fork(self, name: str, run: Callable[[list[str], Sequence[str]], None], arguments: list[str]) -> ChildProcess:
        """Start a part in a child, which gets only the database roles that it needs."""
        log = self._data_dir / "logs" / f"{name}.log"

        def main() -> None:
            # Files that show that the supervisor is running must be closed with it, even if other processes keep
            # running.
            self._lock.close()
            if stdin := self._servers[0].child.process.stdin:
                stdin.close()
            if self._listener and name != "web":
                self._listener.close()
            os.chdir(PROJECT)
            run(arguments, UNNEEDED_URLS.get(name, ()))

        return ChildProcess(name, fork(name, main, log=log), log)

    def _keep(self, parts: list[Part], start: Callable[[], ChildProcess], child: ChildProcess | None = None) -> Part:
        """Start a part unless its process is already running, and record it immediately."""
        with stops.postponed_stop():
            part = Part(start, child or start())
            parts.append(part)
            self._record()
        return part

    def _record(self) -> None:
        """Record, for the next start and the watcher, which processes to end if this one is killed."""
        children = [part.child for part in (*self._servers, *self._apps)]
        rows = processes.record_processes(self._data_dir, children)
        watcher = children[0].process
        ended_by_watcher = [row for row in rows if row["pid"] != watcher.pid]
        if watcher.stdin:
            with suppress(BrokenPipeError):  # the watcher is about to be restarted
                watcher.stdin.write(json.dumps(ended_by_watcher).encode() + b"\n")
                watcher.stdin.flush()

    def _wait_until_ready(self) -> None:
        """Report the URL as soon as the web process responds. Raises `StartError` if a part ends first."""
        deadline = time.monotonic() + READY_TIMEOUT_SECONDS
        while not _answers(f"{self._config.url}healthz"):
            for part in (*self._servers, *self._apps):
                if not part.child.is_running():
                    raise StartError(f"{part.child.name} stopped unexpectedly. See the end of {part.child.log}.")
            if time.monotonic() > deadline:
                log = self._data_dir / "logs" / "web.log"
                raise StartError(f"The web process does not respond. See the end of {log}.")
            self._pause()
        # An outside database may have had its operators before this DATA_DIR.
        login = self._data_dir / "secrets" / "first-login.txt"
        where = f"the first user's credentials are in {login}" if login.is_file() else "its operators sign in as before"
        sys.stdout.write(f"{self._config.url} is ready; {where}\n")
        sys.stdout.flush()

    def _watch(self) -> None:
        """Restart parts that end, servers first, until a signal arrives; no part waits until another is ready."""
        while True:
            for part in (*self._servers, *self._apps):
                if part.due_at is None and not part.child.is_running():
                    self._note_end(part)
                if part.due_at is not None and time.monotonic() >= part.due_at:
                    self._restart(part)
            self._pause()

    def _pause(self) -> None:
        stops.raise_if_requested()
        time.sleep(SUPERVISOR_POLL_SECONDS)

    def _note_end(self, part: Part) -> None:
        # Remaining processes of its group, such as web workers, must not run next to the new ones.
        processes.signal_group(part.child.process.pid, signal.SIGKILL)
        sys.stderr.write(describe_end(part.child, part.record_end(time.monotonic())))
        sys.stderr.flush()

    def _restart(self, part: Part) -> None:
        try:
            with stops.postponed_stop():
                part.restart()
        except (StartError, OSError) as error:
            wait = part.postpone(time.monotonic())
            sys.stderr.write(f"{part.child.name} could not be started; the next attempt is in {wait:g} s. {error}\n")
            sys.stderr.flush()
        else:
            self._record()


def web_command(bind: str, *, processes: int) -> list[str]:
    """Return the arguments with which Python runs the web server at an address."""
    return ["-m", "gunicorn", *web_arguments(bind, processes=processes)]


def web_arguments(bind: str, *, processes: int) -> list[str]:
    """Return the arguments of gunicorn for an address, or an open socket (`fd://7`)."""
    web = f"memory_platform.wsgi:application --no-control-socket --bind {bind}"
    web += f" --workers {processes} --worker-class {WEB_WORKER} --threads {WEB_THREADS} --graceful-timeout 2"
    web += " --preload"
    return [*web.split(), "--limit-request-line", str(REQUEST_LINE_MAX_BYTES)]


def _load_application() -> Any:
    """Load Django, which reads the environment now. Raises `StartError` for an invalid value."""
    try:
        application = import_module("memory_platform.application")
        application.load()
    except Exception as error:
        if type(error).__name__ != "ImproperlyConfigured":
            raise
        raise StartError(f"{error}.") from None
    return application


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):  # noqa: S310 - our own http address
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return error.code < HTTPStatus.INTERNAL_SERVER_ERROR
    except OSError:
        return False


def last_log_line(log: Path) -> str:
    """Return the last line of a log as a sentence; for a traceback, its message without the class name."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line and not line[0].isspace()), "no output")
    return f"{re.sub(r'^[A-Za-z_.]+: ', '', last).rstrip('.')}."
