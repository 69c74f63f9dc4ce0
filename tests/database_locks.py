"""A lock that stops another process where it writes, so that a test can act on it there."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from tests import servers

_COUNT_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass"


@contextmanager
def writes_blocked(table: str) -> Iterator[Callable[[], bool]]:
    """Block writes to a table until the end of the block, but no reads; yield whether a write waits.

    The roles of the app wait for `LOCK_WAIT_MAX_SECONDS`.
    """
    url = os.environ[servers.SUPERUSER_URL]
    with psycopg.connect(url, dbname=servers.own_database()) as holder:
        holder.execute(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(sql.Identifier(table)))

        def is_write_waiting() -> bool:
            return holder.execute(_COUNT_WAITING, [table]).fetchone() != (0,)

        yield is_write_waiting
