"""Compare two sets of (memory, version) pairs in SQL."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from memories.tenancy.queries.insertions import execute

CHANGE_ADDED, CHANGE_CHANGED, REMOVED = CHANGE_KINDS = ("added", "changed", "removed")
CHANGE_UNCHANGED = "same"

# Nearly all current rows are on both sides: they are counted without a join, in a separate pass, which takes less time
# than keeping them. The others and superseded versions are joined by memory.
_COMPARED = """
WITH head AS MATERIALIZED (
    SELECT * FROM ({rows}) AS every (memory, number, tokens, was, still) WHERE was <> still
), former AS (
    SELECT memory, number, tokens FROM head WHERE was UNION ALL {former}
), latter AS (
    SELECT memory, number, tokens FROM head WHERE still UNION ALL {latter}
), compared AS MATERIALIZED (
    SELECT coalesce(former.memory, latter.memory) AS memory, former.tokens AS before, latter.tokens AS after,
        CASE WHEN former.memory IS NULL THEN 'added' WHEN latter.memory IS NULL THEN 'removed'
        WHEN former.number = latter.number THEN 'same' ELSE 'changed' END AS kind
    FROM former FULL JOIN latter ON former.memory = latter.memory
), unmoved (kind, memories, tokens) AS (
    SELECT 'same', count(*), coalesce(sum(tokens), 0)
    FROM ({rows}) AS every (memory, number, tokens, was, still) WHERE was AND still
), counted AS (
    SELECT kind, count(*) AS memories, coalesce(sum(before), 0) AS before, coalesce(sum(after), 0) AS after
    FROM compared GROUP BY kind UNION ALL SELECT kind, memories, tokens, tokens FROM unmoved
), listed AS (
    SELECT kind, memory, row_number() OVER (PARTITION BY kind ORDER BY memory) AS place FROM compared
    WHERE kind = ANY (%s) AND (%s::uuid IS NULL OR memory > %s::uuid)
)
SELECT kind, NULL::uuid AS memory, sum(memories), sum(before), sum(after) FROM counted GROUP BY kind
UNION ALL SELECT kind, memory, 1, 0, 0 FROM listed WHERE place <= %s
ORDER BY kind, memory NULLS FIRST
"""


class ChangeTally(NamedTuple):
    """The number of memories, and their tokens of o200k_base before and after."""

    memories: int = 0
    tokens_before: int = 0
    tokens_after: int = 0


def read_changes(
    rows: Any, former: Any | None, latter: Any | None, kinds: Sequence[str], *, behind: UUID | None, limit: int
) -> tuple[dict[str, ChangeTally], dict[str, list[UUID]]]:
    """Return tallies of added, changed (another version), removed and unchanged memories, and ids of the first three.

    `rows` are memories annotated with `was` and `still`, `former` and `latter` the superseded versions of either side,
    if any. Only ids of `kinds` after `behind` are listed.
    """
    columns = rows.order_by().values_list("id", "version", "tokens_o200k_base", "was", "still")
    parts = {"rows": columns.query.sql_with_params(), "former": _superseded(former), "latter": _superseded(latter)}
    statement = _COMPARED.format(**{name: sql for name, (sql, _) in parts.items()})
    values = [value for name in ("rows", "former", "latter", "rows") for value in parts[name][1]]
    tallies = dict.fromkeys((*CHANGE_KINDS, CHANGE_UNCHANGED), ChangeTally())
    listed: dict[str, list[UUID]] = {kind: [] for kind in kinds}
    for kind, memory_id, *figures in execute(statement, [*values, list(kinds), behind, behind, limit]):
        if memory_id is None:
            tallies[kind] = ChangeTally(*map(int, figures))
        else:
            listed[kind].append(memory_id)
    return tallies, listed


def _superseded(rows: Any | None) -> tuple[str, Sequence[Any]]:
    if rows is None:
        return "SELECT NULL::uuid, NULL::integer, NULL::integer WHERE FALSE", ()
    columns = rows.order_by().values_list("memory_id", "version", "tokens_o200k_base")
    return columns.query.sql_with_params()  # type: ignore[no-any-return]
