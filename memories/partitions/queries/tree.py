"""Sums over the tree of partitions: what stands in each node itself, and in it with all below."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from memories.services.partitions.paths import subtree_bounds

# The bounds of the wanted nodes cut the order of paths into stretches, which are numbered from 1 on.
_BY_STRETCH = """
SELECT width_bucket(path COLLATE "C", %s::text[]) AS stretch, {sums}
FROM ({rows}) AS grouped (path, {names}) GROUP BY stretch
"""
#: Behind a path this is the first text after it: no other path lies between, for they hold no control characters.
_NEXT = "\x01"


@dataclass(frozen=True)
class SubtreeSums:
    """The figures of one partition by name: of itself, and of it with all below."""

    own: Mapping[str, Any]
    total: Mapping[str, Any]


def subtree_sums(grouped: Any, nodes: Collection[str], merges: Mapping[str, str]) -> dict[str, SubtreeSums]:
    """The figures of each of these partitions; `merges` says how each is put together: sum or max.

    `grouped` are rows of (partition path, the figures in the order of `merges`). One query, which puts every row into
    its stretch once, however deep the nodes lie.
    """
    bounds = sorted({bound for node in nodes for bound in (node, node + _NEXT, *subtree_bounds(node))})
    number_from = {bound: number for number, bound in enumerate(bounds, start=1)}
    by_stretch = _by_stretch(grouped, bounds, merges)

    def figures(numbers: Iterable[int]) -> dict[str, Any]:
        return _merged([by_stretch[number] for number in numbers if number in by_stretch], merges)

    def sums(node: str) -> SubtreeSums:
        own = number_from[node]
        low, high = (number_from[bound] for bound in subtree_bounds(node))
        return SubtreeSums(figures([own]), figures({own, *range(low, high)}))

    return {node: sums(node) for node in nodes}


def _by_stretch(grouped: Any, bounds: Sequence[str], merges: Mapping[str, str]) -> dict[int, Sequence[Any]]:
    sql, values = grouped.query.sql_with_params()
    sums = ", ".join(f"{merge}({name})" for name, merge in merges.items())
    with connection.cursor() as cursor:
        cursor.execute(_BY_STRETCH.format(sums=sums, rows=sql, names=", ".join(merges)), [list(bounds), *values])
        return {stretch: figures for stretch, *figures in cursor.fetchall()}


def _merged(rows: Sequence[Sequence[Any]], merges: Mapping[str, str]) -> dict[str, Any]:
    columns = list(zip(*rows, strict=True)) or [()] * len(merges)
    return {
        name: int(sum(column)) if merge == "sum" else max(column, default=None)
        for (name, merge), column in zip(merges.items(), columns, strict=True)
    }
