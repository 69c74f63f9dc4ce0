"""Bootstrap intervals of means, by question: the same questions always give the same interval (ADR-0079)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONFIDENCE_PERCENT = 95
RESAMPLES = 2_000
#: Fixed, so that one set of answers has one interval.
SEED = 79
#: Numbers drawn at a time: bounds the memory that many questions take.
DRAWN_AT_ONCE = 1_000_000

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

    def to_dict(self) -> dict[str, Any]:
        """The form that is stored as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Estimate:
        """What `to_dict` gave."""
        return cls(**stored)


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
    at_once = max(1, DRAWN_AT_ONCE // max(1, questions))
    means = []
    for start in range(0, RESAMPLES, at_once):
        drawn = generator.integers(0, questions, size=(min(at_once, RESAMPLES - start), questions))
        times = np.stack([np.bincount(row, minlength=questions) for row in drawn]).astype(np.float64)
        with np.errstate(invalid="ignore"):
            means.append((times @ values) / (times @ known))
    return np.concatenate(means)


def _estimate(mean: float, resampled: Values, questions: int) -> Estimate:
    outside = (100 - CONFIDENCE_PERCENT) / 2
    low, high = np.nanpercentile(resampled, [outside, 100 - outside])
    return Estimate(_rounded(mean), _rounded(low), _rounded(high), questions)


def _rounded(value: float) -> float:
    return round(float(value), 6)
