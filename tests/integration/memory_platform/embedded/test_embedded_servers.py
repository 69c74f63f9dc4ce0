"""The embedded Postgres and Redis, started in folders with unusual paths and permissions."""

import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
import pytest
import redis as client_library
from django.conf import settings
from environ import Env
from kombu import Connection

from memory_platform.embedded import processes
from memory_platform.embedded import redis as redis_module
from memory_platform.embedded.files import StartError, remove_short_socket_folder, socket_folder
from memory_platform.embedded.postgres import OS_USER, start_postgres
from memory_platform.embedded.processes import ChildProcess, spawn_process, stop_processes
from memory_platform.embedded.redis import EmbeddedRedis, start_redis

SMALL = {"shared_buffers": "16MB", "fsync": "off"}


@pytest.fixture
def used() -> Iterator[list[Path]]:
    """Data directories whose short socket folder, if they need one, is deleted at the end of the test."""
    data_dirs: list[Path] = []
    yield data_dirs
    for data_dir in data_dirs:
        remove_short_socket_folder(data_dir)


@pytest.fixture
def children(used) -> Iterator[list[ChildProcess]]:
    started: list[ChildProcess] = []
    yield started
    stop_processes(started, timeout_seconds=5)


@pytest.fixture
def postgres(children, used) -> Callable[[Path], str]:
    def start(data_dir: Path) -> str:
        data_dir.mkdir(parents=True, exist_ok=True)
        used.append(data_dir)
        child, url = start_postgres(data_dir, options=SMALL)
        children.append(child)
        return url

    return start


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Path:
    """A data directory with a cluster that is created once; each test starts Postgres on it."""
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture
def redis(children, used) -> Callable[[Path], EmbeddedRedis]:
    def start(data_dir: Path) -> EmbeddedRedis:
        used.append(data_dir)
        broker = start_redis(data_dir)
        assert broker.child
        children.append(broker.child)
        return broker

    return start


def answer(url: str, query: str = "SELECT 1") -> object:
    with psycopg.connect(url) as connection:
        (value,) = connection.execute(query).fetchone() or (None,)
        return value


def use(broker: EmbeddedRedis) -> None:
    with Connection(broker.broker_url) as connection, connection.SimpleQueue("q") as queue:
        queue.put({"n": 1})
        assert queue.get(timeout=30).payload == {"n": 1}


@pytest.mark.parametrize("folder", ["with blanks", "d" * 60 + "/" + "e" * 60, "ünïcode-жук", "quote'and%percent"])
def test_servers_start_in_a_folder_whose_path_is_hard(folder, tmp_path, postgres, redis):
    data_dir = tmp_path / folder
    assert answer(postgres(data_dir)) == 1
    broker = redis(data_dir)
    use(broker)
    assert Env.cache_url_config(broker.cache_url)["OPTIONS"] == {"db": 1}
    django_side = Env.db_url_config(f"postgres://u:p@/memory?{postgres_host(data_dir)}")
    assert Path(django_side["OPTIONS"]["host"]).is_dir()


def postgres_host(data_dir: Path) -> str:
    return "host=" + quote(str(socket_folder(data_dir) / "postgres"))


def test_a_pid_file_that_names_another_program_does_not_block_the_start(cluster, children, postgres):
    postgres(cluster)
    stop_processes(children, timeout_seconds=5)
    (cluster / "postgres/postmaster.pid").write_text(f"{os.getpid()}\n/elsewhere\n")
    assert answer(postgres(cluster)) == 1


def test_a_server_that_still_runs_on_the_cluster_is_ended_first(cluster, children, postgres):
    postgres(cluster)
    orphan = children[0].process
    assert answer(postgres(cluster)) == 1
    assert orphan.wait(30) is not None


def test_a_killed_server_comes_back_with_its_data(cluster, children, postgres):
    url = postgres(cluster)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS n")
    psutil.Process(children[0].process.pid).kill()
    children[0].process.wait(30)
    assert answer(postgres(cluster), "SELECT n FROM kept") == 42


def test_a_locale_of_the_shell_that_does_not_exist_changes_nothing(tmp_path, monkeypatch, postgres):
    monkeypatch.setenv("LC_ALL", "tlh_QO.UTF-8")
    assert answer(postgres(tmp_path), "SHOW lc_messages") == "C"


def test_texts_of_failing_statements_stay_out_of_the_log(cluster, postgres):
    url = postgres(cluster)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE memory (text text UNIQUE)")
        connection.execute("INSERT INTO memory VALUES ('the door code is 4711')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO memory VALUES ('the door code is 4711')")
    log = (cluster / "logs/postgres.log").read_text()
    assert "duplicate key" in log
    assert "4711" not in log


