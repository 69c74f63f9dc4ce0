"""Rows that every context inserts: statements put together once, values sent as the texts Postgres reads (ADR-0063)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from django.db import connection


@dataclass(frozen=True)
class Insertion:
    """A row to be inserted, inside a scope: by itself or with another one in the same statement."""

    statement: str
    values: list[Any]

    def run(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(self.statement, self.values)

    def beside(self, other: Self | None) -> "Insertion":
        """Both rows or none."""
        if other is None:
            return self
        return Insertion(f"WITH beside AS ({other.statement}) {self.statement}", [*other.values, *self.values])


def array_text(words: Iterable[object]) -> str:
    """A Postgres array as text, of words that hold nothing to quote (ids, hashes), or are empty.

    What the client makes of a list quotes every word and takes ten times as long.
    """
    return "{" + ",".join(str(word) or '""' for word in words) + "}"
