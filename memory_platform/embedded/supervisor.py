"""`make run`: servers, migrations, web, worker and beat of one DATA_DIR, started in order and ended together."""

import os
import re
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from types import FrameType

from memory_platform.embedded import processes
from memory_platform.embedded.config import PROJECT, EmbeddedConfig, read_config
from memory_platform.embedded.endpoints import ServerUrls, delete_endpoints, write_endpoints
from memory_platform.embedded.errors import StartError
from memory_platform.embedded.files import read_or_create_secret, remove_short_socket_folder
from memory_platform.embedded.postgres import OS_USER, PROGRAMS, start_postgres
from memory_platform.embedded.preflight import check_data_dir, check_port, take_lock
from memory_platform.embedded.processes import ChildProcess
from memory_platform.embedded.provision import DatabaseLogin, provision
from memory_platform.embedded.redis import start_redis

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Together below the five seconds within which everything is gone.
APP_PATIENCE_SECONDS = 3.0
SERVER_PATIENCE_SECONDS = 1.5
READY_PATIENCE_SECONDS = 90.0
POLL_SECONDS = 0.1
SECRET_KEY_BYTES = 48
WEB_THREADS = 8
WORKER_THREADS = 4
LOG_MAX_BYTES = 10_000_000
# The most that gunicorn lets one set; its default refuses the address of a long partition, percent-encoded.
REQUEST_LINE_MAX_BYTES = 8190


class StopRequested(BaseException):
    """A signal arrived; not an Exception, so that nothing on the way takes it for a failure."""


def main() -> int:
    for number in STOP_SIGNALS:
        signal.signal(number, _ask_to_stop)
    try:
        config = read_config()
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


def _ask_to_stop(_number: int, _frame: FrameType | None) -> None:
    for number in STOP_SIGNALS:  # the first one is enough: the end must not be interrupted
        signal.signal(number, signal.SIG_IGN)
    raise StopRequested


