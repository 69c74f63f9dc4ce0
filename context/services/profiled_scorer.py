"""Scores memories by a scoring profile: every part on its own, what each brings to the composite, highest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from context.services.scorer import (
    SECONDS_PER_DAY,
    Column,
    MemoryScorer,
    ScoredMemory,
    base_parts,
    created_column,
    ranked_order,
    rounded,
)
from context.services.scoring_profiles import BASE_PARTS, FUSED, MULTIPLIED, PART_NAMES, ScoringProfile

Vectors = Mapping[UUID, npt.NDArray[np.float32]]

#: The fused score of what both arms found first.
FUSED_BEST = 2 / 61


@dataclass(frozen=True)
class Question:
    """What is asked and when; `lexemes` are those of the text as the search made them."""

    text: str
    asked_at: datetime
    lexemes: Sequence[str] = ()


@dataclass(frozen=True, init=False)
class ProfiledMemory(ScoredMemory):
    """A scored memory with all of its parts.

    `parts` are unweighted, `weighted` what each brings to the composite; their sum is the composite except where
    recency multiplies (its part is then what it added to the others) and in a calibrated profile, where it is the
    composite's log-odds without the intercept. Both hold the parts that count in the profile, in a fixed order.
    """

    parts: Mapping[str, float]
    weighted: Mapping[str, float]

    def __init__(
        self,
        memory: Mapping[str, Any],
        composite_score: float,
        base: Sequence[float],
        parts: Mapping[str, float],
        weighted: Mapping[str, float],
    ) -> None:
        super().__init__(memory, composite_score, *base)
        self.__dict__.update(parts=parts, weighted=weighted)


def needs_vectors(profile: ScoringProfile) -> bool:
    """Whether the profile compares candidates with each other by their vectors."""
    return profile.mmr_diversity > 0 or "currency" in _used_parts(profile)


class ProfiledScorer:
    """Scores memories by a profile; for `adr-0040` exactly as `MemoryScorer` does."""

    def __init__(self, profile: ScoringProfile, clock: Callable[[], datetime] | None = None) -> None:
        """Ages are reckoned from `clock`, which returns an aware datetime; without one from when was asked."""
        self._profile = profile
        self._clock = clock

    def score(
        self,
        memories: Sequence[Mapping[str, Any]],
        question: Question,
        vectors: Vectors,  # noqa: ARG002  for what compares candidates with each other
    ) -> list[ProfiledMemory]:
        """The memories with their scores, highest composite first; ties go to the newest, then to the smaller id.

        Mappings hold what `MemoryScorer` reads, and `kind, partition_path, session, position, fused_score,
        vector_rank, text_rank, holds` where signals are asked for. `vectors` are those of the memories, of unit
        length; a memory may lack its own. Raises `ValueError` naming the field for a number that is NaN or infinite,
        and for a clock without a time zone.
        """
        clock = self._clock or (lambda: question.asked_at)
        if self._profile.is_default:
            return [self._as_given(scored) for scored in MemoryScorer(clock=clock).score(memories)]
        now = clock()
        if now.utcoffset() is None:
            raise ValueError("the scorer's clock must return a datetime with a time zone")
        rows = list(memories)
        return self._by_profile(rows, now.timestamp()) if rows else []

    def _as_given(self, scored: ScoredMemory) -> ProfiledMemory:
        base = [getattr(scored, f"{name}_score") for name in BASE_PARTS]
        parts = dict(zip(BASE_PARTS, base, strict=True))
        weighted = {name: round(self._profile.weights[name] * value, 6) for name, value in parts.items()}
        return ProfiledMemory(scored.memory, scored.composite_score, base, parts, weighted)

    def _by_profile(self, rows: list[Mapping[str, Any]], now_seconds: float) -> list[ProfiledMemory]:
        created = created_column(rows)
        parts = dict(zip(BASE_PARTS, base_parts(rows, now_seconds - created), strict=True))
        parts["recency"] = self._recency(rows, now_seconds - created)
        if self._profile.relevance == FUSED:
            fused = np.array([row.get("fused_score") or 0.0 for row in rows], dtype=np.float64)
            parts["relevance"] = np.clip(fused / FUSED_BEST, 0.0, 1.0)
        names = _used_parts(self._profile)
        for name in names:
            parts.setdefault(name, np.zeros(len(rows)))
        composite, weighted = self._composite({name: parts[name] for name in names})
        composite = rounded(composite)
        return _in_order(rows, composite, created, parts, names, weighted)

    def _recency(self, rows: list[Mapping[str, Any]], age_seconds: Column) -> Column:
        profile = self._profile
        half_lives = np.array(
            [profile.half_life_days_by_kind.get(str(row.get("kind")), profile.half_life_days) for row in rows]
        )
        age_days = np.maximum(age_seconds, 0.0) / SECONDS_PER_DAY
        recency: Column = np.where(np.isinf(age_days), 0.5, np.exp2(-age_days / half_lives))
        return recency

    def _composite(self, parts: Mapping[str, Column]) -> tuple[Column, dict[str, Column]]:
        profile = self._profile
        if profile.coefficients is not None:
            weighted = {name: profile.coefficients[name] * column for name, column in parts.items()}
            log_odds = sum(weighted.values(), np.asarray(profile.intercept))
            return 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0))), weighted
        weighted = {name: profile.weights[name] * column for name, column in parts.items()}
        if profile.recency_mode == MULTIPLIED and "recency" in parts and profile.weights["recency"] < 1:
            share = profile.weights["recency"]
            others = sum((column for name, column in weighted.items() if name != "recency"), np.asarray(0.0))
            weighted["recency"] = others * share / (1.0 - share) * parts["recency"]
        return np.clip(sum(weighted.values(), np.asarray(0.0)), 0.0, 1.0), weighted


def _used_parts(profile: ScoringProfile) -> list[str]:
    numbers = profile.weights if profile.coefficients is None else profile.coefficients
    return [name for name in PART_NAMES if numbers.get(name)]


def _in_order(
    rows: list[Mapping[str, Any]],
    composite: Column,
    created: Column,
    parts: Mapping[str, Column],
    names: Sequence[str],
    weighted: Mapping[str, Column],
) -> list[ProfiledMemory]:
    columns = {name: rounded(parts[name]).tolist() for name in dict.fromkeys((*BASE_PARTS, *names))}
    brought = {name: rounded(weighted[name]).tolist() for name in names}
    scores = composite.tolist()
    return [
        ProfiledMemory(
            rows[place],
            scores[place],
            [columns[name][place] for name in BASE_PARTS],
            {name: columns[name][place] for name in names},
            {name: brought[name][place] for name in names},
        )
        for place in ranked_order(rows, composite, created)
    ]
