"""`make run`: servers, migrations, web, worker and beat of one DATA_DIR, started in order and ended together."""

import os
import re
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from types import FrameType

from environ import Env

from memory_platform.embedded import processes
from memory_platform.embedded.config import PROJECT, EmbeddedConfig, check_data_dir, check_port, config_from, take_lock
from memory_platform.embedded.files import (
    ServerUrls,
    StartError,
    endpoints_file,
    read_or_create_secret,
    remove_short_socket_folder,
    write_endpoints,
)
from memory_platform.embedded.postgres import OS_USER, PROGRAMS, start_postgres
from memory_platform.embedded.processes import ChildProcess
from memory_platform.embedded.provision import DatabaseLogin, provision
from memory_platform.embedded.redis import start_redis

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Together below the five seconds within which everything is gone.
APP_TIMEOUT_SECONDS = 3.0
SERVER_TIMEOUT_SECONDS = 1.5
READY_TIMEOUT_SECONDS = 90.0
SUPERVISOR_POLL_SECONDS = 0.1
SECRET_KEY_BYTES = 48
WEB_THREADS = 8
WEB_WORKER = "memory_platform.http_worker.HeadBufferingWorker"
WORKER_THREADS = 4
LOG_MAX_BYTES = 10_000_000
# The most that gunicorn accepts; its default refuses the address of a long partition, percent-encoded.
REQUEST_LINE_MAX_BYTES = 8190


class StopRequested(BaseException):
    """A stop signal; not an `Exception`, so that no handler mistakes it for a failure."""


def main() -> int:
    """Run everything until a signal arrives or a part ends; return the exit code."""
    for number in STOP_SIGNALS:
        signal.signal(number, _request_stop)
    Env.read_env(PROJECT / ".env")
    try:
        config = config_from(os.environ)
        check_data_dir(config.data_dir)
        with take_lock(config.data_dir):
            processes.stop_recorded_processes(config.data_dir)
            check_port(config.host, config.port)
            Supervisor(config).run()
    except StopRequested:
        return 0
    except StartError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _request_stop(_number: int, _frame: FrameType | None) -> None:
    _ignore_signals()  # the first one is enough: the end must not be interrupted
    raise StopRequested


def _ignore_signals() -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


