"""Scores memories by a scoring profile, highest composite first, with every component."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from context.services.assembly.signals import SIGNALS
from context.services.assembly.signals.columns import CandidatePool, ScoringQuestion
from context.services.assembly.superseded import find_rivals, put_superseded_behind
from context.services.profiles.scoring_profiles import BASE_PARTS, FUSED, MULTIPLIED, PART_NAMES, ScoringProfile
from context.services.scorer import (
    MemoryScorer,
    ScoreColumn,
    ScoredMemory,
    aware_seconds,
    base_components,
    clamp_unit,
    number_column,
    ranked_order,
    recency_by,
    round_scores,
)
from memories.services.search.fusion import fused_score

#: The fused score of a memory that both retrievers rank first.
FUSED_BEST = fused_score(1, 1)
#: The component that MMR subtracts: how much a memory repeats a better one.
REPETITION = "repetition"
#: The component that ranks a memory after another one: the probability that that one replaced it.
SUPERSEDED = "superseded"
#: The share of messages among the candidates, reported with each candidate if the weights depend on it.
MESSAGE_SHARE = "message_share"
#: Returns which of some memories, best first, are needed, by their places and in any order.
Choice = Callable[[Sequence[Mapping[str, Any]]], Sequence[int]]
#: The fields of a scored memory that are scores: the composite and the five components.
_SCORE_NAMES = ("composite_score", *(f"{name}_score" for name in BASE_PARTS))
#: The number of the best candidates that are compared with those above them.
_COMPARED_MAX = 300


@dataclass(frozen=True, init=False)
class ProfiledMemory(ScoredMemory):
    """A scored memory with the components that count in the profile, unweighted.

    The last ones are `repetition`, `superseded` and `message_share`, if they count. `successor` superseded it.
    """

    part_names: Sequence[str]
    part_values: Sequence[float]
    successor: UUID | None

    def __init__(
        self, memory: Mapping[str, Any], scores: Sequence[float], part_names: Sequence[str], successor: UUID | None
    ) -> None:
        """`scores` are the composite, the five components of ADR-0040 and the parts."""
        # one update for all fields, which is faster than an assignment of each
        self.__dict__.update(
            zip(_SCORE_NAMES, scores, strict=False),
            memory=memory,
            part_names=part_names,
            part_values=scores[len(_SCORE_NAMES) :],
            successor=successor,
        )

    @property
    def parts(self) -> dict[str, float]:
        """The components that count in the profile, by name."""
        return dict(zip(self.part_names, self.part_values, strict=True))

    @property
    def superseded_by(self) -> UUID | None:
        return self.successor

    def breakdown(self) -> dict[str, float]:
        """Return the five components of ADR-0040, then those that the profile adds."""
        return super().breakdown() | self.parts


def needs_vectors(profile: ScoringProfile) -> bool:
    """Whether the profile compares candidates with each other by their vectors."""
    by_weight = any(profile.numbers_for(share).get("supersession") for share in (0.0, 1.0))
    return profile.mmr_diversity > 0 or profile.superseded_min > 0 or by_weight


@dataclass(frozen=True)
class ProfiledScorer:
    """Scores memories for a query by a profile.

    `vectors` are those of the memories, by id and of unit length. `successors` name the memories that supersede another
    one by a link, by the id of the older one.
    """

    profile: ScoringProfile
    question: ScoringQuestion
    vectors: Mapping[UUID, npt.NDArray[np.float32]] = field(default_factory=dict)
    successors: Mapping[UUID, Sequence[UUID]] = field(default_factory=dict)

    def score(self, memories: Sequence[Mapping[str, Any]], choose: Choice | None = None) -> Sequence[ScoredMemory]:
        """Return the memories with their scores, highest composite first; ties go to the newest, then the smaller id.

        With `choose`, return only the memories at the places that it returns. The default profile scores as
        `MemoryScorer` does. Mappings contain what that reads, and `kind, partition_path,
        session, position, fused_score, vector_rank, text_rank, holds` for signals. Raises `ValueError` naming the field
        for a number that is NaN or infinite, and for a time without a time zone.
        """
        if self.profile.is_default:
            scored = MemoryScorer(clock=lambda: self.question.asked_at).score(memories)
            return scored if choose is None else [scored[place] for place in choose([one.memory for one in scored])]
        if not memories:
            return []
        profile, pool = self.profile, CandidatePool(memories, self.question, self.vectors)
        parts = self._base_parts(pool)
        message_share = float(pool.is_turn.mean()) if profile.conversation_weights is not None else 0.0
        numbers = profile.numbers_for(message_share)
        names = [name for name in PART_NAMES if numbers.get(name)]
        parts |= {name: signal(pool) for name, signal in SIGNALS.items() if name in names}
        composite = self._composite({name: parts[name] for name in names}, numbers)
        share = profile.mmr_diversity
        if share > 0:
            parts[REPETITION] = repetition(pool, composite, share)
            composite = composite - share * parts[REPETITION]
            names = [*names, REPETITION]
        successors: list[UUID | None] = [None] * len(memories)
        if profile.superseded_min > 0:
            rivals = find_rivals(pool, self.successors)
            behind = put_superseded_behind(composite, rivals, profile.superseded_min)
            composite, parts[SUPERSEDED] = behind.scores, behind.superseded
            successors = [None if place < 0 else memories[place]["id"] for place in behind.successors.tolist()]
            names = [*names, SUPERSEDED]
        if profile.conversation_weights is not None:
            parts[MESSAGE_SHARE] = np.full(len(pool), message_share)
            names = [*names, MESSAGE_SHARE]
        table = round_scores(np.stack([clamp_unit(composite), *(parts[name] for name in (*BASE_PARTS, *names))]))
        order = ranked_order(memories, table[0], pool.created)
        if choose is not None:
            order = [order[place] for place in choose([memories[place] for place in order])]
        ranked = zip(order, *table[:, order].tolist(), strict=True)
        return [ProfiledMemory(memories[place], values, names, successors[place]) for place, *values in ranked]

    def _base_parts(self, pool: CandidatePool) -> dict[str, ScoreColumn]:
        profile = self.profile
        age_seconds = aware_seconds(self.question.asked_at) - pool.created
        parts = dict(zip(BASE_PARTS, base_components(pool.rows, age_seconds), strict=True))
        parts["recency"] = recency(pool.rows, age_seconds, profile.half_life_days, profile.half_life_days_by_kind)
        if profile.relevance == FUSED:
            parts["relevance"] = clamp_unit(number_column(pool.rows, "fused_score", 0.0) / FUSED_BEST)
        return parts

    def _composite(self, parts: Mapping[str, ScoreColumn], numbers: Mapping[str, float]) -> ScoreColumn:
        """Return the sum of the weighted components, or the probability if the profile is calibrated."""
        profile = self.profile
        weighted = {name: numbers[name] * column for name, column in parts.items()}
        if profile.coefficients is not None:
            log_odds = sum(weighted.values(), np.asarray(profile.intercept))
            return 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))
        share = numbers.get("recency", 0.0)
        if profile.recency_mode == MULTIPLIED and 0 < share < 1:
            others = sum((column for name, column in weighted.items() if name != "recency"), np.asarray(0.0))
            weighted["recency"] = others * share / (1.0 - share) * parts["recency"]
        return sum(weighted.values(), np.asarray(0.0))


def recency(
    rows: Sequence[Mapping[str, Any]],
    age_seconds: ScoreColumn,
    half_life_days: float,
    half_life_days_by_kind: Mapping[str, float],
) -> ScoreColumn:
    """Return 0..1 for each memory by its age: half after the half-life of its kind, in days."""
    half_lives: ScoreColumn | float = half_life_days
    if half_life_days_by_kind:
        half_lives = np.array([half_life_days_by_kind.get(str(row.get("kind")), half_life_days) for row in rows])
    return recency_by(age_seconds, lambda age_days: np.exp2(-age_days / half_lives))


def repetition(pool: CandidatePool, scores: ScoreColumn, share: float) -> ScoreColumn:
    """Return how much each of the best repeats a better one, 0..1; a full repetition costs `share`.

    The best comes first; the next is always the one whose score minus its cost is highest (Carbonell and Goldstein's
    maximal marginal relevance).
    """
    repeated = np.zeros(len(pool))
    places: Sequence[int] = np.argsort(-scores, kind="stable")[:_COMPARED_MAX].tolist()
    vectors = pool.vectors_of(places)
    own, nearest = scores[places], np.zeros(len(places))
    is_waiting = np.ones(len(places), dtype=bool)
    for _ in places:
        chosen = int(np.argmax(np.where(is_waiting, own - share * nearest, -np.inf)))
        is_waiting[chosen] = False
        repeated[places[chosen]] = nearest[chosen]
        nearest = np.maximum(nearest, np.clip(vectors @ vectors[chosen], 0.0, 1.0))
    return repeated
