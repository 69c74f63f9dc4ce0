"""After an erasure and `clean_erased_files`, neither the database's files nor a dump contain the text."""

import os
import subprocess
import threading
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command

from compaction.erasure import queries
from memories.models import Tenant
from memory_platform.embedded.postgres import PROGRAMS
from tests import servers
from tests.integration.compaction.erasure.planting import CANARY, PERSON, plant
from tests.integration.compaction.erasure.test_erasure import erase, reread

pytestmark = pytest.mark.django_db(transaction=True)


def files_with(text: str) -> list[str]:
    """Return the files of this process's database that contain the text, of tables, indexes and long values."""
    with psycopg.connect(os.environ[servers.SUPERUSER_URL], dbname=servers.own_database(), autocommit=True) as server:
        server.execute("CHECKPOINT")
        query = (
            "SELECT current_setting('data_directory'), oid::text FROM pg_database WHERE datname = current_database()"
        )
        row = server.execute(query).fetchone()
    assert row is not None
    folder = Path(row[0]) / "base" / row[1]
    return [path.name for path in folder.iterdir() if path.is_file() and text.encode() in path.read_bytes()]


def dump() -> str:
    """Return a dump of this process's database as SQL."""
    url = psycopg.conninfo.make_conninfo(os.environ[servers.SUPERUSER_URL], dbname=servers.own_database())
    command = [str(PROGRAMS / "pg_dump"), "--dbname", url]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for tests of other processes, whose transactions in any database of the server delay the removal of rows."""
    monkeypatch.setattr(queries, "REWRITE_PAUSES_SECONDS", (0, 0.2, 1, 2, 4, 8, 16, *[30] * 5))


def test_no_file_and_no_dump_contains_an_erased_text(tenant: Tenant) -> None:
    plant(tenant)
    assert len(files_with(CANARY)) > 20
    assert CANARY in dump()
    erasure = erase(tenant, partition=PERSON)
    assert files_with(CANARY)  # freed space still contains it
    out = StringIO()
    call_command("clean_erased_files", stdout=out)
    assert "after 1 erasures" in out.getvalue()
    assert files_with(CANARY) == []
    assert CANARY not in dump()
    assert reread(erasure).files_cleaned_at is not None


def test_rows_that_an_older_transaction_reads_are_waited_for_and_named(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tenant)
    with psycopg.connect(os.environ[servers.SUPERUSER_URL], dbname=servers.own_database()) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT")
        erasure = erase(tenant, partition=PERSON)
        with monkeypatch.context() as impatient:
            impatient.setattr(queries, "REWRITE_PAUSES_SECONDS", (0, 0.01))
            with pytest.raises(CommandError, match=r"may still read deleted rows of .*memories_memory"):
                call_command("clean_erased_files")
        assert reread(erasure).files_cleaned_at is None
        threading.Timer(0.5, reader.rollback).start()
        call_command("clean_erased_files", stdout=StringIO())
    assert files_with(CANARY) == []
