"""Scoring profiles: the numbers that rank memories, and their checks (ADR-0078). Built-in profiles are code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

from context.services import scorer
from context.services.assembly.signals import SIGNALS
from context.services.profiles.fields import tuned, tuned_fields
from memories.services.store.drafts import FieldProblem, is_kind_name

#: The components of ADR-0040, in its order, which is that of receipts.
BASE_PARTS = ("relevance", "recency", "usefulness", "confidence", "frequency")
#: All components that a profile can weigh.
PART_NAMES = (*BASE_PARTS, *SIGNALS)


def component_label(name: str) -> str:
    """Return a score component in words: `lexical_overlap` is "lexical overlap"."""
    return name.replace("_", " ")


COSINE, FUSED = "cosine", "fused"
RECENCY_ADDED, MULTIPLIED = "added", "multiplied"
_RELEVANCE_SOURCES = {COSINE: "cosine: vector similarity", FUSED: "fused: rank over both retrievers"}
_RECENCY_MODES = {RECENCY_ADDED: "added: one component of the sum", MULTIPLIED: "multiplied: scales the whole score"}

_HALF_LIFE_DAYS = (0.01, 36_500.0)
POOL_SIZE_MIN = 10
KINDS_MAX = 50
#: Maximum problems in a response, so that it is not larger than the request.
PROBLEMS_MAX = 50
#: A larger coefficient means that the data can be separated without a model.
COEFFICIENT_MAX = 1_000.0


class ScoringProfileError(ValueError):
    """Invalid numbers: the `field`, stable `code` and `detail` of the first problem."""

    def __init__(self, problem: FieldProblem) -> None:
        super().__init__(problem.detail)
        self.field, self.code, self.detail = problem.field, problem.code, problem.detail


@dataclass(frozen=True)
class ScoringProfile:
    """How memories are ranked: the weight of each component, and the candidates.

    `weights` sum to 1 and are those of `PART_NAMES`; an absent one is 0. `relevance` is the cosine, or the rank over
    both retrievers (`fused`). Recency is added to the sum or multiplies the sum of the others. `mmr_diversity` (0..1)
    is the penalty for a full repetition of a better candidate. With `superseded_min`, a memory follows what replaced it
    with at least this probability. `conversation_weights` rank messages of conversations; if only some candidates are
    messages, `numbers_for` is a mean of both. The candidates are `pool_size` by fused rank (0: as many as the candidate
    gate admits), with messages up to `adjacent_turn_reach` positions away from the better half of them. With
    `coefficients` and `intercept` the score is a probability: the logistic function of the intercept and the weighted
    components; the weights then rank nothing.
    """

    name: str
    version: int
    weights: Mapping[str, float]
    relevance: str = tuned(COSINE, label="Relevance is", choices=_RELEVANCE_SOURCES)
    recency_mode: str = tuned(RECENCY_ADDED, label="Recency is", choices=_RECENCY_MODES)
    half_life_days: float = tuned(
        math.log(2) / scorer.RECENCY_DECAY_LAMBDA,
        _HALF_LIFE_DAYS,
        label="Half-life",
        units=("day", "days"),
        step="0.01",
        hint="Days until recency halves.",
    )
    half_life_days_by_kind: Mapping[str, float] = tuned(
        dict,
        _HALF_LIFE_DAYS,
        label="Half-life by kind",
        units=("day", "days"),
        hint="Exceptions by kind, such as preference: 180, fact: 60.",
        input_help="For memories of a kind in place of `half_life_days`.",
    )
    mmr_diversity: float = tuned(
        0.0,
        (0, 1),
        label="Diversity",
        step="0.01",
        hint="0 to 1. Penalty for repetition; 0 disables it.",
        zero_text="off",
    )
    pool_size: int = tuned(
        0,
        (POOL_SIZE_MIN, 1_000),
        label="Pool",
        units=("candidate", "candidates"),
        hint=f"Number of best candidates, at least {POOL_SIZE_MIN}. 0: as many as the budget needs.",
        zero_text="as many as the budget needs",
        input_help="Candidates by fused rank; 0: as many as the budget needs.",
    )
    adjacent_turn_reach: int = tuned(
        0,
        (0, 5),
        label="Neighbours",
        units=("message", "messages"),
        hint="Messages read before and after the best candidates; 0 disables it.",
        zero_text="off",
    )
    superseded_min: float = tuned(
        0.0,
        (0, 1),
        label="Superseded from",
        step="0.01",
        hint="0 to 1. A memory this likely to be superseded ranks below its replacement; 0 disables it.",
        zero_text="off",
    )
    conversation_weights: Mapping[str, float] | None = tuned(
        None,
        (0, 1),
        title="weights in conversations",
        input_help="Weights for candidates that are all messages of conversations; null: those of `weights`.",
    )
    coefficients: Mapping[str, float] | None = tuned(
        None,
        (-COEFFICIENT_MAX, COEFFICIENT_MAX),
        input_help="With an intercept, the score is a probability and the weights are not used; null: not calibrated.",
    )
    intercept: float | None = tuned(None, (-COEFFICIENT_MAX, COEFFICIENT_MAX), label="Intercept")

    def __post_init__(self) -> None:
        """Raise `ScoringProfileError` for the first problem; keep immutable copies."""
        for problem in problems_of_numbers(self.to_numbers()):
            raise ScoringProfileError(problem)
        for name in ("weights", "half_life_days_by_kind", "coefficients", "conversation_weights"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, MappingProxyType(dict(value)))

    @property
    def is_calibrated(self) -> bool:
        """Whether its scores are probabilities."""
        return self.coefficients is not None

    def numbers_for(self, message_share: float) -> Mapping[str, float]:
        """Return the coefficients, or the weights if this share (0..1) of the candidates are messages of conversations.

        The weights for conversations count by the square of the share: a few messages among notes change little.
        """
        if self.coefficients is not None:
            return self.coefficients
        if self.conversation_weights is None:
            return self.weights
        share = message_share**2
        both = (self.weights, self.conversation_weights)
        return {
            name: (1.0 - share) * both[0].get(name, 0.0) + share * both[1].get(name, 0.0)
            for name in PART_NAMES
            if any(name in weights for weights in both)
        }

    @property
    def is_default(self) -> bool:
        """Whether it is the locked profile of ADR-0040."""
        return self.name == DEFAULT_SCORING_PROFILE_NAME

    def to_numbers(self) -> dict[str, Any]:
        """Return everything but name and version, as JSON contains it."""
        numbers = {name: getattr(self, name) for name in ("weights", *SCORING_FIELDS)}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in numbers.items()}

    @classmethod
    def from_numbers(cls, name: str, version: int, numbers: object) -> ScoringProfile:
        """Return the profile that `to_numbers` wrote, with ADR-0040's absent numbers. Raises `ScoringProfileError`."""
        for problem in problems_of_numbers(numbers):
            raise ScoringProfileError(problem)
        return cls(name=name, version=version, **dict(numbers))  # type: ignore[call-overload]


