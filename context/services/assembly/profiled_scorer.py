"""Scores memories by a scoring profile: every part on its own, what each brings to the composite, highest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from context.services.assembly.signals import SIGNALS
from context.services.assembly.signals.columns import CandidatePool
from context.services.assembly.signals.diversity import repetition
from context.services.assembly.signals.recency import recency
from context.services.profiles.scoring_profiles import BASE_PARTS, FUSED, MULTIPLIED, PART_NAMES, ScoringProfile
from context.services.scorer import (
    MemoryScorer,
    ScoreColumn,
    ScoredMemory,
    base_components,
    clamp_unit,
    number_column,
    ranked_order,
    round_scores,
)

CandidateVectors = Mapping[UUID, npt.NDArray[np.float32]]

#: The fused score of what both arms found first.
FUSED_BEST = 2 / 61
#: The part that MMR takes away: how much a memory repeats a better one.
REPETITION = "repetition"


@dataclass(frozen=True)
class ScoringQuestion:
    """What is asked and when; `lexemes` are those of the text as the search made them."""

    text: str
    asked_at: datetime
    lexemes: Sequence[str] = ()


@dataclass(frozen=True, init=False)
class ProfiledMemory(ScoredMemory):
    """A scored memory with all of its parts.

    `parts` are unweighted, `weighted` what each brings to the composite; their sum is the composite except where
    recency multiplies (its part is then what it added to the others) and in a calibrated profile, where it is the
    composite's log-odds without the intercept; a sum below 0 is a composite of 0. Both hold the parts that count in the
    profile, in a fixed order, and last, where it is asked for, what `repetition` of better memories takes away.
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

    def breakdown(self) -> dict[str, float]:
        """Return the five parts of ADR-0040, then those that the profile adds."""
        return super().breakdown() | dict(self.parts)


def needs_vectors(profile: ScoringProfile) -> bool:
    """Whether the profile compares candidates with each other by their vectors."""
    return profile.mmr_diversity > 0 or "supersession" in _used_parts(profile)


class ProfiledScorer:
    """Scores memories by a profile; for `adr-0040` exactly as `MemoryScorer` does."""

    def __init__(self, profile: ScoringProfile, clock: Callable[[], datetime] | None = None) -> None:
        """Ages are reckoned from `clock`, which returns an aware datetime; without one from when was asked."""
        self._profile = profile
        self._clock = clock

    def score(
        self,
        memories: Sequence[Mapping[str, Any]],
        question: ScoringQuestion,
        vectors: CandidateVectors,
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
        return self._by_profile(rows, now.timestamp(), question, vectors) if rows else []

    def _as_given(self, scored: ScoredMemory) -> ProfiledMemory:
        base = [getattr(scored, f"{name}_score") for name in BASE_PARTS]
        parts = dict(zip(BASE_PARTS, base, strict=True))
        weighted = {name: round(self._profile.weights[name] * value, 6) for name, value in parts.items()}
        return ProfiledMemory(scored.memory, scored.composite_score, base, parts, weighted)

    def _by_profile(
        self, rows: list[Mapping[str, Any]], now_seconds: float, question: ScoringQuestion, vectors: CandidateVectors
    ) -> list[ProfiledMemory]:
        pool = CandidatePool(rows, question.text, question.lexemes, vectors)
        parts = self._base_parts(pool, now_seconds - pool.created)
        names = _used_parts(self._profile)
        parts |= {name: signal(pool, question.asked_at) for name, signal in SIGNALS.items() if name in names}
        composite, weighted = self._composite({name: parts[name] for name in names})
        share = self._profile.mmr_diversity
        if share > 0:
            parts[REPETITION] = repetition(pool, composite, share)
            weighted[REPETITION] = -share * parts[REPETITION]
            composite = composite + weighted[REPETITION]
        composite = round_scores(clamp_unit(composite))
        return _in_order(pool, composite, parts, weighted)

    def _base_parts(self, pool: CandidatePool, age_seconds: ScoreColumn) -> dict[str, ScoreColumn]:
        profile = self._profile
        parts = dict(zip(BASE_PARTS, base_components(list(pool.rows), age_seconds), strict=True))
        parts["recency"] = recency(pool.rows, age_seconds, profile.half_life_days, profile.half_life_days_by_kind)
        if profile.relevance == FUSED:
            parts["relevance"] = clamp_unit(number_column(list(pool.rows), "fused_score", 0.0) / FUSED_BEST)
        return parts

    def _composite(self, parts: Mapping[str, ScoreColumn]) -> tuple[ScoreColumn, dict[str, ScoreColumn]]:
        profile = self._profile
        if profile.coefficients is not None:
            weighted = {name: profile.coefficients[name] * column for name, column in parts.items()}
            log_odds = sum(weighted.values(), np.asarray(profile.intercept))
            return 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0))), weighted
        weighted = {name: profile.weights[name] * column for name, column in parts.items()}
        share = profile.weights.get("recency", 0.0)
        if profile.recency_mode == MULTIPLIED and 0 < share < 1:
            others = sum((column for name, column in weighted.items() if name != "recency"), np.asarray(0.0))
            weighted["recency"] = others * share / (1.0 - share) * parts["recency"]
        return sum(weighted.values(), np.asarray(0.0)), weighted


def _used_parts(profile: ScoringProfile) -> list[str]:
    numbers = profile.weights if profile.coefficients is None else profile.coefficients
    return [name for name in PART_NAMES if numbers.get(name)]


def _in_order(
    pool: CandidatePool, composite: ScoreColumn, parts: Mapping[str, ScoreColumn], weighted: Mapping[str, ScoreColumn]
) -> list[ProfiledMemory]:
    scores, names = composite.tolist(), list(weighted)
    own = list(zip(*(round_scores(parts[name]).tolist() for name in BASE_PARTS), strict=True))
    told = list(zip(*(round_scores(parts[name]).tolist() for name in names), strict=True))
    brought = list(zip(*(round_scores(weighted[name]).tolist() for name in names), strict=True))
    return [
        ProfiledMemory(
            pool.rows[place],
            scores[place],
            own[place],
            dict(zip(names, told[place], strict=True)),
            dict(zip(names, brought[place], strict=True)),
        )
        for place in ranked_order(list(pool.rows), composite, pool.created)
    ]
