"""Recovery of PostgreSQL to a point in time, as docs/backup.md describes it."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memory_platform.embedded.postgres import ENVIRONMENT, OS_USER, PROGRAMS, start_postgres
from memory_platform.embedded.processes import stop_processes
from tests import servers

#: Only a server that never recovers takes as long.
RECOVERY_SECONDS = 120


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = servers.own_folder("point-in-time")
    archive = folder / "archive"
    archive.mkdir()
    if os.geteuid() == 0:
        shutil.chown(archive, OS_USER)
    yield folder
    shutil.rmtree(folder)


def base_backup(url: str, target: Path) -> None:
    target.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(target, OS_USER)
    command = [str(PROGRAMS / "pg_basebackup"), "--checkpoint=fast", "--wal-method=stream", "--dbname", url, "--pgdata"]
    user = OS_USER if os.geteuid() == 0 else None
    subprocess.run([*command, str(target)], env=ENVIRONMENT, cwd="/", user=user, check=True)


def test_server_recovers_to_a_time_between_two_writes(folder: Path) -> None:
    archive, first, second = (folder / name for name in ("archive", "first", "second"))
    for each in (first, second):
        each.mkdir(mode=0o711)
    archiving = {"archive_mode": "on", "archive_command": f"test ! -f {archive}/%f && cp %p {archive}/%f"}
    server, url = start_postgres(first, options=servers.FAST | archiving)
    try:
        base_backup(url, second / "postgres")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE written AS SELECT 'kept' AS what")
            row = connection.execute("SELECT clock_timestamp()").fetchone()
            assert row
            connection.execute("INSERT INTO written VALUES ('a mistake')")
            connection.execute("SELECT pg_switch_wal()")
    finally:
        stop_processes([server], timeout_seconds=30)

    (second / "postgres" / "recovery.signal").touch()
    shutil.copytree(first / "secrets", second / "secrets")
    recovery = {"restore_command": f"cp {archive}/%f %p", "recovery_target_time": row[0].isoformat()}
    recovered, url = start_postgres(second, options=servers.FAST | recovery)
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            paused = "SELECT pg_get_wal_replay_pause_state() = 'paused'"
            deadline = time.monotonic() + RECOVERY_SECONDS
            while connection.execute(paused).fetchone() != (True,):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert connection.execute("SELECT what FROM written").fetchall() == [("kept",)]
            connection.execute("SELECT pg_wal_replay_resume()")
            while connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            connection.execute("INSERT INTO written VALUES ('after it')")
    finally:
        stop_processes([recovered], timeout_seconds=30)
