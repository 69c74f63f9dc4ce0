"""Dump and restore a database with PostgreSQL's own programs, and compare the result with the original."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from time import monotonic, sleep
from typing import Any, BinaryIO, cast

import psycopg
from psycopg import sql

from memory_platform.backup.files import CHUNK_BYTES, BackupError, Reader
from memory_platform.embedded.postgres import PROGRAMS
from memory_platform.embedded.provision import DatabaseLogin, provision
from memory_platform.web.numerals import counted

#: Names of another database while a restore runs, and of the replaced one until it is dropped.
RESTORING, REPLACED = "{}_restoring", "{}_replaced"
DIFFERENCES_SHOWN, TEXT_SHOWN_CHARACTERS = 10, 200
#: The server still counts a connection for a moment after its program has closed it.
CLOSING_SECONDS = 5
#: One text per thing that must be the same after a restore; `ours` are relations that are not the server's own.
_SCHEMA = """
WITH ours AS (
    SELECT c.* FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'
    AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = c.oid AND d.deptype = 'e')
)
SELECT 'extension ' || extname || ' ' || extversion FROM pg_extension
UNION ALL SELECT format('relation %s of %s, %s, security %s %s', relname, relowner::regrole, relkind,
    relrowsecurity, relforcerowsecurity) FROM ours
UNION ALL SELECT format('grant %s on %s to %s', a.privilege_type, relname, a.grantee::regrole)
    FROM ours, aclexplode(relacl) AS a
UNION ALL SELECT format('column %s.%s %s %s', relname, attname, format_type(atttypid, atttypmod), attnotnull)
    FROM ours JOIN pg_attribute ON attrelid = ours.oid WHERE attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'p')
UNION ALL SELECT format('constraint %s on %s: %s', conname, relname, pg_get_constraintdef(k.oid))
    FROM pg_constraint AS k JOIN ours ON ours.oid = conrelid WHERE convalidated
UNION ALL SELECT 'index ' || pg_get_indexdef(indexrelid) FROM pg_index JOIN ours ON ours.oid = indrelid WHERE indisvalid
UNION ALL SELECT format('trigger on %s: %s, %s', relname, pg_get_triggerdef(t.oid), tgenabled)
    FROM pg_trigger AS t JOIN ours ON ours.oid = tgrelid WHERE NOT tgisinternal
UNION ALL SELECT format('policy %s on %s for %s to %s: %s, %s', polname, relname, polcmd,
    ARRAY(SELECT role::regrole::text FROM unnest(polroles) AS role ORDER BY 1),
    pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
    FROM pg_policy JOIN ours ON ours.oid = polrelid
UNION ALL SELECT format('function %s of %s, definer %s, %s', p.oid::regprocedure, proowner::regrole, prosecdef,
    md5(prosrc))
    FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = pronamespace
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = p.oid AND d.deptype = 'e')
UNION ALL SELECT DISTINCT format('role %s: superuser %s, bypasses policies %s', rolname, rolsuper, rolbypassrls)
    FROM ours, aclexplode(relacl) AS a JOIN pg_roles ON pg_roles.oid IN (a.grantee, a.grantor)
"""
#: The parts of an expression that differ when Postgres writes it, reads it and writes it again.
_CASTS = re.compile(r"::(character varying|text)(\[\])?|[()]")
_TABLES = """
SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2
"""
_HAS_DATA = "SELECT EXISTS (SELECT FROM memories_tenant) OR EXISTS (SELECT FROM auth_user)"
#: As the superuser: which roles of the application exist depends on the deployment.
_RECORD = """
INSERT INTO memories_auditentry (id, tenant_id, at, actor_kind, actor_id, actor_label, verb, target_kind, target_ids,
    fields, reason)
