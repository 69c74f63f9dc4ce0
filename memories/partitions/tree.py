"""The partition tree of a tenant for pages, with the contents of nodes. Runs inside a scope."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Value

from memories.models import Memory, Partition, PartitionSummary
from memories.partitions.queries.tree import SubtreeSums, subtree_sums
from memories.services.partitions.paths import PartitionPath
from memories.services.partitions.tree import PartitionBranch

#: Up to this many partitions are listed completely; beyond that, only the children of open ones.
WHOLE_MAX = 200
#: Partitions per page below one.
SIBLINGS_MAX = 100
_FIGURES = {"memories": "sum", "tokens": "sum", "pinned": "sum", "last_at": "max", "changed_at": "max"}


@dataclass(frozen=True)
class PartitionListing:
    """Listed partitions, of `total` without the root; `is_whole` if these are all."""

    branches: Sequence[PartitionBranch]
    total: int
    is_whole: bool


@dataclass(frozen=True)
class SummaryState:
    """The active summary of a partition in one style; `is_behind` if one of its memories changed since."""

    style: str
    version: int
    tokens: int
    since: datetime
    origin: str
    is_behind: bool


@dataclass(frozen=True)
class PartitionContents:
    """The contents of a partition: figures of live memories, and its active summaries."""

    memories: SubtreeSums
    summaries: Sequence[SummaryState]


def list_partition_tree(tenant_id: UUID, place: PartitionPath, *, after: str = "") -> PartitionListing:
    """Return all partitions, or the levels that lead to `place`. Two queries."""
    rows = Partition.objects.for_tenant(tenant_id).without_root()
    total = rows.row_count()
    if total <= WHOLE_MAX and not after:
        return PartitionListing([PartitionBranch(row.path) for row in rows], total, is_whole=True)
    lineage = [step.path for step in (*place.ancestors(), place)]
    return PartitionListing(_levels(rows, lineage, after), total, is_whole=False)


def list_child_partitions(tenant_id: UUID, place: PartitionPath, *, after: str = "") -> list[PartitionBranch]:
    """Return one page of the children of `place`. One query."""
    rows = Partition.objects.for_tenant(tenant_id).without_root().children_of(place.path, place.depth)
    return _cut(list(rows.after_path(after)[: SIBLINGS_MAX + 1]))


def search_partition_list(tenant_id: UUID, text: str, *, after: str = "") -> list[PartitionBranch]:
    """Return one page of the partitions whose path contains `text`. One query."""
    rows = Partition.objects.for_tenant(tenant_id).without_root().path_containing(text).after_path(after)
    return _cut(list(rows[: SIBLINGS_MAX + 1]))


def partition_contents(
    tenant_id: UUID, paths: Collection[str], *, within: str, now: datetime
) -> dict[str, PartitionContents]:
    """Return the contents of these partitions, which are all in `within`. Two queries."""
    live = Memory.objects.for_tenant(tenant_id).live(now).within(within)
    sums = subtree_sums(live.tallied_by_partition(), paths, _FIGURES)
    summaries: dict[str, list[PartitionSummary]] = {}
    for row in PartitionSummary.objects.for_tenant(tenant_id).current().in_partitions(paths).without_texts():
        summaries.setdefault(row.partition.path, []).append(row)
    return {path: _contents(sums[path], summaries.get(path, ())) for path in paths}


def count_descendants(tenant_id: UUID, paths: Collection[str], *, within: str) -> dict[str, int]:
    """Return the number of descendants of these partitions, which are all in `within`. One query."""
    rows = Partition.objects.for_tenant(tenant_id).within(within).order_by().values_list("path", Value(1))
    sums = subtree_sums(rows, paths, {"partitions": "sum"})
    return {path: each.total["partitions"] - each.own["partitions"] for path, each in sums.items()}


def _contents(sums: SubtreeSums, summaries: Sequence[PartitionSummary]) -> PartitionContents:
    changed_at = sums.own["changed_at"]
    states = []
    for row in summaries:
        is_behind = changed_at is not None and changed_at > row.recorded_from
        state = SummaryState(row.style, row.version, row.tokens_o200k_base, row.recorded_from, row.origin, is_behind)
        states.append(state)
    return PartitionContents(sums, states)


def _levels(rows: Any, lineage: Sequence[str], after: str) -> list[PartitionBranch]:
    found = rows.branches(lineage, after=after, count=SIBLINGS_MAX + 1)
    branches: list[PartitionBranch] = []
    for depth in range(1, len(lineage) + 1):
        siblings = [row for row in found if row.depth == depth]
        led_to = [row for row in siblings[SIBLINGS_MAX:] if row.path in lineage]
        branches += _cut(siblings) + [PartitionBranch(row.path) for row in led_to]
    return branches


def _cut(rows: Sequence[Partition]) -> list[PartitionBranch]:
    is_cut = len(rows) > SIBLINGS_MAX
    listed = rows[:SIBLINGS_MAX]
    return [PartitionBranch(row.path, is_cut=is_cut and row is listed[-1]) for row in listed]
