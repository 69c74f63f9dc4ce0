"""The partition tree with the contents of each node, sessions included. Called inside a scope."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from compaction.models import Session
from memories.partitions.queries.tree import SubtreeSums, subtree_sums
from memories.partitions.tree import (
    PartitionContents,
    count_descendants,
    list_child_partitions,
    list_partition_tree,
    partition_contents,
    search_partition_list,
)
from memories.services.partitions.paths import PartitionPath
from memories.services.partitions.tree import (
    PartitionBranch,
    PartitionNode,
    build_partition_nodes,
    path_depth,
    truncated_siblings,
)

#: Up to so many partitions, every node of the tree is open.
OPEN_MAX = 40


@dataclass(frozen=True)
class PartitionFacts:
    """The contents of a partition: memories, summaries, sessions."""

    standing: PartitionContents
    sessions: SubtreeSums


@dataclass(frozen=True)
class PartitionTree:
    """The nodes below `top`, the facts of `top`, and the total number of partitions.

    `opened` has the facts of the opened partition, None without one.
    """

    top: PartitionFacts
    nodes: Sequence[PartitionNode[PartitionFacts]]
    total: int
    rest_after: str = ""
    opened: PartitionFacts | None = None


def read_partition_tree(tenant_id: UUID, place: PartitionPath, *, after: str, now: datetime) -> PartitionTree:
    """Return the tenant's tree with `place` opened. Six queries for any number of partitions."""
    listing = list_partition_tree(tenant_id, place, after=after)
    facts = _facts(tenant_id, listing.branches, "", place.path, within="", now=now)
    is_small = listing.is_whole and listing.total <= OPEN_MAX
    open_paths = None if is_small else {step.path for step in (*place.ancestors(), place)}
    below = count_descendants(tenant_id, facts, within="")
    nodes = build_partition_nodes(listing.branches, facts, below, top="", open_paths=open_paths)
    rest_after = truncated_siblings(branch for branch in listing.branches if path_depth(branch.path) == 1)
    return PartitionTree(facts[""], nodes, listing.total, rest_after, opened=facts[place.path])


def read_partition_branch(tenant_id: UUID, place: PartitionPath, *, after: str, now: datetime) -> PartitionTree:
    """Return one page of the children of `place`. Five queries."""
    branches = list_child_partitions(tenant_id, place, after=after)
    facts = _facts(tenant_id, branches, place.path, within=place.path, now=now)
    below = count_descendants(tenant_id, facts, within=place.path)
    nodes = build_partition_nodes(branches, facts, below, top=place.path, open_paths=())
    return PartitionTree(facts[place.path], nodes, len(branches), truncated_siblings(branches))


def find_partitions(tenant_id: UUID, text: str, *, after: str, now: datetime) -> PartitionTree:
    """Return one page of the partitions whose path contains `text`, as a flat list. Four queries."""
    branches = search_partition_list(tenant_id, text, after=after)
    facts = _facts(tenant_id, branches, "", within="", now=now)
    nodes = [PartitionNode(one.path, one.path, 1, 0, facts[one.path], (), is_open=False) for one in branches]
    return PartitionTree(facts[""], nodes, len(branches), truncated_siblings(branches))


def read_partition_facts(tenant_id: UUID, path: str, *, now: datetime) -> PartitionFacts:
    """Return the contents of one partition. Three queries."""
    return _facts(tenant_id, (), path, within=path, now=now)[path]


def _facts(
    tenant_id: UUID, branches: Sequence[PartitionBranch], *others: str, within: str, now: datetime
) -> dict[str, PartitionFacts]:
    paths = {*others, *(branch.path for branch in branches)}
    known = partition_contents(tenant_id, paths, within=within, now=now)
    rows = Session.objects.for_tenant(tenant_id).within(within).counted_by_partition()
    sessions = subtree_sums(rows, paths, {"sessions": "sum", "open_sessions": "sum"})
    return {path: PartitionFacts(known[path], sessions[path]) for path in paths}
