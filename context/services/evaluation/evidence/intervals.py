"""Bootstrap intervals of means, by question: the same questions always give the same interval (ADR-0079)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CONFIDENCE_PERCENT = 95
RESAMPLES = 2_000
#: Fixed, so that one set of answers has one interval.
SEED = 79

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean over `questions` with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float
    questions: int

    @property
    def is_beyond_chance(self) -> bool:
        """Of a difference: whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def estimate_means(columns: Values) -> list[Estimate | None]:
    """The mean of each column with its interval; None for a column without a number.

    `columns` is (questions, measures); NaN where a measure does not apply to a question. Questions are drawn with all
    their measures together.
    """
    known = ~np.isnan(columns)
    counts = known.sum(axis=0)
    means = _resampled_means(np.where(known, columns, 0.0), known.astype(np.float64))
    return [
        _estimate(float(columns[known[:, place], place].mean()), means[:, place], int(count)) if count else None
        for place, count in enumerate(counts)
    ]


def _resampled_means(values: Values, known: Values) -> Values:
    """(resamples, measures): the means over questions drawn with replacement; NaN where a draw hit no number."""
    generator = np.random.default_rng(SEED)
    questions = len(values)
    times = (np.bincount(generator.integers(0, questions, questions), minlength=questions) for _ in range(RESAMPLES))
    with np.errstate(invalid="ignore"):
        return np.stack([(each @ values) / (each @ known) for each in times])


def _estimate(mean: float, resampled: Values, questions: int) -> Estimate:
    outside = (100 - CONFIDENCE_PERCENT) / 2
    low, high = np.nanpercentile(resampled, [outside, 100 - outside])
    return Estimate(_rounded(mean), _rounded(low), _rounded(high), questions)


def _rounded(value: float) -> float:
    return round(float(value), 6)