SELECT gen_random_uuid(), id, %s, 'system', '', %s, %s, 'tenant', ARRAY[id::text], '{}', '' FROM memories_tenant
"""
_OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"


def program(name: str) -> str:
    """Return the path of pg_dump or pg_restore: the embedded one, else the one on PATH. Raises `BackupError`."""
    found = PROGRAMS / name
    path = str(found) if found.is_file() else shutil.which(name)
    if not path:
        raise BackupError(f"{name} was not found: install the PostgreSQL client programs in the server's version.")
    return path


@contextmanager
def dumped(superuser_url: str, database: str) -> Iterator[tuple[dict[str, Any], BinaryIO]]:
    """Yield a description of the database and the dump, both as of one point in time. Raises `BackupError`."""
    with connected(superuser_url, database) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        _require_whole_view(connection)
        snapshot = connection.execute("SELECT pg_export_snapshot()").fetchone()
        command = [program("pg_dump"), "--format=custom", "--no-password", f"--snapshot={snapshot and snapshot[0]}"]
        description = describe(connection)
        with _running([*command, f"--dbname={_address(superuser_url, database)}"], stdout=subprocess.PIPE) as process:
            yield description, cast(BinaryIO, process.stdout)


def describe(connection: psycopg.Connection) -> dict[str, Any]:
    """Return the number of rows of every table and one text per constraint, index, policy, grant and so on."""
    tables = connection.execute(_TABLES).fetchall()
    counts = {}
    for schema, table in tables:
        row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table))).fetchone()
        counts[f"{schema}.{table}"] = row[0] if row else 0
    texts = {" ".join(_CASTS.sub("", text).split()) for (text,) in connection.execute(_SCHEMA)}
    return {"counts": counts, "schema": sorted(texts)}


def has_data(superuser_url: str, database: str) -> bool:
    """Whether the database has a tenant or an operator. Raises `BackupError` while others are connected to it."""
    with connected(superuser_url) as server:
        if not server.execute("SELECT FROM pg_database WHERE datname = %s", [database]).rowcount:
            return False
        others = _others_after_closing(server, database)
    if others:
        connections = counted(others, "connection is", "connections are")
        raise BackupError(f"{connections} open to {database}: stop web, worker and beat first.")
    with connected(superuser_url, database) as connection, suppress(psycopg.errors.UndefinedTable):
        row = connection.execute(_HAS_DATA).fetchone()
        return bool(row and row[0])
    return False


def _others_after_closing(server: psycopg.Connection, database: str) -> int:
    """Return how many connections to `database` remain after at most `CLOSING_SECONDS`."""
    deadline = monotonic() + CLOSING_SECONDS
    while True:
        row = server.execute(_OTHERS, [database]).fetchone()
        server.rollback()  # a transaction would see the same statistics again
        if not (row and row[0]) or monotonic() > deadline:
            return row[0] if row else 0
        sleep(0.1)


def restore(
    superuser_url: str, database: str, dump: Reader, description: dict[str, Any], *, roles: list[DatabaseLogin]
) -> None:
    """Restore into a new database, compare it with `description`, and only then replace `database` with it.

    `roles` begins with the owner of the tables. Raises `BackupError`; `database` is unchanged then.
    """
    owner, *apps = roles
    restoring = RESTORING.format(database)
    _drop(superuser_url, restoring)
    provision(superuser_url, database=restoring, owner=owner, apps=apps)
    try:
        _feed(superuser_url, restoring, dump)
        with connected(superuser_url, restoring, autocommit=True) as connection:
            connection.execute("ANALYZE")
            _compare(describe(connection), description)
        _take_place(superuser_url, database, restoring)
    finally:
        _drop(superuser_url, restoring)


def record_of_every_tenant(superuser_url: str, database: str, verb: str, *, label: str, now: datetime) -> None:
    """Write an audit entry for each tenant: `label` did `verb` to all of it.

    Raises `BackupError` if that is not possible, as in a standby or in tables of an earlier version.
    """
    try:
        with connected(superuser_url, database) as connection:
            connection.execute(_RECORD, [now, label, verb])
    except psycopg.Error as error:
        raise BackupError(f"The audit log has no entry of it: {str(error).strip().splitlines()[0]}") from error


def _feed(superuser_url: str, database: str, dump: Reader) -> None:
    command = [program("pg_restore"), "--exit-on-error", "--no-password"]
    command.append(f"--dbname={_address(superuser_url, database)}")
    with (
        _running(command, stdin=subprocess.PIPE) as process,
        suppress(BrokenPipeError),
        cast(BinaryIO, process.stdin) as pipe,
    ):
        while chunk := dump.read(CHUNK_BYTES):
            pipe.write(chunk)


def _compare(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raise `BackupError` if anything is missing, added or differs in number."""
    rows, expected_rows = (
        {f"{table}: {count}" for table, count in each["counts"].items()} | set(each["schema"])
        for each in (found, expected)
    )
    missing, added = sorted(expected_rows - rows), sorted(rows - expected_rows)
    if missing or added:
        texts = [f"missing {text}" for text in missing] + [f"added {text}" for text in added]
        shown = "; ".join(text[:TEXT_SHOWN_CHARACTERS] for text in texts[:DIFFERENCES_SHOWN])
        points = counted(len(texts), "point", "points")
        raise BackupError(f"The restored database differs from the backup in {points}: {shown}.")


def _take_place(superuser_url: str, database: str, restored: str) -> None:
    """Replace the database with the restored one by renaming both in one transaction."""
    replaced = REPLACED.format(database)
    _drop(superuser_url, replaced)
    rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    with connected(superuser_url) as server:
        if server.execute("SELECT FROM pg_database WHERE datname = %s", [database]).rowcount:
            server.execute(rename.format(sql.Identifier(database), sql.Identifier(replaced)))
        server.execute(rename.format(sql.Identifier(restored), sql.Identifier(database)))
    _drop(superuser_url, replaced)


def _drop(superuser_url: str, database: str) -> None:
    with connected(superuser_url, autocommit=True) as server:
        server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))


def _require_whole_view(connection: psycopg.Connection) -> None:
    row = connection.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user").fetchone()
    if not (row and row[0]):
        raise BackupError("A backup needs a role that sees every row: a superuser, or one with BYPASSRLS.")


@contextmanager
def connected(superuser_url: str, database: str = "", *, autocommit: bool = False) -> Iterator[psycopg.Connection]:
    """Connect to one database of the server. Raises `BackupError` if that fails."""
    try:
        connection = psycopg.connect(_address(superuser_url, database), autocommit=autocommit)
    except psycopg.OperationalError as error:
        raise BackupError(f"The database cannot be reached: {str(error).strip().splitlines()[0]}") from error
    with connection:
        yield connection


def _address(superuser_url: str, database: str) -> str:
    """Return a connection string; a later `dbname` overrides that of the URL."""
    return psycopg.conninfo.make_conninfo(superuser_url, **({"dbname": database} if database else {}))


@contextmanager
def _running(command: list[str], **pipes: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Run one of PostgreSQL's programs. Raises `BackupError` with its last line, which contains no row."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        said = process.stderr.read() if process.stderr else b""
        if process.wait():
            lines = said.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise BackupError(f"{command[0].rpartition('/')[2]} failed: {lines[0]}")
