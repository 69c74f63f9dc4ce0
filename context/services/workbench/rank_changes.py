"""Two orders of the same kind of things: what came in, went out, rose and fell."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

IN, RANK_REMOVED, UP, DOWN, RANK_UNCHANGED = "in", "out", "up", "down", "same"
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class RankChange(Generic[K]):
    """One thing with its places, from 1; None where that order does not hold it."""

    key: K
    left: int | None
    right: int | None

    @property
    def kind(self) -> str:
        """What became of it, seen from the left."""
        if self.left is None:
            return IN
        if self.right is None:
            return RANK_REMOVED
        return RANK_UNCHANGED if self.left == self.right else UP if self.right < self.left else DOWN

    @property
    def steps(self) -> int:
        """By how many places it rose or fell."""
        return 0 if self.left is None or self.right is None else abs(self.left - self.right)


def rank_changes(left: Sequence[K], right: Sequence[K]) -> list[RankChange[K]]:
    """Every thing once: those of the right order in its order, then those that only the left one holds."""
    lefts, rights = ({key: place for place, key in enumerate(keys, start=1)} for keys in (left, right))
    both = [RankChange(key, lefts.get(key), place) for key, place in rights.items()]
    return both + [RankChange(key, place, None) for key, place in lefts.items() if key not in rights]


def rank_overlap(changes: Sequence[RankChange[K]]) -> float:
    """The share of all things that stand in both orders; 1 where there is nothing."""
    shared = sum(change.left is not None and change.right is not None for change in changes)
    return shared / len(changes) if changes else 1.0