def test_server_listens_on_no_network_address_and_requires_a_password(cluster, postgres):
    url = postgres(cluster)
    assert answer(url, "SHOW listen_addresses") == ""
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url, password="wrong")


def test_nothing_is_left_in_the_shared_temp_folder_or_the_wheels_bookkeeping(cluster, postgres):
    postgres(cluster)
    assert not list(cluster.rglob(".handle_pids.json"))
    assert not list(cluster.glob(".postgres-*"))


def test_the_cluster_is_private_and_for_root_parents_are_opened_for_passing_only(tmp_path, postgres):
    data_dir = tmp_path / "closed" / "data"
    data_dir.mkdir(parents=True)
    (tmp_path / "closed").chmod(0o700)
    postgres(data_dir)
    is_root = os.geteuid() == 0
    owner = OS_USER if is_root else pwd.getpwuid(os.geteuid()).pw_name
    cluster = (data_dir / "postgres").stat()
    assert (pwd.getpwuid(cluster.st_uid).pw_name, stat.S_IMODE(cluster.st_mode)) == (owner, 0o700)
    assert stat.S_IMODE((tmp_path / "closed").stat().st_mode) == (0o701 if is_root else 0o700)


def test_a_server_that_cannot_start_names_the_file_with_the_reason(tmp_path):
    with pytest.raises(StartError, match=r"did not start\. See the end of .*postgres\.log"):
        start_postgres(tmp_path, options={"shared_buffers": "nonsense"})


def test_redis_keeps_its_data_and_listens_on_its_socket_only(tmp_path, children, redis):
    redis(tmp_path)
    socket = str(socket_folder(tmp_path) / "redis.sock")
    with client_library.Redis(unix_socket_path=socket) as client:
        client.set("kept", "yes")
        assert client.config_get("port")["port"] == "0"
    stop_processes(children, timeout_seconds=5)
    redis(tmp_path)
    with client_library.Redis(unix_socket_path=socket) as client:
        assert client.get("kept") == b"yes"


def test_files_serve_as_broker_with_the_options_of_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(redis_module, "find_program", lambda: None)
    broker = start_redis(tmp_path)
    code = (
        "from django.conf import settings; from kombu import Connection\n"
        "o = settings.CELERY_BROKER_TRANSPORT_OPTIONS\n"
        "with Connection(settings.CELERY_BROKER_URL, transport_options=o) as c, c.SimpleQueue('q') as q:\n"
        "    q.put({'n': 1}); assert q.get(timeout=30).payload == {'n': 1}\n"
        "from django.core.cache import cache; cache.set('a', 1); assert cache.get('a') == 1\n"
    )
    env = {
        **os.environ,
        "DATA_DIR": str(tmp_path),
        "CELERY_BROKER_URL": broker.broker_url,
        "CACHE_URL": broker.cache_url,
    }
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


# --- Reaping --------------------------------------------------------------------------------------------------------


def test_only_processes_that_are_still_the_recorded_ones_are_reaped(tmp_path, children):
    ours = spawn_process("ours", ["sleep", "60"], log=tmp_path / "log")
    other = spawn_process("other", ["sleep", "61"], log=tmp_path / "log")
    children += [ours, other]
    processes.record_processes(tmp_path, processes.describe_processes([ours]))
    records = tmp_path / "run/processes.json"
    forged = records.read_text().replace(str(ours.process.pid), str(other.process.pid))
    records.write_text(forged)
    assert processes.stop_recorded_processes(tmp_path) == []
    processes.record_processes(tmp_path, processes.describe_processes([ours]))
    assert processes.stop_recorded_processes(tmp_path) == [ours.process.pid]
    assert other.is_running()
    assert processes.stop_recorded_processes(tmp_path) == []


def test_stopping_ends_what_ignores_the_request_with_its_children(tmp_path):
    script = "trap '' TERM INT; sleep 62 & echo ready; wait; sleep 63"
    child = spawn_process("stubborn", ["sh", "-c", script], log=tmp_path / "log")
    while "ready" not in (tmp_path / "log").read_text():
        pass
    group = [p for p in psutil.process_iter() if p.pid != child.process.pid and _group(p) == child.process.pid]
    assert group
    stop_processes([child], timeout_seconds=0.2)
    psutil.wait_procs(group, timeout=30)
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in group)


def _group(process: psutil.Process) -> int:
    try:
        return os.getpgid(process.pid)
    except ProcessLookupError:
        return 0


def test_tests_use_pools_without_persistent_connections():
    assert settings.DATABASES["default"]["CONN_MAX_AGE"] == 0
    assert settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"] == 8
