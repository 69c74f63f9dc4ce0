"""Partitions as a tree: nodes within nodes, made of a list of paths."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

NodeFacts = TypeVar("NodeFacts")


@dataclass(frozen=True)
class PartitionBranch:
    """A partition as it is listed, and whether its siblings go on behind it unlisted."""

    path: str
    is_cut: bool = False


@dataclass(frozen=True)
class PartitionNode(Generic[NodeFacts]):
    """One partition with what is known of it and those listed below it, in the order of paths.

    `rest_after` is the last of them where more follow. Where nothing is listed although `below` is not 0, it can be
    asked for.
    """

    path: str
    name: str
    depth: int
    below: int
    facts: NodeFacts
    children: Sequence[PartitionNode[NodeFacts]]
    is_open: bool
    rest_after: str = ""

    @property
    def is_unread(self) -> bool:
        """Whether there are partitions below it of which none is listed."""
        return bool(self.below) and not self.children


def parent_path(path: str) -> str:
    """The partition above; that of the first level is the root."""
    return path.rpartition("/")[0]


def path_depth(path: str) -> int:
    """How many segments a canonical path has."""
    return path.count("/") + 1 if path else 0


def build_partition_nodes(
    branches: Iterable[PartitionBranch],
    facts: Mapping[str, NodeFacts],
    below: Mapping[str, int],
    *,
    top: str,
    open_paths: Collection[str] | None,
) -> list[PartitionNode[NodeFacts]]:
    """The nodes right below `top` with all listed ones within them; of `open_paths` None opens every node.

    `below` says how many partitions stand anywhere below each.
    """
    by_parent: dict[str, list[PartitionBranch]] = {}
    for branch in branches:
        by_parent.setdefault(parent_path(branch.path), []).append(branch)

    def nodes(path: str) -> list[PartitionNode[NodeFacts]]:
        return [node(branch) for branch in sorted(by_parent.get(path, []), key=lambda branch: branch.path)]

    def node(branch: PartitionBranch) -> PartitionNode[NodeFacts]:
        listed = by_parent.get(branch.path, [])
        return PartitionNode(
            path=branch.path,
            name=branch.path.rpartition("/")[2],
            depth=path_depth(branch.path),
            below=below[branch.path],
            facts=facts[branch.path],
            children=nodes(branch.path),
            is_open=bool(listed) and (open_paths is None or branch.path in open_paths),
            rest_after=truncated_siblings(listed),
        )

    return nodes(top)


def truncated_siblings(siblings: Iterable[PartitionBranch]) -> str:
    """Behind which of the siblings more follow; "" where they are all."""
    return max((branch.path for branch in siblings if branch.is_cut), default="")
