"""Partitions as their page shows them: the tree with what stands in each node, sessions among it. Inside a scope."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from compaction.models import Session
from memories.partitions.queries.tree import Sums, sums_by_node
from memories.partitions.tree import Standing, counts_below, list_below, list_found, list_tree, standings
from memories.services.partitions.paths import PartitionPath
from memories.services.partitions.tree import Branch, Node, cut_after, depth_of, grown

#: A tree of so many partitions is shown with every node open.
OPEN_MAX = 40
FIGURES = {"sessions": "sum", "open_sessions": "sum"}


@dataclass(frozen=True)
class Facts:
    """What stands in a partition: memories, summaries, sessions."""

    standing: Standing
    sessions: Sums


@dataclass(frozen=True)
class Tree:
    """The nodes to show below `top`, what is known of `top` itself, and how many partitions there are in all.

    `opened` is what is known of the partition that was opened, None where none was looked for.
    """

    top: Facts
    nodes: Sequence[Node[Facts]]
    total: int
    rest_after: str = ""
    opened: Facts | None = None


def read_tree(tenant_id: UUID, place: PartitionPath, *, after: str, now: datetime) -> Tree:
    """The tenant's tree with `place` opened. Six queries, whatever the number of partitions."""
    listing = list_tree(tenant_id, place, after=after)
    open_paths = {step.path for step in (*place.ancestors(), place)}
    facts = _facts(tenant_id, {"", place.path, *_paths(listing.branches)}, within="", now=now)
    is_small = listing.is_whole and listing.total <= OPEN_MAX
    below = counts_below(tenant_id, facts, within="")
    nodes = grown(listing.branches, facts, below, top="", open_paths=None if is_small else open_paths)
    first_level = [branch for branch in listing.branches if depth_of(branch.path) == 1]
    return Tree(facts[""], nodes, listing.total, rest_after=cut_after(first_level), opened=facts[place.path])


def read_branch(tenant_id: UUID, place: PartitionPath, *, after: str, now: datetime) -> Tree:
    """One page of what stands right below `place`. Five queries."""
    branches = list_below(tenant_id, place, after=after)
    facts = _facts(tenant_id, {place.path, *_paths(branches)}, within=place.path, now=now)
    below = counts_below(tenant_id, facts, within=place.path)
    nodes = grown(branches, facts, below, top=place.path, open_paths=())
    return Tree(facts[place.path], nodes, len(branches), rest_after=cut_after(branches))


def find_partitions(tenant_id: UUID, text: str, *, after: str, now: datetime) -> Tree:
    """One page of the partitions whose path holds `text`, one below the other. Four queries."""
    branches = list_found(tenant_id, text, after=after)
    facts = _facts(tenant_id, {"", *_paths(branches)}, within="", now=now)
    nodes = [Node(branch.path, branch.path, 1, 0, facts[branch.path], (), is_open=False) for branch in branches]
    return Tree(facts[""], nodes, len(branches), rest_after=cut_after(branches))


def read_facts(tenant_id: UUID, path: str, *, now: datetime) -> Facts:
    """What stands in one partition. Three queries."""
    return _facts(tenant_id, {path}, within=path, now=now)[path]


def _facts(tenant_id: UUID, paths: Collection[str], *, within: str, now: datetime) -> dict[str, Facts]:
    known = standings(tenant_id, paths, within=within, now=now)
    rows = Session.objects.for_tenant(tenant_id).within(within).counted_by_partition()
    sessions = sums_by_node(rows, paths, FIGURES)
    return {path: Facts(known[path], sessions[path]) for path in paths}


def _paths(branches: Sequence[Branch]) -> list[str]:
    return [branch.path for branch in branches]