class Supervisor:
    """Starts everything of a DATA_DIR and watches it; when one part ends, all end."""

    def __init__(self, config: EmbeddedConfig) -> None:
        self._config = config
        self._data_dir = config.data_dir
        self._servers: list[ChildProcess] = []
        self._apps: list[ChildProcess] = []

    def run(self) -> None:
        try:
            _keep_logs_small(self._data_dir / "logs")
            if os.geteuid() == 0 and not self._config.database_url:
                sys.stderr.write(_what_root_changes(self._data_dir))
            endpoints = self._start_servers()
            write_endpoints(self._data_dir, endpoints)
            env = self._environment(endpoints)
            self._prepare(env)
            self._start_apps(env)
            self._wait_until_ready()
            sys.stdout.write(f"{self._config.url} is ready; {self._where_to_sign_in()}\n")
            sys.stdout.flush()
            self._watch()
        finally:
            self._stop()

    # --- Starting ---------------------------------------------------------------------------------------------------

    def _start_servers(self) -> ServerUrls:
        config = self._config
        app_url, owner_url, superuser_url = config.database_url, config.database_owner_url, ""
        if not app_url:
            postgres, superuser_url = start_postgres(self._data_dir)
            self._keep(self._servers, postgres)
            app_url, owner_url = self._provision(superuser_url)
        broker_url, cache_url = config.broker_url, config.cache_url
        if not (broker_url and cache_url):
            redis = start_redis(self._data_dir)
            if redis.child:
                self._keep(self._servers, redis.child)
            broker_url, cache_url = broker_url or redis.broker_url, cache_url or redis.cache_url
        return ServerUrls(app_url, owner_url, superuser_url, broker_url, cache_url)

    def _provision(self, superuser_url: str) -> tuple[str, str]:
        app = DatabaseLogin("memory_app", read_or_create_secret(self._data_dir, "postgres_app"))
        owner = DatabaseLogin("memory_owner", read_or_create_secret(self._data_dir, "postgres_owner"))
        provision(superuser_url, database="memory", owner=owner, app=app)
        host = superuser_url.partition("?")[2]
        app_url, owner_url = (f"postgres://{login.role}:{login.password}@/memory?{host}" for login in (app, owner))
        return app_url, owner_url

    def _environment(self, endpoints: ServerUrls) -> dict[str, str]:
        return {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "memory_platform.settings",
            "PYTHONUNBUFFERED": "1",
            "DATA_DIR": str(self._data_dir),
            "PORT": str(self._config.port),
            "SECRET_KEY": os.environ.get("SECRET_KEY")
            or read_or_create_secret(self._data_dir, "secret_key", SECRET_KEY_BYTES),
            "DATABASE_URL": endpoints.database_url,
            "DATABASE_OWNER_URL": endpoints.database_owner_url,
            "CELERY_BROKER_URL": endpoints.broker_url,
            "CACHE_URL": endpoints.cache_url,
        }

    def _prepare(self, env: Mapping[str, str]) -> None:
        """Migrations, static files, demo data, the first operator: one process that ends by itself."""
        child = self._spawn("prepare", [sys.executable, "manage.py", "prepare"], env)
        while child.is_running():
            time.sleep(POLL_SECONDS)
        self._apps.remove(child)
        if child.process.returncode:
            log = self._log("prepare")
            raise StartError(f"The database could not be prepared: {last_log_line(log)} More is at the end of {log}.")

    def _start_apps(self, env: Mapping[str, str]) -> None:
        config = self._config
        host = f"[{config.host}]" if ":" in config.host else config.host
        gunicorn = [sys.executable, "-m", "gunicorn", "memory_platform.wsgi:application", "--no-control-socket"]
        celery = [sys.executable, "-m", "celery", "-A", "memory_platform"]
        schedule = str(self._data_dir / "run" / "celerybeat-schedule")
        web = [*gunicorn, "--bind", f"{host}:{config.port}", "--worker-class", "gthread", "--threads", str(WEB_THREADS)]
        web += ["--limit-request-line", str(REQUEST_LINE_MAX_BYTES)]
        self._spawn("web", [*web, "--workers", str(config.web_processes), "--graceful-timeout", "2"], env)
        worker = [*celery, "worker", "--pool", "threads", "--concurrency", str(WORKER_THREADS), "--loglevel", "INFO"]
        self._spawn("worker", [*worker, "--without-gossip", "--without-mingle"], env)
        self._spawn("beat", [*celery, "beat", "--pidfile=", "--schedule", schedule, "--loglevel", "WARNING"], env)

    def _spawn(self, name: str, command: list[str], env: Mapping[str, str]) -> ChildProcess:
        child = processes.spawn_process(name, command, log=self._log(name), env=env, cwd=PROJECT)
        self._keep(self._apps, child)
        return child

    def _keep(self, children: list[ChildProcess], child: ChildProcess) -> None:
        """Remembered in a file too, from its first moment: the next start ends what a killed one left."""
        children.append(child)
        processes.record_processes(self._data_dir, [*self._servers, *self._apps])

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_PATIENCE_SECONDS
        while not _answers(f"{self._config.url}healthz"):
            self._check_all_run()
            if time.monotonic() > deadline:
                raise StartError(f"The web process does not answer: the reason is at the end of {self._log('web')}.")
            time.sleep(POLL_SECONDS)

    # --- Running and ending -----------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while True:
            self._check_all_run()
            time.sleep(POLL_SECONDS)

    def _check_all_run(self) -> None:
        for child in (*self._servers, *self._apps):
            if not child.is_running():
                raise StartError(f"{child.name} ended by itself: the reason is at the end of {self._log(child.name)}.")

    def _stop(self) -> None:
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        processes.stop_processes(self._apps, patience_seconds=APP_PATIENCE_SECONDS)
        processes.stop_processes(self._servers, patience_seconds=SERVER_PATIENCE_SECONDS)
        delete_endpoints(self._data_dir)
        processes.delete_process_record(self._data_dir)
        remove_short_socket_folder(self._data_dir)

    def _log(self, name: str) -> Path:
        return self._data_dir / "logs" / f"{name}.log"

    def _where_to_sign_in(self) -> str:
        """An outside database may have had its operators before this DATA_DIR."""
        file = self._data_dir / "secrets" / "first-login.txt"
        return f"the first log-in is in {file}" if file.is_file() else "its operators sign in as before"


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
    """The last thing a process said, as a sentence: of a traceback the message without its class."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line and not line[0].isspace()), "it said nothing")
    return f"{re.sub(r'^[A-Za-z_.]+: ', '', said).rstrip('.')}."


def _what_root_changes(data_dir: Path) -> str:
    return (
        f"Running as root: PostgreSQL runs as the OS user {OS_USER}, created where it is missing, and the folders above"
        f" {data_dir / 'postgres'} and {PROGRAMS} are opened for passing through.\n"
    )


def _keep_logs_small(logs: Path) -> None:
    for log in logs.glob("*.log"):
        with suppress(FileNotFoundError):
            if log.stat().st_size > LOG_MAX_BYTES:
                log.replace(log.with_suffix(".log.1"))
