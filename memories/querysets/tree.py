"""Sums over the tree of partitions: what stands in each node itself, and in it with all below."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from memories.services.partitions import subtree_bounds
from memories.services.tree import depth_of

# What is grouped by partition is added to every node above it, as far down as wanted nodes stand, then only these are
# kept: one statement, whatever their number.
_SUMMED = """
WITH own (path, {names}) AS ({own}), cut AS (
    SELECT string_to_array(path, '/') AS parts, own.* FROM own
), lineage AS (
    SELECT CASE depth WHEN 0 THEN '' ELSE array_to_string(parts[:depth], '/') END AS node,
        depth = cardinality(parts) AS is_own, cut.*
    FROM cut, generate_series(0, least(cardinality(parts), %s)) AS depth
)
SELECT node, {sums} FROM lineage WHERE node = ANY (%s) GROUP BY node
"""
# A stretch of the index of paths for each wanted node.
_BELOW = """
SELECT node, count(below.path)
FROM unnest(%s::text[], %s::text[], %s::text[]) AS wanted (node, low, high)
LEFT JOIN memories_partition AS below
ON below.tenant_id = %s AND below.path >= wanted.low COLLATE "C" AND below.path < wanted.high COLLATE "C"
AND below.path <> wanted.node GROUP BY node
"""


@dataclass(frozen=True)
class Sums:
    """The figures of one partition by name: of itself, and of it with all below."""

    own: Mapping[str, Any]
    total: Mapping[str, Any]


def sums_by_node(grouped: Any, nodes: Collection[str], merges: Mapping[str, str]) -> dict[str, Sums]:
    """The figures of each of these partitions that has any; `merges` says how each is put together: sum or max.

    `grouped` are rows of (partition path, the figures in the order of `merges`).
    """
    sql, values = grouped.query.sql_with_params()
    own = [f"{merge}({name}) FILTER (WHERE is_own)" for name, merge in merges.items()]
    total = [f"{merge}({name})" for name, merge in merges.items()]
    statement = _SUMMED.format(names=", ".join(merges), own=sql, sums=", ".join([*own, *total]))
    with connection.cursor() as cursor:
        cursor.execute(statement, [*values, max(map(depth_of, nodes), default=0), list(nodes)])
        rows = cursor.fetchall()
    return {
        node: Sums(_figures(merges, figures[: len(merges)]), _figures(merges, figures[len(merges) :]))
        for node, *figures in rows
    }


def counts_below(tenant_id: UUID, paths: Collection[str]) -> dict[str, int]:
    """How many partitions stand anywhere below each of these. One query."""
    nodes = list(paths)
    bounds = [subtree_bounds(path) for path in nodes]
    with connection.cursor() as cursor:
        cursor.execute(_BELOW, [nodes, [low for low, _ in bounds], [high for _, high in bounds], tenant_id])
        return dict(cursor.fetchall())


def nothing(merges: Mapping[str, str]) -> Sums:
    """The figures of a partition that has none."""
    none = _figures(merges, [None] * len(merges))
    return Sums(none, none)


def _figures(merges: Mapping[str, str], values: Collection[Any]) -> dict[str, Any]:
    figures = zip(merges.items(), values, strict=True)
    return {name: int(value or 0) if merge == "sum" else value for (name, merge), value in figures}
