"""`make run` as a person uses it: start, stop, kill, start again, two at once."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil
import psycopg
import pytest
from django.conf import settings

from memory_platform.embedded import supervisor
from memory_platform.embedded.config import PROJECT
from memory_platform.embedded.files import read_endpoints
from memory_platform.embedded.provision import provision
from tests import servers

pytestmark = pytest.mark.long

# The supervisor limits the end to 5 s, but a loaded machine takes longer even for that. These limits only end tests
# that would never end.
STOP_MAX_SECONDS = 60.0
START_MAX_SECONDS = 300.0
REFUSE_MAX_SECONDS = 120.0
CHECKPOINT_MAX_SECONDS = 180.0
#: From a kill to the next process, on a machine with a free core; with n processes for each core, n times as long.
RESTART_MAX_SECONDS = 10.0
#: Not the size of the log since then: autovacuum writes 3 MB about a minute after the first migrations.
CHECKPOINTS_ON_REQUEST = "SELECT num_requested FROM pg_stat_checkpointer WHERE num_done > 0"
PARTS = ("PostgreSQL", "Redis", "worker", "beat", "watcher", "web")
FROM_THE_TESTS = ("DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_CONSOLE_URL", "DATABASE_MAINTENANCE_URL")
FROM_THE_TESTS += ("CELERY_BROKER_URL", "CACHE_URL", "SECRET_KEY")


@dataclass
class Start:
    """One `python -m memory_platform.embedded` in a separate session, as in a terminal."""

    data_dir: Path
    port: int
    more: dict[str, str]
    program: tuple[str, ...] = ("-m", "memory_platform.embedded")

    def __post_init__(self) -> None:
        self.data_dir.parent.mkdir(parents=True, exist_ok=True)
        self._outputs = [self.data_dir.parent / f"{self.data_dir.name}.{name}" for name in ("out", "err")]
        with self._outputs[0].open("w") as out, self._outputs[1].open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, *self.program],
                cwd=PROJECT,
                env=self.environment(),
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in FROM_THE_TESTS}
        own = {"DATA_DIR": str(self.data_dir), "PORT": str(self.port), "DEMO": "0", "EMBEDDING_PROVIDER": "hashed"}
        return {**inherited, **own, "WEB_CONCURRENCY": "1", **self.more}

    @property
    def output(self) -> str:
        return self._outputs[0].read_text()

    @property
    def errors(self) -> str:
        return self._outputs[1].read_text()

    def wait_until_ready(self) -> "Start":
        deadline = time.monotonic() + START_MAX_SECONDS
        while "is ready" not in self.output:
            assert self.process.poll() is None, self.errors
            assert time.monotonic() < deadline, "not ready in time"
            time.sleep(0.05)
        return self

    def end(self, number: signal.Signals) -> None:
        """Send the signal to the whole foreground group, as Ctrl-C does."""
        os.killpg(self.process.pid, number)
        assert self.process.wait(STOP_MAX_SECONDS) == 0, self.errors
        assert not self.running()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOP_MAX_SECONDS)

    def pid_of(self, part: str) -> int:
        """Return the process that the supervisor last started for a part, or 0."""
        rows = json.loads((self.data_dir / "run/processes.json").read_text())
        return next((row["pid"] for row in rows if row["name"] == part), 0)

    def wait_until(self, is_so: Callable[[], object], seconds: float = START_MAX_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not is_so():
            assert self.process.poll() is None, self.errors
            assert time.monotonic() < deadline, self.errors
            time.sleep(0.05)

    def status_of(self, path: str) -> int:
        try:
            return urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60).status
        except HTTPError as error:
            error.close()
            return error.code
        except OSError:  # the request that a killed web process was handling
            return 0

    def running(self) -> list[psutil.Process]:
        """Return all processes with this DATA_DIR in their environment or on their command line."""
        found = []
        for process in psutil.process_iter():
            try:
                words = [*process.cmdline(), process.environ().get("DATA_DIR", "")]
                is_alive = process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid()
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            if is_alive and any(str(self.data_dir) in word for word in words):
                found.append(process)
        return found

    def superuser(self) -> psycopg.Connection:
        endpoints = read_endpoints(self.data_dir)
        assert endpoints
        return psycopg.connect(endpoints.database_superuser_url, dbname="memory", autocommit=True)


def test_patience_with_the_parts_ends_all_of_it_within_five_seconds() -> None:
    assert supervisor.APP_TIMEOUT_SECONDS + supervisor.SERVER_TIMEOUT_SECONDS < 5.0


@pytest.fixture
def start() -> Iterator[Callable[..., Start]]:
    folder, started = servers.own_folder("start"), list[Start]()

    def begin(name: str, port: int | None = None, **more: str) -> Start:
        started.append(Start(folder / name, port or servers.unused_port(), more))
        return started[-1]

    yield begin
    for each in started:
        if each.process.poll() is None:
            each.process.send_signal(signal.SIGTERM)
            each.process.wait(STOP_MAX_SECONDS)
        for process in each.running():
            process.kill()


def test_simultaneous_starts_print_one_line_each_and_the_next_clears_up_after_a_killed_one(start, outside):
    one, two = start("one"), start("two", **outside)
    for each in (one, two):
        each.wait_until_ready()
        login = each.data_dir / "secrets/first-login.txt"
        assert each.output == f"http://127.0.0.1:{each.port}/ is ready; the first user's credentials are in {login}\n"
        assert "password: " in login.read_text()
        assert urlopen(f"http://127.0.0.1:{each.port}/healthz", timeout=60).status == 200

    # Private files are private, and ordinary commands find the running servers by DATA_DIR alone.
    for private in ("run/endpoints.json", "secrets/secret_key", "secrets/first-login.txt"):
        assert stat.S_IMODE((one.data_dir / private).stat().st_mode) == 0o600
    command = [sys.executable, "manage.py", "migrate", "--check"]
    subprocess.run(command, cwd=PROJECT, env=one.environment(), check=True)

    # A second start on the same folder, and one on the same port, end with a one-sentence error.
    again = start("one")
    assert again.process.wait(REFUSE_MAX_SECONDS) == 1
    assert again.errors.splitlines()[-1].startswith(f"Process {one.process.pid} already runs on {one.data_dir}")
    third = start("three", port=one.port)
    assert third.process.wait(REFUSE_MAX_SECONDS) == 1
    assert f"Port {one.port} of 127.0.0.1 cannot be used" in third.errors.splitlines()[-1]

    outside_servers_are_used_and_not_started(two, outside)
    everything_ends_with_a_killed_supervisor(two)
    assert one.process.poll() is None
    the_first_changes_are_on_disk(one)
    each_killed_part_starts_again(one)
    a_killed_start_is_cleared_up_by_the_next_which_finds_its_data(start, one)


def outside_servers_are_used_and_not_started(running: Start, outside: dict[str, str]) -> None:
    names = {process.name() for process in running.running()}
    assert not names & {"postgres", "redis-server", "valkey-server"}
    assert not (running.data_dir / "postgres").exists()
    endpoints = read_endpoints(running.data_dir)
    assert endpoints
    assert endpoints.database_url == outside["DATABASE_URL"]
    assert endpoints.database_superuser_url == ""
    assert running.errors == ""


def the_first_changes_are_on_disk(running: Start) -> None:
    """The changes of the first migrations are written soon, not only after five minutes."""
    with running.superuser() as connection:
        running.wait_until(
            lambda: any(connection.execute(CHECKPOINTS_ON_REQUEST).fetchone() or ()), CHECKPOINT_MAX_SECONDS
        )


def each_killed_part_starts_again(running: Start) -> None:
    statuses = set()
    for name in PARTS:
        old, killed_at = running.pid_of(name), time.monotonic()
        os.kill(old, signal.SIGKILL)
        running.wait_until(lambda old=old, name=name: running.pid_of(name) not in {0, old})
        load_factor = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        assert time.monotonic() - killed_at < RESTART_MAX_SECONDS * load_factor, name
        statuses |= {running.status_of("/sign-in"), running.status_of("/api/v1/memories")}
        assert f"{name} ended (signal 9) and is restarted at once." in running.errors
    running.wait_until(lambda: running.status_of("/sign-in") == 200)
    assert statuses <= {0, 200, 401, 503}
    with running.superuser() as connection:
        assert connection.execute("SELECT count(*) FROM memories_tenant").fetchone() == (0,)


def a_killed_start_is_cleared_up_by_the_next_which_finds_its_data(start: Callable[..., Start], first: Start) -> None:
    with first.superuser() as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS n")
    (first.data_dir / "secrets/first-login.txt").unlink()
    first.process.send_signal(signal.SIGSTOP)  # or it would restart the watcher
    os.kill(first.pid_of("watcher"), signal.SIGKILL)
    first.kill()
    orphans = first.running()
    assert {"postgres", "redis-server"} & {process.name() for process in orphans}

    second = start(first.data_dir.name, port=first.port).wait_until_ready()
    assert second.output.endswith(" is ready; its operators sign in as before\n")
    assert not [process for process in orphans if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    with second.superuser() as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (42,)
    second.end(signal.SIGINT)
    assert read_endpoints(second.data_dir) is None


def everything_ends_with_a_killed_supervisor(running: Start) -> None:
    running.kill()
    deadline = time.monotonic() + STOP_MAX_SECONDS
    while running.running():
        assert time.monotonic() < deadline, running.running()
        time.sleep(0.05)


@pytest.mark.parametrize(("after_seconds", "number"), [(0.7, signal.SIGHUP), (2.0, signal.SIGTERM)])
def test_an_interrupted_first_start_leaves_nothing_running(start, after_seconds, number):
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as in a terminal; the tests may run under nohup
    early = start("data")
    signal.signal(signal.SIGHUP, former)
    time.sleep(after_seconds)
    os.killpg(early.process.pid, number)
    ended = early.process.wait(STOP_MAX_SECONDS)
    assert ended in {0, -number}, early.errors  # the second one comes before Python listens
    assert not early.running()
    assert early.output == ""


@pytest.fixture
def outside() -> dict[str, str]:
    """A new database on the tests' server, used as an external server with one role for everything."""
    name = f"outside_{servers.worker_number()}"
    provision(os.environ[servers.SUPERUSER_URL], database=name, owner=servers.OWNER, apps=[servers.APP])
    variables = ("DATABASE_URL", "DATABASE_OWNER_URL", "CELERY_BROKER_URL", "CACHE_URL")
    own = settings.DATABASES["default"]["NAME"]
    return {variable: os.environ[variable].replace(f"/{own}?", f"/{name}?") for variable in variables}