#: The description of every number but the weights, by its name.
SCORING_FIELDS = tuned_fields(ScoringProfile)


def problems_of_numbers(numbers: object) -> list[FieldProblem]:
    """Return the first 50 problems of a profile's numbers, or an empty list if they are valid."""
    if not isinstance(numbers, Mapping):
        return [FieldProblem("numbers", "not_an_object", "The settings of a profile must be an object.")]
    return list(islice(_problems(numbers), PROBLEMS_MAX))


def _problems(numbers: Mapping[Any, Any]) -> Iterator[FieldProblem]:
    for key in numbers:
        if key not in _CHECKS:
            known = ", ".join(_CHECKS)
            yield FieldProblem(
                str(key)[:40], "unknown_field", f"There is no setting with this name; known settings: {known}."
            )
    if "weights" not in numbers:
        yield FieldProblem("weights", "required", "A profile needs weights.")
    for key, check in _CHECKS.items():
        if key in numbers:
            yield from check(numbers[key])
    if (numbers.get("coefficients") is None) != (numbers.get("intercept") is None):
        detail = "Give both coefficients and an intercept, or neither."
        yield FieldProblem("intercept", "incomplete_calibration", detail)


def _problems_of_weights(name: str, weights: object) -> Iterator[FieldProblem]:
    wrong = list(_problems_of_parts(name, weights, 0.0, 1.0))
    yield from wrong
    if not wrong and isinstance(weights, Mapping):
        total = math.fsum(weights.values())
        if abs(total - 1.0) > scorer.WEIGHT_TOLERANCE:
            yield FieldProblem(name, "weights_do_not_sum_to_one", f"The weights sum to {total:.10g}, not to 1.")


def _problems_of_conversation_weights(weights: object) -> Iterator[FieldProblem]:
    if weights is not None:
        yield from _problems_of_weights("conversation_weights", weights)


def _problems_of_coefficients(coefficients: object) -> Iterator[FieldProblem]:
    if coefficients is None:
        return
    yield from _problems_of_parts("coefficients", coefficients, -COEFFICIENT_MAX, COEFFICIENT_MAX)
    if isinstance(coefficients, Mapping) and not any(coefficients.values()):
        yield FieldProblem(
            "coefficients", "nothing_counts", "At least one score component must have a coefficient other than 0."
        )


def _problems_of_parts(name: str, values: object, low: float, high: float) -> Iterator[FieldProblem]:
    if not isinstance(values, Mapping):
        yield FieldProblem(name, "not_an_object", f"The {name} must be an object of score components and numbers.")
        return
    for part, value in values.items():
        place = f"{name}.{str(part)[:40]}"
        if part not in PART_NAMES:
            yield FieldProblem(
                place, "unknown_part", f"There is no such score component; known: {', '.join(PART_NAMES)}."
            )
        else:
            yield from _problems_of_number(place, value, low, high)


