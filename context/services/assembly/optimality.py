"""The quality of a selection by the sum of its scores, with a sentence for people."""

from dataclasses import dataclass

#: A gap that would be written as 0.0 %, and one that deserves a warning.
GAP_SHOWN_PERCENT, GAP_WARNED_PERCENT = 0.05, 2.0


@dataclass(frozen=True)
class Optimality:
    """The total score of a selection and the highest score of any selection of whole memories.

    `best` is None if the search ended before the proof; in any case, no selection scores more than `bound`.
    `is_limited` if the section's own budget excluded something: the best selection is then the best within that budget.
    """

    total: float
    best: float | None
    bound: float
    is_calibrated: bool = False
    is_limited: bool = False

    @property
    def gap_percent(self) -> float:
        """The maximum possible gain in percent; 0 if shortened texts score more than whole ones could."""
        return max(100 * (self.bound - self.total) / self.total, 0.0) if self.total > 0 else 0.0

    @property
    def is_best(self) -> bool:
        return self.gap_percent < GAP_SHOWN_PERCENT

    @property
    def is_worrying(self) -> bool:
        """Return whether to warn about the gap, which is meaningful only for sums of probabilities."""
        return self.is_calibrated and self.gap_percent >= GAP_WARNED_PERCENT

    @property
    def sentence(self) -> str:
        """A sentence about the comparison, for people."""
        if self.total > self.bound:
            return "Shortening included more than any choice of whole memories could."
        if self.is_best and self.is_limited:
            return "Optimal within the section limits: no other choice in them scores higher."
        if self.is_best:
            return "Optimal: no other choice scores higher."
        scores = "scores" if self.best is not None else "scores at most"
        return f"Optimal packing {scores} {self.gap_percent:.1f} % higher."
