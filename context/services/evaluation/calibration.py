"""Calibration: the probability of being evidence, fitted to candidates of questions with known evidence (ADR-0081)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from context.services.budget import BudgetCalculator
from context.services.evaluation.logistic import (
    FOLDS,
    MIN_OUTCOMES,
    HeldOutReport,
    LogisticModel,
    TooLittleDataError,
    cross_validate,
    fit_logistic,
)
from context.services.packer import GreedyKnapsackPacker, OptimalPacker
from context.services.profiles.scoring_profiles import PART_NAMES
from context.services.scorer import SCORE_DECIMALS, ScoredMemory

#: The encoding of the counts, that of the packers' own default model.
_COUNTED = "o200k_base"


@dataclass(frozen=True)
class Observation:
    """One candidate of one question: its uncalibrated score, all its components, and whether it is evidence.

    `tokens` are those of its text; rows of one `group`, a question or a partition, are held out together.
    """

    question: str
    group: str
    memory: str
    tokens: int
    score: float
    parts: Mapping[str, float]
    is_evidence: bool


class RecallRow(NamedTuple):
    """The mean evidence recall at a budget (tokens): by the uncalibrated score, then by held-out probabilities."""

    budget: int
    before: float
    greedy: float
    optimal: float


@dataclass(frozen=True)
class Calibration:
    """The fitted model, its quality on held-out candidates, and the evidence recall within budgets."""

    model: LogisticModel
    report: HeldOutReport
    recalls: Sequence[RecallRow]

    def as_numbers(self) -> dict[str, Any]:
        """Return the numbers of a scoring profile, without coefficients that round to zero."""
        pairs = zip(self.model.names, self.model.coefficients, strict=True)
        return {
            "coefficients": {name: round(value, 6) for name, value in pairs if round(value, 6)},
            "intercept": round(self.model.intercept, 6),
        }

    def as_record(self) -> dict[str, Any]:
        """Return the report in the form in which a version stores it."""
        bins, recalls = ([list(row) for row in rows] for rows in (self.report.bins, self.recalls))
        return {**vars(self.report), "bins": bins, "recalls": recalls}


def require_enough_questions(questions: int, evidence: int) -> None:
    """Raise `TooLittleDataError` if even the best search could not find enough evidence.

    `questions` is the number with evidence, `evidence` the number of memories that they name.
    """
    if questions < FOLDS:
        detail = f"A calibration needs at least {FOLDS} questions with evidence; there are {questions:,}."
        raise TooLittleDataError("too_few_groups", detail)
    if evidence < MIN_OUTCOMES:
        detail = f"A calibration needs at least {MIN_OUTCOMES} memories named as evidence; there are {evidence:,}."
        raise TooLittleDataError("too_few_outcomes", detail)


def calibrate(
    observations: Sequence[Observation], evidence_counts: Mapping[str, int], budgets: Sequence[int]
) -> Calibration:
    """Fit all observations, and report on held-out folds. `evidence_counts` is the amount of evidence by question.

    Raises `TooLittleDataError` below the limits of `context/services/evaluation/logistic.py`.
    """
    names = [name for name in PART_NAMES if len({row.parts.get(name, 0.0) for row in observations}) > 1]
    outcomes = np.array([float(row.is_evidence) for row in observations])
    features = np.array([[row.parts.get(name, 0.0) for name in names] for row in observations], dtype=np.float64)
    model = fit_logistic(features, outcomes, names)
    report, held_out = cross_validate(features, outcomes, names, [row.group for row in observations])
    return Calibration(model, report, _recalls(observations, held_out.tolist(), evidence_counts, budgets))


def _recalls(
    observations: Sequence[Observation],
    held_out: Sequence[float],
    evidence_counts: Mapping[str, int],
    budgets: Sequence[int],
) -> list[RecallRow]:
    before = _by_question(observations, [row.score for row in observations])
    after = _by_question(observations, held_out)
    evidence = {(row.question, row.memory) for row in observations if row.is_evidence}

    def recall(candidates: Mapping[str, list[ScoredMemory]], packer: Any, budget: int) -> float:
        shares = []
        for question, count in evidence_counts.items():
            packed = packer.pack(candidates.get(question, []), budget).memories
            shares.append(sum((question, each.memory["id"]) in evidence for each in packed) / count)
        return float(np.mean(shares))

    greedy, optimal = GreedyKnapsackPacker(BudgetCalculator()), OptimalPacker(BudgetCalculator())
    return [
        RecallRow(budget, recall(before, greedy, budget), recall(after, greedy, budget), recall(after, optimal, budget))
        for budget in budgets
    ]


def _by_question(observations: Sequence[Observation], scores: Sequence[float]) -> dict[str, list[ScoredMemory]]:
    found = defaultdict[str, list[ScoredMemory]](list)
    for row, score in zip(observations, scores, strict=True):
        memory = {"id": row.memory, "content": "", "created_at": None, "token_counts": {_COUNTED: row.tokens}}
        found[row.question].append(ScoredMemory(memory, round(score, SCORE_DECIMALS), 0.0, 0.0, 0.0, 0.0, 0.0))
    return found
