"""What changes from one context to another: anchors added, removed and kept, and their ranks."""

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from context.services.ordering import anchor_key

RANK_ADDED, RANK_REMOVED, RANK_UP, RANK_DOWN, RANK_UNCHANGED = RANK_CHANGES = "in", "out", "up", "down", "same"
RankKey = TypeVar("RankKey", bound=Hashable)


class AnchorDiff(NamedTuple):
    """The anchors of two contexts: added and kept in the order of the new one, removed in that of the old one."""

    added: list[Any]
    removed: list[Any]
    kept: list[Any]


def diff_anchors(prior: Iterable[Any], now: Iterable[Any]) -> AnchorDiff:
    """Return how the anchors `now` differ from `prior`; a repeated anchor counts once.

    An anchor is whatever identifies a block: at least id and version, so that an edited memory is both added and
    removed. Mappings and lists are allowed, such as `{"type": ..., "id": ..., "version": ...}`.
    """
    before, after = _by_key(prior), _by_key(now)
    return AnchorDiff(
        added=[anchor for key, anchor in after.items() if key not in before],
        removed=[anchor for key, anchor in before.items() if key not in after],
        kept=[anchor for key, anchor in after.items() if key in before],
    )


def _by_key(anchors: Iterable[Any]) -> dict[Hashable, Any]:
    """Return the first of equal anchors by a hashable key."""
    first: dict[Hashable, Any] = {}
    for anchor in anchors:
        first.setdefault(anchor_key(anchor), anchor)
    return first


@dataclass(frozen=True)
class RankChange(Generic[RankKey]):
    """An anchor with its rank, from 1, before and after; None if that order lacks it."""

    key: RankKey
    before: int | None
    after: int | None

    @property
    def kind(self) -> str:
        """One of `RANK_CHANGES`."""
        if self.before is None:
            return RANK_ADDED
        if self.after is None:
            return RANK_REMOVED
        return RANK_UNCHANGED if self.before == self.after else RANK_UP if self.after < self.before else RANK_DOWN

    @property
    def steps(self) -> int:
        """By how many ranks it rose or fell."""
        return 0 if self.before is None or self.after is None else abs(self.before - self.after)


def rank_changes(prior: Sequence[RankKey], now: Sequence[RankKey]) -> list[RankChange[RankKey]]:
    """Return every anchor once: those `now` in their order, then the removed ones in theirs."""
    before, after = ({key: rank for rank, key in enumerate(keys, start=1)} for keys in (prior, now))
    keys = [*after, *diff_anchors(prior, now).removed]
    return [RankChange(key, before.get(key), after.get(key)) for key in keys]


def unmoved_keys(changes: Sequence[RankChange[RankKey]]) -> list[RankKey]:
    """Return the most anchors of both orders that are in the same order in both; all others moved past some of them.

    `changes` are in the later order, as `rank_changes` returns them. Of equally many, those that end first count.
    """
    both = [change for change in changes if change.before is not None and change.after is not None]
    ends: list[int] = []  # the lowest final rank of a chain of each length
    chain_ends: list[int] = []  # the place of the change that ends it
    previous: list[int] = []
    for place, change in enumerate(both):
        length = bisect_left(ends, change.before or 0)
        previous.append(chain_ends[length - 1] if length else -1)
        ends[length : length + 1] = [change.before or 0]
        chain_ends[length : length + 1] = [place]
    kept: list[RankKey] = []
    place = chain_ends[-1] if chain_ends else -1
    while place >= 0:
        kept.append(both[place].key)
        place = previous[place]
    return kept[::-1]


def rank_overlap(changes: Sequence[RankChange[RankKey]]) -> float:
    """Return the share of all anchors that are in both orders; 1 if there are none."""
    shared = sum(change.before is not None and change.after is not None for change in changes)
    return shared / len(changes) if changes else 1.0
