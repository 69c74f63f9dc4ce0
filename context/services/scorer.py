"""The composite score of a memory (ADR-0040).

Its numbers are locked: changing them requires a new ADR and an evaluation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

# ADR-0040. Shares of the composite; they sum to 1.
WEIGHT_RELEVANCE = 0.40
WEIGHT_RECENCY = 0.25
WEIGHT_USEFULNESS = 0.20
WEIGHT_CONFIDENCE = 0.10
WEIGHT_FREQUENCY = 0.05

# ADR-0040. Per day of age: half after ln(2) / 0.05 = 13.86 days.
RECENCY_DECAY_LAMBDA = 0.05
# ADR-0040. The number of retrievals from which frequency counts in full.
ACCESS_FREQUENCY_CAP = 50

# ADR-0040. The default for an absent value.
RECENCY_OF_UNKNOWN_AGE = 0.5
DEFAULT_SIMILARITY = 0.0
DEFAULT_USEFULNESS = 0.5
DEFAULT_CONFIDENCE = 0.8
DEFAULT_RETRIEVAL_COUNT = 0.0

SCORE_DECIMALS = 6
WEIGHT_TOLERANCE = 1e-9
SECONDS_PER_DAY = 86_400.0

ScoreColumn = npt.NDArray[np.float64]


def check_weights(weights: Sequence[float]) -> None:
    """Raise `RuntimeError` unless the weights sum to 1 within 1e-9."""
    total = sum(weights)
    if not abs(total - 1.0) <= WEIGHT_TOLERANCE:
        raise RuntimeError(
            f"The scorer's weights must sum to 1, but they sum to {total!r}. "
            "ADR-0040 fixes them; changing one takes a new ADR and an evaluation."
        )


WEIGHTS = (WEIGHT_RELEVANCE, WEIGHT_RECENCY, WEIGHT_USEFULNESS, WEIGHT_CONFIDENCE, WEIGHT_FREQUENCY)
check_weights(WEIGHTS)


@dataclass(frozen=True, init=False)
class ScoredMemory:
    """A memory with its composite score and the five components, each 0..1 and rounded to 6 decimals."""

    memory: Mapping[str, Any]
    composite_score: float
    relevance_score: float
    recency_score: float
    usefulness_score: float
    confidence_score: float
    frequency_score: float

    def __init__(
        self,
        memory: Mapping[str, Any],
        composite_score: float,
        relevance_score: float,
        recency_score: float,
        usefulness_score: float,
        confidence_score: float,
        frequency_score: float,
    ) -> None:
        # One update instead of seven guarded assignments: half the time for 10,000 candidates.
        self.__dict__.update(
            memory=memory,
            composite_score=composite_score,
            relevance_score=relevance_score,
            recency_score=recency_score,
            usefulness_score=usefulness_score,
            confidence_score=confidence_score,
            frequency_score=frequency_score,
        )

    @property
    def superseded_by(self) -> UUID | None:
        """The memory that it follows because that one superseded it; by ADR-0040 none does."""
        return None

    def breakdown(self) -> dict[str, float]:
        """Return the unweighted components of the score by name: here the five of ADR-0040, each 0..1."""
        return {
            "relevance": self.relevance_score,
            "recency": self.recency_score,
            "usefulness": self.usefulness_score,
            "confidence": self.confidence_score,
            "frequency": self.frequency_score,
        }


class MemoryScorer:
    """Scores memories by the formula of ADR-0040, all in one vectorised pass."""

    def __init__(self, clock: Callable[[], datetime] | None = None) -> None:
        """Set the clock, which returns an aware datetime and is read once for each call of `score`; default: now."""
        self._clock = clock or partial(datetime.now, UTC)

    def score(
        self,
        memories: Iterable[Mapping[str, Any]],
        query_embedding: object = None,  # noqa: ARG002  the similarity was computed by the search
    ) -> list[ScoredMemory]:
        """Return the memories with their scores, highest composite first; ties go to the newest, then the smaller id.

        Each memory is a mapping with `id, content, similarity, created_at, usefulness_score, confidence,
        retrieval_count`; absent or null values count as ADR-0040 says. Raises `ValueError` naming the field for a
        number that is NaN or infinite, and for a clock without a time zone.
        """
        rows = list(memories)
        if not rows:
            return []
        created = created_column(rows)
        parts = base_components(rows, aware_seconds(self._clock()) - created)
        total = sum((w * part for w, part in zip(WEIGHTS, parts, strict=True)), np.zeros(len(rows)))
        columns = round_scores(np.stack([total, *parts]))  # in one step, because a numpy call costs more than its work
        order = ranked_order(rows, columns[0], created)
        ranked = zip(order, *columns[:, order].tolist(), strict=True)
        return [ScoredMemory(rows[position], *scores) for position, *scores in ranked]


def aware_seconds(now: datetime) -> float:
    """Return the seconds since 1970. Raises `ValueError` for a datetime without a time zone."""
    if now.utcoffset() is None:
        raise ValueError("the scorer's clock must return a datetime with a time zone")
    return now.timestamp()


def base_components(rows: Sequence[Mapping[str, Any]], age_seconds: ScoreColumn) -> list[ScoreColumn]:
    """Return relevance, recency, usefulness, confidence and frequency, each 0..1 and not yet rounded."""
    return [
        clamp_unit(number_column(rows, "similarity", DEFAULT_SIMILARITY)),
        recency_by(age_seconds, lambda age_days: np.exp(-RECENCY_DECAY_LAMBDA * age_days)),
        clamp_unit(number_column(rows, "usefulness_score", DEFAULT_USEFULNESS)),
        clamp_unit(number_column(rows, "confidence", DEFAULT_CONFIDENCE)),
        clamp_unit(number_column(rows, "retrieval_count", DEFAULT_RETRIEVAL_COUNT) / ACCESS_FREQUENCY_CAP),
    ]


def recency_by(age_seconds: ScoreColumn, decay: Callable[[ScoreColumn], ScoreColumn]) -> ScoreColumn:
    """Return `decay` of the age in days; a future date has age 0, an unknown age (infinite here) is neutral."""
    age_days = np.maximum(age_seconds, 0.0) / SECONDS_PER_DAY
    return np.where(np.isinf(age_days), RECENCY_OF_UNKNOWN_AGE, decay(age_days))


def clamp_unit(column: ScoreColumn) -> ScoreColumn:
    """Return the column clamped to 0..1; adding 0 turns -0.0 into 0.0."""
    return np.clip(column, 0.0, 1.0) + 0.0


def number_column(rows: Sequence[Mapping[str, Any]], field: str, default: float) -> ScoreColumn:
    """Return a number of each row, `default` if it is None. Raises `ValueError` for other values."""
    values = [row.get(field) for row in rows]
    try:
        column = np.array(values, dtype=np.float64)
        if column.ndim != 1:
            raise ValueError(field)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{field} must be a finite number for every memory") from error
    if not np.isfinite(column).all():
        column[[value is None for value in values]] = default
        for position in np.flatnonzero(~np.isfinite(column)).tolist():
            number, memory_id = column[position], rows[position].get("id")
            raise ValueError(f"{field} must be a finite number, not {number} (memory {memory_id})")
    return column


def created_column(rows: Sequence[Mapping[str, Any]]) -> ScoreColumn:
    """Return the seconds since 1970 of each `created_at`; minus infinity, the oldest, if it is unknown."""
    times = [row.get("created_at") for row in rows]
    return np.array(
        [
            time.timestamp() if type(time) is datetime and time.tzinfo is not None else _created_seconds(time)
            for time in times
        ],
        dtype=np.float64,
    )


def _created_seconds(created_at: object) -> float:
    try:
        if isinstance(created_at, str):
            created_at = datetime.fromisoformat(created_at.strip())
        if not isinstance(created_at, datetime):
            return float("-inf")
        if created_at.tzinfo is None:
            created_at = created_at.replace(tzinfo=UTC)
        return created_at.timestamp()
    except (ValueError, OverflowError):
        return float("-inf")


def round_scores(column: ScoreColumn) -> ScoreColumn:
    """Round each number exactly as Python's `round(value, 6)`: numpy decides by a product, which errs near a half."""
    scaled = column * 10.0**SCORE_DECIMALS
    rounded: ScoreColumn = np.rint(scaled) / 10.0**SCORE_DECIMALS
    for position in zip(*np.nonzero(np.abs(scaled - np.floor(scaled) - 0.5) < 1e-6), strict=True):
        rounded[position] = round(float(column[position]), SCORE_DECIMALS)
    return rounded


def ranked_order(rows: Sequence[Mapping[str, Any]], composite: ScoreColumn, created: ScoreColumn) -> list[int]:
    """Return the positions by composite (highest first), then creation (newest first), then id."""
    order = np.lexsort((-created, -composite))
    is_tied = (np.diff(composite[order]) == 0) & (created[order][1:] == created[order][:-1])
    positions: list[int] = order.tolist()
    if is_tied.any():
        for start, end in pairwise([0, *(np.flatnonzero(~is_tied) + 1).tolist(), len(rows)]):
            if end - start > 1:
                positions[start:end] = _by_id(rows, positions[start:end])
    return positions


def _by_id(rows: Sequence[Mapping[str, Any]], positions: list[int]) -> list[int]:
    try:
        return sorted(positions, key=lambda position: rows[position].get("id"))  # type: ignore[arg-type,return-value]
    except TypeError:
        return sorted(positions, key=lambda position: str(rows[position].get("id")))
