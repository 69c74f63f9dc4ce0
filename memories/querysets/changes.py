"""What differs between two sets of rows (memory, version): told by the database, whatever the number of rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

ADDED, CHANGED, REMOVED = KINDS = ("added", "changed", "removed")
SAME = "same"

_COMPARED = """
WITH former (memory, number, tokens) AS ({former}), latter (memory, number, tokens) AS ({latter}), compared AS (
    SELECT coalesce(former.memory, latter.memory) AS memory, former.tokens AS before, latter.tokens AS after,
        CASE WHEN former.memory IS NULL THEN 'added' WHEN latter.memory IS NULL THEN 'removed'
        WHEN former.number = latter.number THEN 'same' ELSE 'changed' END AS kind
    FROM former FULL JOIN latter ON former.memory = latter.memory
)
{answer}
"""
_COUNTED = "SELECT kind, count(*), coalesce(sum(before), 0), coalesce(sum(after), 0) FROM compared GROUP BY kind"
# A list of each kind, in the order of ids, from behind a place on.
_LISTED = """
SELECT kind, memory FROM (
    SELECT kind, memory, row_number() OVER (PARTITION BY kind ORDER BY memory) AS place FROM compared
    WHERE kind = ANY (%s) AND (%s::uuid IS NULL OR memory > %s::uuid)
) AS listed
WHERE place <= %s ORDER BY kind, memory
"""


class Sides(NamedTuple):
    """The tables' rows that held before, and those that held after."""

    former: Sequence[Any]
    latter: Sequence[Any]


class Tally(NamedTuple):
    """How many memories, and their tokens of o200k_base before and after."""

    memories: int = 0
    tokens_before: int = 0
    tokens_after: int = 0


def count_changes(sides: Sides) -> dict[str, Tally]:
    """What was added, changed (another version), removed, and what stayed the same."""
    counted = {kind: Tally(*map(int, figures)) for kind, *figures in _rows(_COUNTED, sides, [])}
    return dict.fromkeys((*KINDS, SAME), Tally()) | counted


def list_changes(sides: Sides, kinds: Sequence[str], behind: UUID | None, limit: int) -> dict[str, list[UUID]]:
    """The first memories of each of the kinds with an id behind the given one."""
    listed: dict[str, list[UUID]] = {kind: [] for kind in kinds}
    for kind, memory_id in _rows(_LISTED, sides, [list(kinds), behind, behind, limit]):
        listed[kind].append(memory_id)
    return listed


def _rows(answer: str, sides: Sides, values: list[Any]) -> list[Any]:
    (former, former_values), (latter, latter_values) = (_union(tables) for tables in sides)
    with connection.cursor() as cursor:
        cursor.execute(
            _COMPARED.format(former=former, latter=latter, answer=answer),
            [*former_values, *latter_values, *values],
        )
        return cursor.fetchall()


def _union(tables: Sequence[Any]) -> tuple[str, list[Any]]:
    """The rows (memory, number) of all the tables as one statement and its values."""
    parts = [
        rows.order_by().values_list(rows.identity, "version", "tokens_o200k_base").query.sql_with_params()
        for rows in tables
    ]
    return " UNION ALL ".join(sql for sql, _ in parts), [value for _, values in parts for value in values]
