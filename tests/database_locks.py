"""Locks that stop a statement of another connection or process, so that a test can act meanwhile."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from tests import servers

_COUNT_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
_LOCK, _UNLOCK = "SELECT pg_advisory_lock(1)", "SELECT pg_advisory_unlock_all()"


@contextmanager
def writes_blocked(table: str) -> Iterator[Callable[[], bool]]:
    """Block writes to a table until the end of the block, but no reads; yield a function that says if a write waits.

    The roles of the app wait for at most `LOCK_WAIT_MAX_SECONDS`.
    """
    with _connection() as holder, holder.transaction():
        holder.execute(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(sql.Identifier(table)))
        yield lambda: holder.execute(_COUNT_WAITING, [table]).fetchone() != (0,)


@contextmanager
def blocked_statement(number: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield a statement that returns `number` only after a call of the function that is yielded with it."""
    with _connection() as holder:
        holder.execute(_LOCK)
        yield f"SELECT {number} + length(pg_advisory_xact_lock_shared(1)::text)", lambda: holder.execute(_UNLOCK)


def _connection() -> psycopg.Connection:
    url = os.environ[servers.SUPERUSER_URL]
    return psycopg.connect(url, dbname=servers.own_database(), autocommit=True)
