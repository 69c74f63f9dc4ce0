"""Statements with text values, such as the fast insertions of the rows of each context (ADR-0063)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Self

import orjson
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model

from memories.tenancy.queries.prepared import SentStatement, send_prepared

# Rows as JSON, because compiling an INSERT with many values takes several times as long (ADR-0170).
_INSERT_ROWS = """
INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, %(rows)s::json) {rest}
"""


def execute(statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
    """Run a statement; return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


@dataclass(frozen=True)
class Insertion:
    """A row to insert inside a scope, alone or with another one in the same statement."""

    statement: str
    values: list[Any]

    def run(self) -> None:
        send_prepared(self.statement, self.values)

    def beside(self, other: Self | None) -> "Insertion":
        """Return the insertion of both rows by one statement."""
        if other is None:
            return self
        return Insertion(f"WITH beside AS ({other.statement}) {self.statement}", [*other.values, *self.values])


@cache
def _insertion_of(model: type[Model], rest: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the statement, and column and attribute of each field that it sets."""
    fields = [field for field in model._meta.local_concrete_fields if not field.generated]
    pairs = [(str(field.column), field.attname) for field in fields]
    columns = ", ".join(column for column, _ in pairs)
    return _INSERT_ROWS.format(table=model._meta.db_table, columns=columns, rest=rest), pairs


def insert_rows(rows: Sequence[Model], rest: str = "") -> SentStatement:
    """Insert new rows of one model, in order, by one prepared statement that ends with `rest`, such as RETURNING.

    The rows have keys and Python values as read from the database. No signal is sent.
    """
    statement, pairs = _insertion_of(type(rows[0]), rest)
    for row in rows:
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    records = [{column: getattr(row, name) for column, name in pairs} for row in rows]
    return send_prepared(statement, {"rows": _json_text(records)})


def _json_text(records: list[dict[str, Any]]) -> str:
    try:
        return orjson.dumps(records).decode()
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(records, cls=_WholeTimes, ensure_ascii=False)


class _WholeTimes(DjangoJSONEncoder):
    """Keeps the microseconds, which Django's encoder cuts off."""

    def default(self, o: Any) -> Any:
        return o.isoformat() if isinstance(o, datetime) else super().default(o)


def array_text(words: Iterable[object]) -> str:
    """Return an array literal of simple words; the client's adaptation of a list takes ten times as long."""
    return "{" + ",".join([str(word) or '""' for word in words]) + "}"
