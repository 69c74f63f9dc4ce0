"""Build a tree of nodes from partition paths."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, TypeVar

NodeFacts = TypeVar("NodeFacts")


@dataclass(frozen=True)
class PartitionBranch:
    """A listed partition; `is_cut` if more siblings follow that are not listed."""

    path: str
    is_cut: bool = False


@dataclass(frozen=True)
class PartitionNode(Generic[NodeFacts]):
    """A partition with its facts and listed children by path; `below` counts all descendants, listed or not.

    `rest_after` is the last child if more follow.
    """

    path: str
    name: str
    depth: int
    below: int
    facts: NodeFacts
    children: "Sequence[PartitionNode[NodeFacts]]"
    is_open: bool
    rest_after: str = ""

    @property
    def is_unread(self) -> bool:
        """Whether no partition below it is listed although there are some."""
        return bool(self.below) and not self.children


def parent_path(path: str) -> str:
    """Return the path of the parent partition."""
    return path.rpartition("/")[0]


def path_depth(path: str) -> int:
    """Return the number of segments of a canonical path."""
    return path.count("/") + 1 if path else 0


def build_partition_nodes(
    branches: Iterable[PartitionBranch],
    facts: Mapping[str, NodeFacts],
    below: Mapping[str, int],
    *,
    top: str,
    open_paths: Collection[str] | None,
) -> list[PartitionNode[NodeFacts]]:
    """Return the nodes below `top` with their listed descendants; `open_paths` None opens every node."""
    by_parent = defaultdict[str, list[PartitionBranch]](list)
    for branch in sorted(branches, key=attrgetter("path")):
        by_parent[parent_path(branch.path)].append(branch)

    def node(path: str) -> PartitionNode[NodeFacts]:
        listed = by_parent[path]
        return PartitionNode(
            path=path,
            name=path.rpartition("/")[2],
            depth=path_depth(path),
            below=below[path],
            facts=facts[path],
            children=[node(branch.path) for branch in listed],
            is_open=bool(listed) and (open_paths is None or path in open_paths),
            rest_after=truncated_siblings(listed),
        )

    return [node(branch.path) for branch in by_parent[top]]


def truncated_siblings(siblings: Iterable[PartitionBranch]) -> str:
    """Return the sibling after which more follow, "" for none."""
    return max((branch.path for branch in siblings if branch.is_cut), default="")
