"""Statements that every request runs: prepared once per connection, with binary values and rows (ADR-0115)."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.db import connection

from memory_platform.postgres.base import DatabaseWrapper


def execute_prepared(statement: str, values: Mapping[str, Any] | Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run a statement with values inside a scope; return its rows.

    Values are typed by the statement: a text where Postgres cannot infer another type needs a cast. Statements that
    differ in their text are prepared separately, so what varies from request to request belongs into the values.
    """
    with cast(DatabaseWrapper, connection).prepared_cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []
