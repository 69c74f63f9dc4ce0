"""Sums over the partition tree: of each node alone, and with its descendants."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memories.services.partitions.paths import subtree_bounds
from memories.tenancy.queries.insertions import execute

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
    """Return the figures of each of these partitions; `merges` maps a figure to sum or max.

    `grouped` are rows of (partition path, figures in the order of `merges`). One query, which assigns each row to one
    range.
    """
    bounds = sorted({bound for node in nodes for bound in (node, node + _NEXT, *subtree_bounds(node))})
    number_from = {bound: number for number, bound in enumerate(bounds, start=1)}
    by_range = _by_range(grouped, bounds, merges)

    def figures(numbers: Iterable[int]) -> dict[str, Any]:
        return _merged([by_range[number] for number in numbers if number in by_range], merges)

    def sums(node: str) -> SubtreeSums:
        own = number_from[node]
        low, high = (number_from[bound] for bound in subtree_bounds(node))
        return SubtreeSums(figures([own]), figures({own, *range(low, high)}))

    return {node: sums(node) for node in nodes}


def _by_range(grouped: Any, bounds: Sequence[str], merges: Mapping[str, str]) -> dict[int, Sequence[Any]]:
    sql, values = grouped.query.sql_with_params()
    sums = ", ".join(f"{merge}({name})" for name, merge in merges.items())
    statement = _BY_RANGE.format(sums=sums, rows=sql, names=", ".join(merges))
    return {number: figures for number, *figures in execute(statement, [list(bounds), *values])}


def _merged(rows: Sequence[Sequence[Any]], merges: Mapping[str, str]) -> dict[str, Any]:
    columns = list(zip(*rows, strict=True)) or [()] * len(merges)
    return {
        name: int(sum(column)) if merge == "sum" else max(column, default=None)
        for (name, merge), column in zip(merges.items(), columns, strict=True)
    }
