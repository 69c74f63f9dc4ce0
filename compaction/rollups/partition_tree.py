"""Partitions as their page shows them: the tree with what stands in each node, sessions among it. Inside a scope."""

from collections.abc import Collection, Sequence
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

#: A tree of so many partitions is shown with every node open.
OPEN_MAX = 40
_FIGURES = {"sessions": "sum", "open_sessions": "sum"}


@dataclass(frozen=True)
class PartitionFacts:
    """What stands in a partition: memories, summaries, sessions."""

    standing: PartitionContents
    sessions: SubtreeSums


@dataclass(frozen=True)
class PartitionTree:
    """The nodes to show below `top`, what is known of `top` itself, and how many partitions there are in all.

    `opened` is what is known of the partition that was opened, None where none was looked for.
    """

    top: PartitionFacts
    nodes: Sequence[PartitionNode[PartitionFacts]]
    total: int
    rest_after: str = ""
    opened: PartitionFacts | None = None


def read_partition_tree(tenant_id: UUID, place: PartitionPath, *, after: str, now: datetime) -> PartitionTree:
    """The tenant's tree with `place` opened. Six queries, whatever the number of partitions."""
    listing = list_partition_tree(tenant_id, place, after=after)
    open_paths = {step.path for step in (*place.ancestors(), place)}
    facts = _facts(tenant_id, {"", place.path, *_paths(listing.branches)}, within="", now=now)
    is_small = listing.is_whole and listing.total <= OPEN_MAX
    below = count_descendants(tenant_id, facts, within="")
    nodes = build_partition_nodes(listing.branches, facts, below, top="", open_paths=None if is_small else open_paths)
    first_level = [branch for branch in listing.branches if path_depth(branch.path) == 1]
    return PartitionTree(
        facts[""], nodes, listing.total, rest_after=truncated_siblings(first_level), opened=facts[place.path]
    )


def read_partition_branch(tenant_id: UUID, place: PartitionPath, *, after: str, now: datetime) -> PartitionTree:
    """One page of what stands right below `place`. Five queries."""
    branches = list_child_partitions(tenant_id, place, after=after)
    facts = _facts(tenant_id, {place.path, *_paths(branches)}, within=place.path, now=now)
    below = count_descendants(tenant_id, facts, within=place.path)
    nodes = build_partition_nodes(branches, facts, below, top=place.path, open_paths=())
    return PartitionTree(facts[place.path], nodes, len(branches), rest_after=truncated_siblings(branches))


def find_partitions(tenant_id: UUID, text: str, *, after: str, now: datetime) -> PartitionTree:
    """One page of the partitions whose path holds `text`, one below the other. Four queries."""
    branches = search_partition_list(tenant_id, text, after=after)
    facts = _facts(tenant_id, {"", *_paths(branches)}, within="", now=now)
    nodes = [
        PartitionNode(branch.path, branch.path, 1, 0, facts[branch.path], (), is_open=False) for branch in branches
    ]
    return PartitionTree(facts[""], nodes, len(branches), rest_after=truncated_siblings(branches))


def read_partition_facts(tenant_id: UUID, path: str, *, now: datetime) -> PartitionFacts:
    """What stands in one partition. Three queries."""
    return _facts(tenant_id, {path}, within=path, now=now)[path]


def _facts(tenant_id: UUID, paths: Collection[str], *, within: str, now: datetime) -> dict[str, PartitionFacts]:
    known = partition_contents(tenant_id, paths, within=within, now=now)
    rows = Session.objects.for_tenant(tenant_id).within(within).counted_by_partition()
    sessions = subtree_sums(rows, paths, _FIGURES)
    return {path: PartitionFacts(known[path], sessions[path]) for path in paths}


def _paths(branches: Sequence[PartitionBranch]) -> list[str]:
    return [branch.path for branch in branches]
