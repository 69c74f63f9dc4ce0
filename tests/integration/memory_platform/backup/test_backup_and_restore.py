"""Back up, damage, restore, and get the same contexts; a restored database that differs is not used."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections

from memory_platform.backup import database
from memory_platform.backup.database import describe, dumped
from memory_platform.backup.files import BackupError
from memory_platform.embedded.provision import DatabaseLogin
from memory_platform.management.commands import _backup
from tests import database_roles, servers
from tests.factories import make_memory
from tests.users import api_client, new_key, new_shared_tenant

pytestmark = pytest.mark.django_db(transaction=True)
ROLES = [DatabaseLogin(each.role, each.password) for each in (servers.OWNER, servers.APP)]
URL = os.environ[servers.SUPERUSER_URL]
_RECORDED = """
SELECT verb, actor_label FROM memories_auditentry WHERE verb IN ('backup', 'restore') AND target_kind = 'tenant'
ORDER BY at
"""
_END_OTHERS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()
"""
OTHER = f"drill_of_{servers.worker_number()}_"


def disconnect() -> None:
    for connection in connections.all():
        connection.close()
        if hasattr(connection, "close_pool"):
            connection.close_pool()
    with superuser("postgres") as server:  # connections that earlier tests of this process may have left open
        server.execute(_END_OTHERS, [servers.own_database()])


def run(*arguments: Any) -> None:
    disconnect()
    call_command(*map(str, arguments), "--superuser-url", URL)
    if arguments[0] == "restore":
        database_roles.make_member()  # a restored database lacks the grants of the tests


def superuser(name: str = "") -> psycopg.Connection:
    return psycopg.connect(URL, dbname=name or servers.own_database(), autocommit=True)


@pytest.fixture
def passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKUP_PASSPHRASE", "correct horse battery staple")


@pytest.fixture
def key() -> str:
    tenant = new_shared_tenant("Acme")
    for text in ("Alex prefers green tea.", "Alex lives in Lisbon.", "The kettle was repaired."):
        make_memory(tenant, text, is_embedded=True)
    return new_key(tenant, "read", "write")


def context_of(key: str) -> dict[str, Any]:
    body = {"query": "What does Alex drink?", "max_tokens": 500}
    answer = api_client(key).post("/api/v1/context", body, format="json")
    assert answer.status_code in (200, 201), answer.content
    return {name: answer.json()[name] for name in ("text", "blocks", "omitted")}


@contextmanager
def repaired_by(path: Path) -> Iterator[None]:
    """Undo any damage, even after a failure: every later test of this process uses the same database."""
    try:
        yield
    except BaseException:
        run("restore", path, "--overwrite")
        raise


@pytest.mark.usefixtures("passphrase")
def test_drill_restores_rows_policies_keys_and_contexts(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    context, path = context_of(key), tmp_path / "drill.backup"
    with superuser() as connection:
        before = describe(connection)
    run("backup", path)
    assert "encrypted" in capsys.readouterr().out
    assert b"green tea" not in path.read_bytes()
    with repaired_by(path):
        with superuser() as connection:
            connection.execute("DROP POLICY in_tenant ON memories_memory")
            connection.execute("DROP INDEX memory_by_id")
            connection.execute("DELETE FROM memories_memoryembedding")
        with pytest.raises(CommandError, match="has data: --overwrite"):
            run("restore", path)
        run("restore", path, "--overwrite")
    assert "Restored and verified" in capsys.readouterr().out
    with superuser() as connection:
        after = describe(connection)
        recorded = connection.execute(_RECORDED).fetchall()
    for name in ("public.memories_auditentry", "public.memories_unsealedauditentry"):
        before["counts"][name] += 2
    assert after == before
    assert recorded == [("backup", "manage.py backup"), ("restore", "manage.py restore")]
    assert context_of(key) == context
    stored = settings.DATA_DIR / "secrets" / "restored.env"
    assert f"SECRET_KEY={settings.SECRET_KEY}" in stored.read_text()
    assert stored.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def dump() -> Iterator[tuple[dict[str, Any], Any]]:
    disconnect()
    with dumped(URL, servers.own_database()) as found:
        yield found
        with suppress(ValueError):
            while found[1].read(1024 * 1024):
                pass
    with superuser("postgres") as server:
        # databases of other workers, which share the server, are not affected
        rows = server.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [OTHER])
        names = [row[0] for row in rows]
        for name in names:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert set(names) <= {OTHER}, "a restore left a database"


def test_restore_makes_a_database_that_does_not_exist(dump: tuple[dict[str, Any], Any]) -> None:
    description, stream = dump
    assert not database.has_data(URL, OTHER)
    database.restore(URL, OTHER, stream, description, roles=ROLES)
    with superuser(OTHER) as connection:
        assert describe(connection) == description


@pytest.mark.parametrize("part", ["counts", "schema"])
def test_database_that_differs_is_not_put_in_place(dump: tuple[dict[str, Any], Any], part: str) -> None:
    description, stream = dump
    added = {"counts": {"public.lost": 3}, "schema": ["policy lost on memories_memory"]}[part]
    changed = description | {part: description[part] | added if part == "counts" else description[part] + added}
    with pytest.raises(BackupError, match=r"differs from the backup in 1 point: missing .*lost"):
        database.restore(URL, OTHER, stream, changed, roles=ROLES)
    assert not database.has_data(URL, OTHER)


def test_backup_to_a_folder_without_write_permission_reports_an_error(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c default_transaction_read_only=on")  # as in a standby
    run("backup", tmp_path / "standby.backup")
    assert "The audit log has no entry of it: cannot execute INSERT in a read-only" in capsys.readouterr().err
    assert (tmp_path / "standby.backup").is_file()


def test_restore_waits_for_connections_that_close() -> None:
    disconnect()
    with superuser() as other:
        closing = threading.Timer(0.3, other.close)
        closing.start()
        database.has_data(URL, servers.own_database())
        closing.join()


def test_restore_refuses_while_others_are_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "CLOSING_SECONDS", 0.2)
    with superuser(), pytest.raises(BackupError, match="stop web, worker and beat"):
        database.has_data(URL, servers.own_database())


def test_role_that_does_not_see_every_row_cannot_dump(tmp_path: Path) -> None:
    disconnect()
    with pytest.raises(CommandError, match="sees every row"):
        call_command("backup", str(tmp_path / "x"), "--superuser-url", os.environ["DATABASE_OWNER_URL"])
    assert list(tmp_path.iterdir()) == []


def test_damaged_dump_leaves_the_database_as_it_was(key: str, tmp_path: Path) -> None:
    context, path = context_of(key), tmp_path / "cut.backup"
    run("backup", path)
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(CommandError, match="pg_restore failed"):
        run("restore", path, "--overwrite")
    assert context_of(key) == context


@pytest.mark.parametrize(("text", "sentence"), [(None, "cannot be read"), ("\nlater", "is empty")])
def test_missing_passphrase_is_reported(tmp_path: Path, text: str | None, sentence: str) -> None:
    path = tmp_path / "passphrase"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BackupError, match=sentence):
        _backup.read_passphrase(path)
