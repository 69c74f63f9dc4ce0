"""Recency: half after so many days, each kind of memory by its own half-life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from context.services.scorer import RECENCY_OF_UNKNOWN_AGE, SECONDS_PER_DAY, ScoreColumn


def recency(
    rows: Sequence[Mapping[str, Any]],
    age_seconds: ScoreColumn,
    half_life_days: float,
    half_life_days_by_kind: Mapping[str, float],
) -> ScoreColumn:
    """0..1, of each memory by its age; a future date has age 0, an unknown age (infinite here) is neutral."""
    half_lives = np.array([half_life_days_by_kind.get(str(row.get("kind")), half_life_days) for row in rows])
    age_days = np.maximum(age_seconds, 0.0) / SECONDS_PER_DAY
    return np.where(np.isinf(age_days), RECENCY_OF_UNKNOWN_AGE, np.exp2(-age_days / half_lives))
