"""Two ways to store the partial solutions of one list of the core search: a row each, or a cell for each weight."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from context.services.packer.relaxation import Floats, Integers, ItemFlags

#: Profits below this sum fit 32 bits, sentinels included.
SMALL_PROFITS = 1 << 30
#: The number of cells that take as much time as one state in a `SparseStates` list.
CELLS_PER_NODE = 16


class Flip(NamedTuple):
    """The opposite choice for some equal items: its cost, and what it adds to weight and profit."""

    cost: float
    weight: int
    profit: int
    items: list[int]


class FlipStates(NamedTuple):
    """What states add to weight and profit; `sources` identify their flips."""

    weights: Integers
    profits: Integers
    sources: Integers


class SparseStates:
    """What flips can add, one row a state, none more expensive than `gap`."""

    def __init__(self, gap: float, exclusive: list[Flip]) -> None:
        """Start with no flip and each of `exclusive`, of which no two are affordable together."""
        self._gap = gap
        self._exclusive = exclusive
        self._weights: Integers = np.array([0, *(flip.weight for flip in exclusive)], np.int64)
        self._profits: Integers = np.array([0, *(flip.profit for flip in exclusive)], np.int64)
        self._costs: Floats = np.array([0.0, *(flip.cost for flip in exclusive)])
        # flip or None for a pruning, states before it, which of them it took on
        self._steps: list[tuple[Flip | None, int, Integers]] = []

    def __len__(self) -> int:
        return len(self._weights)

    def add(self, flip: Flip) -> int:
        """Add every state with `flip`; return how many there are."""
        able = np.flatnonzero(self._costs <= self._gap - flip.cost)
        self._steps.append((flip, len(self), able))
        self._weights = np.concatenate((self._weights, self._weights[able] + flip.weight))
        self._profits = np.concatenate((self._profits, self._profits[able] + flip.profit))
        self._costs = np.concatenate((self._costs, self._costs[able] + flip.cost))
        return len(self)

    def prune(self) -> None:
        """Drop states if another weighs no more and is worth no less; of equal ones, keep the cheapest."""
        order = np.lexsort((self._costs, -self._profits, self._weights))
        keep = order[_rises(self._profits[order])]
        self._steps.append((None, len(self), keep))
        self._weights, self._profits, self._costs = self._weights[keep], self._profits[keep], self._costs[keep]

    def within(self, low: int, high: int) -> FlipStates:
        """Return the states that weigh from `low` to `high`, by rising profit."""
        inside = np.flatnonzero((self._weights >= low) & (self._weights <= high))
        inside = inside[np.argsort(self._profits[inside], kind="stable")]
        return FlipStates(self._weights[inside], self._profits[inside], inside)

    def frontier(self) -> FlipStates:
        """Return the states that no other dominates, by rising weight and profit."""
        order = np.lexsort((-self._profits, self._weights))
        keep = order[_rises(self._profits[order])]
        return FlipStates(self._weights[keep], self._profits[keep], keep)

    def flipped(self, source: int) -> list[int]:
        """Return the items whose flips lead to a state."""
        items: list[int] = []
        for flip, before, took in reversed(self._steps):
            if flip is None:
                source = int(took[source])
            elif source >= before:
                items += flip.items
                source = int(took[source - before])
        return items + self._exclusive[source - 1].items if source else items


class DenseStates:
    """What flips can add: the highest profit in one cell for each weight from `low` to `high`."""

    def __init__(self, sparse: SparseStates, low: int, high: int, *, are_profits_small: bool) -> None:
        weights, profits, sources = sparse.within(low, high)
        self._sparse = sparse
        self._low = low
        self._nothing = -SMALL_PROFITS if are_profits_small else -(1 << 62)
        kind: npt.DTypeLike = np.int32 if are_profits_small else np.int64
        self._cells = np.empty(high - low + 1, kind)
        self._spare = np.empty_like(self._cells)
        self._start, self._stop = int(weights.min()) - low, int(weights.max()) - low + 1
        self._cells[self._start : self._stop] = self._nothing
        self._cells[weights - low] = profits
        self._origins = dict(zip((weights - low).tolist(), sources.tolist(), strict=True))
        # flip, first cell and number of cells it was tried on, one bit each: whether it was better there
        self._steps: list[tuple[Flip, int, int, npt.NDArray[np.uint8]]] = []

    def __len__(self) -> int:
        return self._stop - self._start

    def add(self, flip: Flip) -> int:
        """Add every state with `flip`; return the nodes that cost."""
        start = max(0, self._start + flip.weight)
        stop = min(len(self._cells), self._stop + flip.weight)
        if start >= stop:
            return 0
        shifted = self._cells[start - flip.weight : stop - flip.weight]
        offered = np.add(shifted, flip.profit, out=self._spare[start:stop])
        self._open(start, stop)
        cells = self._cells[start:stop]
        self._steps.append((flip, start, stop - start, np.packbits(offered > cells)))
        np.maximum(cells, offered, out=cells)
        return (stop - start) // CELLS_PER_NODE + 1

    def frontier(self) -> FlipStates:
        """Return the states that no other dominates, by rising weight and profit."""
        profits = self._cells[self._start : self._stop]
        keep = np.flatnonzero(_rises(profits))
        cells = keep + self._start
        return FlipStates(cells + self._low, profits[keep].astype(np.int64), cells)

    def flipped(self, source: int) -> list[int]:
        """Return the items whose flips lead to a state."""
        items: list[int] = []
        for flip, start, size, took in reversed(self._steps):
            place = source - start
            if 0 <= place < size and took[place >> 3] >> (7 - place % 8) & 1:
                items += flip.items
                source -= flip.weight
        return items + self._sparse.flipped(self._origins[source])

    def _open(self, start: int, stop: int) -> None:
        if start < self._start:
            self._cells[start : self._start] = self._nothing
            self._start = start
        if stop > self._stop:
            self._cells[self._stop : stop] = self._nothing
            self._stop = stop


def _rises(profits: npt.NDArray[np.signedinteger[Any]]) -> ItemFlags:
    """Return flags of the profits that exceed all profits before them."""
    highest = np.maximum.accumulate(profits)
    rises = np.ones(len(profits), np.bool_)
    np.greater(highest[1:], highest[:-1], out=rises[1:])
    return rises
