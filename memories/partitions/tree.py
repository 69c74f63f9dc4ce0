"""The tree of a tenant's partitions as pages list it, and what stands in each node. Called inside a scope."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memories.models import Memory, Partition, PartitionSummary
from memories.partitions.queries.tree import SubtreeSums, subtree_sums
from memories.services.partitions.paths import PartitionPath
from memories.services.partitions.tree import PartitionBranch

#: Up to so many partitions are listed all at once, of more only those right below the opened ones.
WHOLE_MAX = 200
#: Partitions that are listed below one at a time.
SIBLINGS_MAX = 100
_FIGURES = {"memories": "sum", "tokens": "sum", "pinned": "sum", "last_at": "max", "changed_at": "max"}


@dataclass(frozen=True)
class PartitionListing:
    """Partitions to show, of `total` besides the root; `is_whole` where these are all of them."""

    branches: Sequence[PartitionBranch]
    total: int
    is_whole: bool


@dataclass(frozen=True)
class SummaryState:
    """The summary of a partition in force in one style; `is_behind` where a memory of its own changed since."""

    style: str
    version: int
    tokens: int
    since: datetime
    origin: str
    is_behind: bool


@dataclass(frozen=True)
class PartitionContents:
    """What stands in a partition: figures of live memories, and its summaries in force."""

    memories: SubtreeSums
    summaries: Sequence[SummaryState]


def list_partition_tree(tenant_id: UUID, place: PartitionPath, *, after: str = "") -> PartitionListing:
    """What the tree shows when `place` is opened: everything, or the levels that lead there. Two queries."""
    rows = Partition.objects.for_tenant(tenant_id).without_root()
    total = rows.how_many()
    if total <= WHOLE_MAX and not after:
        return PartitionListing([PartitionBranch(row.path) for row in rows], total, is_whole=True)
    lineage = [step.path for step in (*place.ancestors(), place)]
    return PartitionListing(_levels(rows, lineage, after), total, is_whole=False)


def list_child_partitions(tenant_id: UUID, place: PartitionPath, *, after: str = "") -> list[PartitionBranch]:
    """One page of the partitions right below `place`. One query."""
    rows = Partition.objects.for_tenant(tenant_id).without_root().within(place.path)
    return _cut(list(rows.right_below(place.depth, after=after, count=SIBLINGS_MAX + 1)), SIBLINGS_MAX)


def search_partition_list(tenant_id: UUID, text: str, *, after: str = "") -> list[PartitionBranch]:
    """One page of the partitions whose path holds `text`. One query."""
    rows = Partition.objects.for_tenant(tenant_id).without_root().holding(text).behind_path(after)
    return _cut(list(rows[: SIBLINGS_MAX + 1]), SIBLINGS_MAX)


def partition_contents(
    tenant_id: UUID, paths: Collection[str], *, within: str, now: datetime
) -> dict[str, PartitionContents]:
    """What stands in each of these partitions, all of them in `within`. Two queries, whatever their number."""
    live = Memory.objects.for_tenant(tenant_id).live(now).within(within)
    sums = subtree_sums(live.tallied_by_partition(), paths, _FIGURES)
    summaries: dict[str, list[PartitionSummary]] = {}
    for row in PartitionSummary.objects.for_tenant(tenant_id).current().in_partitions(paths).without_texts():
        summaries.setdefault(row.partition.path, []).append(row)
    return {path: _standing(sums[path], summaries.get(path, ())) for path in paths}


def count_descendants(tenant_id: UUID, paths: Collection[str], *, within: str) -> dict[str, int]:
    """How many partitions stand anywhere below each of these, all of them in `within`. One query."""
    rows = Partition.objects.for_tenant(tenant_id).within(within).one_each()
    sums = subtree_sums(rows, paths, {"partitions": "sum"})
    return {path: each.total["partitions"] - each.own["partitions"] for path, each in sums.items()}


def _standing(sums: SubtreeSums, summaries: Sequence[PartitionSummary]) -> PartitionContents:
    changed_at = sums.own["changed_at"]
    states = [
        SummaryState(
            style=row.style,
            version=row.version,
            tokens=row.tokens_o200k_base,
            since=row.recorded_from,
            origin=row.origin,
            is_behind=changed_at is not None and changed_at > row.recorded_from,
        )
        for row in summaries
    ]
    return PartitionContents(sums, states)


def _levels(rows: Any, lineage: Sequence[str], after: str) -> list[PartitionBranch]:
    found = rows.branches(lineage, after=after, count=SIBLINGS_MAX + 1)
    branches: list[PartitionBranch] = []
    for depth in range(1, len(lineage) + 1):
        siblings = [row for row in found if row.depth == depth]
        led_to = [row for row in siblings[SIBLINGS_MAX:] if row.path in lineage]
        branches += _cut(siblings, SIBLINGS_MAX) + [PartitionBranch(row.path) for row in led_to]
    return branches


def _cut(rows: Sequence[Partition], most: int) -> list[PartitionBranch]:
    """The first of them; the last of these tells where others follow."""
    listed = [PartitionBranch(row.path) for row in rows[:most]]
    if len(rows) > most:
        listed[-1] = PartitionBranch(listed[-1].path, is_cut=True)
    return listed
