"""How good a choice is by the sum of its scores, in words for a person."""

from dataclasses import dataclass

#: A gap that would be written as 0.0 %, and one that deserves a warning.
GAP_SHOWN_PERCENT, GAP_WARNED_PERCENT = 0.05, 2.0


@dataclass(frozen=True)
class Optimality:
    """The total score of a choice beside the highest any choice of whole memories could have.

    `best` is None where the search for it ended before the proof; no choice scores more than `bound` either way.
    `is_limited` where a section's own room kept something out: the best choice is the best within it.
    """

    total: float
    best: float | None
    bound: float
    is_calibrated: bool = False
    is_limited: bool = False

    @property
    def gap_percent(self) -> float:
        """What could be gained at most; 0 where shortened texts let in more than whole ones could score."""
        return max(100 * (self.bound - self.total) / self.total, 0.0) if self.total > 0 else 0.0

    @property
    def is_best(self) -> bool:
        return self.gap_percent < GAP_SHOWN_PERCENT

    @property
    def is_worrying(self) -> bool:
        """Return whether to warn about the gap: only sums of probabilities show what is lost."""
        return self.is_calibrated and self.gap_percent >= GAP_WARNED_PERCENT

    @property
    def sentence(self) -> str:
        """The comparison for a person."""
        if self.total > self.bound:
            return "Shortening included more than any choice of whole memories could."
        if self.is_best and self.is_limited:
            return "Optimal within the section limits: no other choice in them scores higher."
        if self.is_best:
            return "Optimal: no other choice scores higher."
        scores = "scores" if self.best is not None else "scores at most"
        return f"Optimal packing {scores} {self.gap_percent:.1f} % higher."
