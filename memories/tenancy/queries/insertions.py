"""Statements with text values, such as the fast insertions of the rows of each context (ADR-0063)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.db import connection

from memories.tenancy.queries.prepared import send_prepared


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


def array_text(words: Iterable[object]) -> str:
    """Return an array literal of simple words; the client's adaptation of a list takes ten times as long."""
    return "{" + ",".join(str(word) or '""' for word in words) + "}"
