"""Boosted trees that were learned with scikit-learn, decided with numpy alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Rows that are decided together: their nodes stay in the processor's cache.
ROWS_AT_ONCE = 256
#: Probabilities count as at least so far from 0 and 1.
SHARE_MIN = 1e-4


@dataclass(frozen=True)
class Forest:
    """Boosted regression trees, all nodes one after the other: a leaf leads to itself.

    `decide` returns the probability of each row. Learned with scikit-learn's `HistGradientBoostingClassifier`.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float32]
    roots: NDArray[np.int64]
    depth: int
    base: float

    def decide(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the probability of each row of features."""
        parts = [self._decide(rows[start : start + ROWS_AT_ONCE]) for start in range(0, len(rows), ROWS_AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _decide(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        nodes = np.tile(self.roots, (len(rows), 1))
        numbers = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            is_left = rows[numbers, self.feature[nodes]] <= self.threshold[nodes]
            nodes = np.where(is_left, self.left[nodes], self.right[nodes])
        sums: NDArray[np.float64] = self.value[nodes].sum(axis=1, dtype=np.float64) + self.base
        return 1.0 / (1.0 + np.exp(-sums))

    @classmethod
    def of(cls, stored: Mapping[str, NDArray[np.float32]], name: str) -> "Forest":
        """Return the forest of that name from the arrays of a file."""
        return cls(
            feature=stored[f"{name}.feature"].astype(np.int64),
            threshold=stored[f"{name}.threshold"],
            left=stored[f"{name}.left"].astype(np.int64),
            right=stored[f"{name}.right"].astype(np.int64),
            value=stored[f"{name}.value"],
            roots=stored[f"{name}.roots"].astype(np.int64),
            depth=int(stored[f"{name}.depth"]),
            base=float(stored[f"{name}.base"]),
        )


def log_odds(shares: ArrayLike) -> NDArray[np.float64]:
    """Return the logarithms of the odds of probabilities, at most that of .9999."""
    bounded = np.clip(np.asarray(shares, np.float64), SHARE_MIN, 1 - SHARE_MIN)
    odds: NDArray[np.float64] = np.log(bounded / (1.0 - bounded))
    return odds