class Supervisor:
    """Starts everything of a DATA_DIR and watches it; when one part ends, all end."""

    def __init__(self, config: EmbeddedConfig) -> None:
        self._config = config
        self._data_dir = config.data_dir
        self._servers: list[ChildProcess] = []
        self._apps: list[ChildProcess] = []

    def run(self) -> None:
        """Start, report the address, and watch. Raises `StartError` when a part ends."""
        try:
            for log in (self._data_dir / "logs").glob("*.log"):
                if log.stat().st_size > LOG_MAX_BYTES:
                    log.replace(log.with_suffix(".log.1"))
            if os.geteuid() == 0 and not self._config.database_url:
                sys.stderr.write(
                    f"Running as root: PostgreSQL runs as the OS user {OS_USER}, created where it is missing, and the"
                    f" folders above {self._data_dir / 'postgres'} and {PROGRAMS} are opened for passing through.\n"
                )
            endpoints = self._start_servers()
            write_endpoints(self._data_dir, endpoints)
            self._start_apps(self._environment(endpoints))
            self._watch()
        finally:
            _ignore_signals()
            processes.stop_processes(self._apps, timeout_seconds=APP_TIMEOUT_SECONDS)
            processes.stop_processes(self._servers, timeout_seconds=SERVER_TIMEOUT_SECONDS)
            for file in (endpoints_file(self._data_dir), processes.records_file(self._data_dir)):
                file.unlink(missing_ok=True)
            remove_short_socket_folder(self._data_dir)

    def _start_servers(self) -> ServerUrls:
        config = self._config
        app_url, owner_url, superuser_url = config.database_url, config.database_owner_url, ""
        if not app_url:
            postgres, superuser_url = start_postgres(self._data_dir)
            self._keep(self._servers, postgres)
            app, owner = (
                DatabaseLogin(f"memory_{name}", read_or_create_secret(self._data_dir, f"postgres_{name}"))
                for name in ("app", "owner")
            )
            provision(superuser_url, database="memory", owner=owner, app=app)
            host = superuser_url.partition("?")[2]
            app_url, owner_url = (f"postgres://{login.role}:{login.password}@/memory?{host}" for login in (app, owner))
        broker_url, cache_url = config.broker_url, config.cache_url
        if not (broker_url and cache_url):
            redis = start_redis(self._data_dir)
            if redis.child:
                self._keep(self._servers, redis.child)
            broker_url, cache_url = broker_url or redis.broker_url, cache_url or redis.cache_url
        return ServerUrls(app_url, owner_url, superuser_url, broker_url, cache_url)

    def _environment(self, endpoints: ServerUrls) -> dict[str, str]:
        own_key = os.environ.get("SECRET_KEY")
        return {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "memory_platform.settings",
            "PYTHONUNBUFFERED": "1",
            "DATA_DIR": str(self._data_dir),
            "PORT": str(self._config.port),
            "SECRET_KEY": own_key or read_or_create_secret(self._data_dir, "secret_key", SECRET_KEY_BYTES),
            "DATABASE_URL": endpoints.database_url,
            "DATABASE_OWNER_URL": endpoints.database_owner_url,
            "CELERY_BROKER_URL": endpoints.broker_url,
            "CACHE_URL": endpoints.cache_url,
        }

    def _start_apps(self, env: Mapping[str, str]) -> None:
        """Prepare the database in a process that ends by itself, then start web, worker and beat."""
        child = self._spawn("prepare", ["manage.py", "prepare"], env)
        while child.is_running():
            time.sleep(SUPERVISOR_POLL_SECONDS)
        self._apps.remove(child)
        if child.process.returncode:
            said = last_log_line(child.log)
            raise StartError(f"The database could not be prepared: {said} More is at the end of {child.log}.")
        config = self._config
        worker = f"-m celery -A memory_platform worker --pool threads --concurrency {WORKER_THREADS} --loglevel INFO"
        beat = "-m celery -A memory_platform beat --pidfile= --loglevel WARNING --schedule"
        self._spawn("web", web_command(config.host, config.port, processes=config.web_processes), env)
        self._spawn("worker", [*worker.split(), "--without-gossip", "--without-mingle"], env)
        self._spawn("beat", [*beat.split(), str(self._data_dir / "run" / "celerybeat-schedule")], env)

    def _spawn(self, name: str, arguments: list[str], env: Mapping[str, str]) -> ChildProcess:
        """Start a Python process of the project."""
        log = self._data_dir / "logs" / f"{name}.log"
        child = processes.spawn_process(name, [sys.executable, *arguments], log=log, env=env, cwd=PROJECT)
        self._keep(self._apps, child)
        return child

    def _keep(self, children: list[ChildProcess], child: ChildProcess) -> None:
        """Record the child in a file at once: the next start ends what a killed one left."""
        children.append(child)
        processes.record_processes(self._data_dir, [*self._servers, *self._apps])

    def _watch(self) -> None:
        """Report the address as soon as the web process answers, and check the parts until one ends."""
        deadline, is_ready = time.monotonic() + READY_TIMEOUT_SECONDS, False
        while True:
            for child in (*self._servers, *self._apps):
                if not child.is_running():
                    raise StartError(f"{child.name} stopped unexpectedly. See the end of {child.log}.")
            if not is_ready and (is_ready := _answers(f"{self._config.url}healthz")):
                # An outside database may have had its operators before this DATA_DIR.
                login = self._data_dir / "secrets" / "first-login.txt"
                where = f"the first log-in is in {login}" if login.is_file() else "its operators sign in as before"
                sys.stdout.write(f"{self._config.url} is ready; {where}\n")
                sys.stdout.flush()
            if not is_ready and time.monotonic() > deadline:
                log = self._data_dir / "logs" / "web.log"
                raise StartError(f"The web process does not answer: the reason is at the end of {log}.")
            time.sleep(SUPERVISOR_POLL_SECONDS)


def web_command(host: str, port: int, *, processes: int) -> list[str]:
    """Return the arguments with which Python runs the web server."""
    host = f"[{host}]" if ":" in host else host
    web = f"-m gunicorn memory_platform.wsgi:application --no-control-socket --bind {host}:{port}"
    web += f" --workers {processes} --worker-class {WEB_WORKER} --threads {WEB_THREADS} --graceful-timeout 2"
    return [*web.split(), "--limit-request-line", str(REQUEST_LINE_MAX_BYTES)]


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
    said = next((line.strip() for line in reversed(lines) if line and not line[0].isspace()), "it said nothing")
    return f"{re.sub(r'^[A-Za-z_.]+: ', '', said).rstrip('.')}."