def _problems_of_half_lives(half_lives: object) -> Iterator[FieldProblem]:
    name = "half_life_days_by_kind"
    if not isinstance(half_lives, Mapping) or len(half_lives) > KINDS_MAX:
        yield FieldProblem(name, "not_an_object", f"Half-lives by kind must be an object of at most {KINDS_MAX} kinds.")
        return
    for kind, days in half_lives.items():
        if not is_kind_name(kind):
            yield FieldProblem(f"{name}.{str(kind)[:40]}", "bad_kind", "A kind must be a lower-case word.")
        yield from _problems_of_number(f"{name}.{str(kind)[:40]}", days, *_HALF_LIFE_DAYS)


def _problems_of_field(name: str, value: object) -> Iterator[FieldProblem]:
    field = SCORING_FIELDS[name]
    if field.choices:
        if value not in tuple(field.choices):
            yield FieldProblem(name, "invalid_choice", f"One of {', '.join(field.choices)}.")
    elif not field.is_whole:
        if value is not None or field.default is not None:
            yield from _problems_of_number(name, value, field.least, field.most)
    elif not (type(value) is int and (field.least <= value <= field.most or value == 0)):
        note = "; 0: as many as the budget needs" if field.least else ""
        yield FieldProblem(name, "out_of_range", f"A whole number from {field.least} to {field.most:,}{note}.")


def _problems_of_number(name: str, value: object, low: float, high: float) -> Iterator[FieldProblem]:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:  # type: ignore[operator]
        yield FieldProblem(name, "out_of_range", f"A number from {low:g} to {high:g}.")


_CHECKS: dict[str, Callable[[object], Iterator[FieldProblem]]] = {
    "weights": partial(_problems_of_weights, "weights"),
    **{name: partial(_problems_of_field, name) for name in SCORING_FIELDS},
    "half_life_days_by_kind": _problems_of_half_lives,
    "coefficients": _problems_of_coefficients,
    "conversation_weights": _problems_of_conversation_weights,
}

DEFAULT_SCORING_PROFILE_NAME = "adr-0040"

ADR_0040 = ScoringProfile(
    name=DEFAULT_SCORING_PROFILE_NAME,
    version=1,
    weights={
        "relevance": scorer.WEIGHT_RELEVANCE,
        "recency": scorer.WEIGHT_RECENCY,
        "usefulness": scorer.WEIGHT_USEFULNESS,
        "confidence": scorer.WEIGHT_CONFIDENCE,
        "frequency": scorer.WEIGHT_FREQUENCY,
    },
)

#: ADR-0078: fitted to conversations by cross-validation, `currency` to updated facts.
CONVERSATION_RECALL = ScoringProfile(
    name="conversation-recall",
    version=1,
    weights={
        "relevance": 0.09,
        "lexical_overlap": 0.20,
        "adjacent_turns": 0.16,
        "entity_match": 0.06,
        "temporal_match": 0.13,
        "answer_type": 0.10,
        "informativeness": 0.03,
        "supersession": 0.23,
    },
    pool_size=200,
    adjacent_turn_reach=2,
)

#: ADR-0119, ADR-0329: fitted to notes and to conversations; usefulness and confidence are set by judgement.
RECALL = ScoringProfile(
    name="recall",
    version=2,
    weights={
        "relevance": 0.39,
        "usefulness": 0.10,
        "confidence": 0.05,
        "lexical_overlap": 0.39,
        "entity_match": 0.04,
        "answer_type": 0.03,
    },
    conversation_weights={
        "relevance": 0.10,
        "usefulness": 0.10,
        "confidence": 0.05,
        "lexical_overlap": 0.22,
        "adjacent_turns": 0.18,
        "entity_match": 0.07,
        "temporal_match": 0.14,
        "answer_type": 0.11,
        "informativeness": 0.03,
    },
    superseded_min=0.1,
    pool_size=200,
    adjacent_turn_reach=2,
)
#: The profile that pages and documents offer first.
RECOMMENDED_SCORING_PROFILE_NAME = RECALL.name

#: The built-in profiles by name, the recommended one first; they are locked and count as published.
SHIPPED_PROFILES: Mapping[str, ScoringProfile] = MappingProxyType(
    {profile.name: profile for profile in (RECALL, ADR_0040, CONVERSATION_RECALL)}
)
#: Every built-in version by name and number, including former ones, which stored contexts name.
SHIPPED_VERSIONS: Mapping[tuple[str, int], ScoringProfile] = MappingProxyType(
    {
        (profile.name, profile.version): profile
        for profile in (*SHIPPED_PROFILES.values(), replace(RECALL, version=1, superseded_min=0.2))
    }
)
#: The decisions that justify the built-in profiles.
SHIPPED_DECISIONS = {"recall": "ADR-0329", "adr-0040": "ADR-0040", "conversation-recall": "ADR-0078"}
