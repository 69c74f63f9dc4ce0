"""Sums over the partition tree: of any figures, and the folded counts of memories plus pending changes (ADR-0077)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memories.services.partitions.paths import subtree_bounds
from memories.tenancy.queries.insertions import execute
from memories.tenancy.queries.methods import rows_where
from memories.tenancy.queries.rows import TenantRows

# The bounds of the nodes divide the order of paths into ranges, numbered from 1.
_BY_RANGE = """
SELECT width_bucket(path COLLATE "C", %s::text[]) AS range_number, {sums}
FROM ({rows}) AS grouped (path, {names}) GROUP BY range_number
"""
#: A path with this suffix is the next possible text, because paths contain no control characters.
_NEXT = "\x01"


@dataclass(frozen=True)
class SubtreeSums:
    """The figures of one partition by name: alone, and with its descendants."""

    own: Mapping[str, Any]
    total: Mapping[str, Any]


def subtree_sums(grouped: Any, nodes: Collection[str], merges: Mapping[str, str]) -> dict[str, SubtreeSums]:
    """Return the figures of partitions from rows of (path, figures as in `merges`: name to sum or max). One query."""
    bounds = sorted({bound for node in nodes for bound in (node, node + _NEXT, *subtree_bounds(node))})
    number_from = {bound: number for number, bound in enumerate(bounds, start=1)}
    sql, values = grouped.query.sql_with_params()
    sums = ", ".join(f"{merge}({name})" for name, merge in merges.items())
    statement = _BY_RANGE.format(sums=sums, rows=sql, names=", ".join(merges))
    by_range = {number: figures for number, *figures in execute(statement, [bounds, *values])}

    def merged(numbers: Iterable[int]) -> dict[str, Any]:
        rows = [dict(zip(merges, by_range[number], strict=True)) for number in numbers if number in by_range]
        sums = {name: int(sum(row[name] for row in rows)) for name, merge in merges.items() if merge == "sum"}
        latest = {name: max((row[name] for row in rows), default=None) for name in merges if name not in sums}
        return sums | latest

    found = {}
    for node in nodes:
        low, high = (number_from[bound] for bound in subtree_bounds(node))
        found[node] = SubtreeSums(merged([number_from[node]]), merged({number_from[node], *range(low, high)}))
    return found


# One statement, so that changes are counted and deleted together or not at all. The order of paths avoids deadlocks.
_FOLD = """
WITH taken AS (
    DELETE FROM memories_partitioncountchange
    WHERE id IN (
        SELECT id FROM memories_partitioncountchange WHERE tenant_id = %(tenant)s ORDER BY id LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED
    )
    RETURNING path, rows
), total AS (
    SELECT path, sum(rows) AS rows FROM taken GROUP BY path
), lineage AS (
    SELECT array_to_string((string_to_array(path, '/'))[:depth], '/') AS path, rows,
        depth = cardinality(string_to_array(path, '/')) AS is_own
    FROM total, generate_series(0, cardinality(string_to_array(path, '/'))) AS depth
), folded AS (
    INSERT INTO memories_partitioncount AS old (tenant_id, path, own_rows, subtree_rows)
    SELECT %(tenant)s, path, coalesce(sum(rows) FILTER (WHERE is_own), 0), sum(rows)
    FROM lineage GROUP BY path ORDER BY path
    ON CONFLICT (tenant_id, path) DO UPDATE
    SET own_rows = old.own_rows + excluded.own_rows, subtree_rows = old.subtree_rows + excluded.subtree_rows
)
SELECT count(*) FROM taken
"""


class PartitionCountQuerySet(TenantRows):
    #: Rows whose counts are zero.
    empty = rows_where(own_rows=0, subtree_rows=0)


class PartitionCountChangeQuerySet(TenantRows):
    def fold(self, tenant_id: UUID, limit: int) -> int:
        """Fold the oldest changes of a tenant into its counts; return how many. Runs in a scope."""
        return int(execute(_FOLD, {"tenant": tenant_id, "limit": limit})[0][0])
