"""Empty this process's database between tests, as superuser: Django's `flush` takes a quarter of a second."""

import os
import time

import psycopg
from psycopg import sql

from tests import servers

#: Created by the migrations or once per run (the groups of the roles), and the same for every test.
_KEPT = ("django_migrations", "django_content_type", "auth_permission", "auth_group", "auth_group_permissions")
#: Larger tables are truncated, because indexes would otherwise keep the entries of rows that tests rolled back.
TABLE_BYTES_MAX = 1024 * 1024
#: A running request may lock a table that is to be emptied; the database then cancels one of the two.
_TRIES = 5
_PAUSE_SECONDS = 0.5

_ALL = """
SELECT relname, pg_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> ALL (%s)
"""


def delete_all_rows() -> None:
    """Remove every committed row. No transaction of this process may be open."""
    for tries_left in reversed(range(_TRIES)):
        try:
            with _connected() as connection:
                _empty(connection)
            return
        except psycopg.errors.OperationalError:
            if not tries_left:
                raise
        time.sleep(_PAUSE_SECONDS)


def delete_all_rows_if_grown() -> None:
    """Remove the rows if those that were rolled back have filled a table: no vacuum runs during the tests."""
    with _connected() as connection:
        if _is_grown(_sizes(connection)):
            _empty(connection)


def _connected() -> psycopg.Connection:
    return psycopg.connect(os.environ[servers.SUPERUSER_URL], dbname=servers.own_database())


def _sizes(connection: psycopg.Connection) -> dict[str, int]:
    return dict(connection.execute(_ALL, [list(_KEPT)]).fetchall())


def _is_grown(sizes: dict[str, int]) -> bool:
    return max(sizes.values(), default=0) > TABLE_BYTES_MAX


def _empty(connection: psycopg.Connection) -> None:
    sizes = _sizes(connection)
    tables = sql.SQL(", ").join(map(sql.Identifier, sizes))
    if _is_grown(sizes):
        connection.execute(sql.SQL("TRUNCATE {}").format(tables))
        return
    # Without triggers, the order of rows does not matter; the lock waits for transactions that are still writing.
    connection.execute("SET LOCAL session_replication_role = replica")
    connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(tables))
    for table, size in sizes.items():
        if size:
            connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
