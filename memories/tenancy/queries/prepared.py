"""Run statements that are prepared once per connection, with binary values and rows (ADR-0115)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from django.conf import settings
from django.db import connection
from psycopg import Cursor, sql

from memory_platform.postgres.base import DatabaseWrapper


@contextmanager
def sent_together() -> Iterator[None]:
    """Send the statements of the block, inside a transaction, without waiting for each; wait for all at the end.

    Errors are raised at the end. The block reads neither rows nor numbers of changed rows.
    """
    with cast(DatabaseWrapper, connection).pipeline():
        yield


@dataclass
class SentStatement:
    """A statement that was sent; in a pipelined scope, its rows may not have arrived yet."""

    cursor: Any
    _rows: list[tuple[Any, ...]] | None = None

    @property
    def is_read(self) -> bool:
        return self._rows is not None

    def rows(self) -> list[tuple[Any, ...]]:
        """Wait for the rows. All earlier statements have then finished as well."""
        if self._rows is None:
            self._rows = self.cursor.fetchall()
        return self._rows


def send_prepared(statement: str, values: Mapping[str, Any] | Sequence[Any]) -> SentStatement:
    """Send a statement with values inside a scope; outside of a pipeline, wait for it.

    Values are typed by the statement: a text needs a cast if Postgres cannot infer its type. Statements with different
    texts are prepared separately, so anything that varies between requests should be a value.
    """
    cursor = cast(DatabaseWrapper, connection).prepared_cursor()
    cursor.execute(statement, values)
    return SentStatement(cursor)


def execute_prepared(statement: str, values: Mapping[str, Any] | Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run a statement that returns rows, as `send_prepared` does; return them."""
    return send_prepared(statement, values).rows()


def answer_so_far() -> None:
    """In a pipelined scope, make the server return the results so far before it runs the next statements."""
    pipeline = cast(Any, connection).connection._pipeline
    if pipeline is not None:
        pipeline.answer_so_far()


def send_now(*, is_last: bool = False) -> None:
    """In a pipelined scope, send the statements so far without waiting; after the last ones, its transaction ends."""
    pipeline = cast(Any, connection).connection._pipeline
    if pipeline is not None:
        pipeline.send_now(is_last=is_last)


def set_locally(values: Mapping[str, str]) -> None:
    """Set database settings until the end of the transaction; with DATABASE_CITUS, on the nodes too (ADR-0228)."""
    if not settings.DATABASE_CITUS:
        send_prepared(_set_configs(tuple(values)), [*values.values()])
        return
    for name, value in values.items():
        # not bound or prepared, because Citus passes on the text, which differs each time
        statement = sql.SQL("SET LOCAL {name} = {value}").format(name=sql.SQL(name), value=value)
        Cursor(connection.connection).execute(statement, prepare=False)


@cache
def _set_configs(names: tuple[str, ...]) -> str:
    return "SELECT " + ", ".join(f"set_config('{name}', %s, true)" for name in names)
