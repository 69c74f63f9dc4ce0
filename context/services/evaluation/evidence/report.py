"""Many questions summed up, in all and by category; and two runs compared question by question (ADR-0079)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from context.services.evaluation.evidence.intervals import Estimate, Values, estimate_means
from context.services.evaluation.evidence.measures import QuestionMeasures

#: The measures that have an interval, in the order in which people read them.
MEASURES: Mapping[str, Callable[[QuestionMeasures], float | None]] = {
    "recall": lambda measured: measured.recall,
    "full": lambda measured: float(measured.is_full),
    "containment": lambda measured: measured.containment,
    "mrr": lambda measured: measured.reciprocal_rank,
    "current_first": lambda measured: measured.is_current_first,
    "tokens": lambda measured: measured.tokens,
}


@dataclass(frozen=True)
class MeasuredAnswer:
    """What was measured of a question, at one budget."""

    question_id: str
    category: str
    measured: QuestionMeasures


@dataclass(frozen=True)
class MeasuresSummary:
    """What holds for many questions at one budget.

    `measures` are means by their names in `MEASURES`, without those that apply to no question: `recall` of the
    evidence, `full` evidence held, `containment` of the answers' words, `mrr`, `current_first` (evidence before
    everything stale) and `tokens`. Latencies in milliseconds.
    """

    questions: int
    measures: Mapping[str, Estimate]
    milliseconds_p50: float
    milliseconds_p95: float

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> MeasuresSummary:
        """From what `asdict` gave."""
        measures = {name: Estimate(**estimate) for name, estimate in stored["measures"].items()}
        return cls(**{**stored, "measures": measures})


@dataclass(frozen=True)
class EvaluationReport:
    """All questions of a run at one budget, and those of each category, in the order of their names."""

    total: MeasuresSummary
    categories: Mapping[str, MeasuresSummary]

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> EvaluationReport:
        """From what `asdict` gave."""
        categories = {name: MeasuresSummary.from_dict(summary) for name, summary in stored["categories"].items()}
        return cls(MeasuresSummary.from_dict(stored["total"]), categories)


@dataclass(frozen=True)
class RunDifference:
    """The second run less the first, over the `questions` that both were asked.

    `measures` as in `MeasuresSummary`. `only_first` and `only_second` count the questions of one run alone (excluded).
    """

    questions: int
    measures: Mapping[str, Estimate]
    only_first: int
    only_second: int


def build_evaluation_report(answers: Sequence[MeasuredAnswer]) -> EvaluationReport:
    """Sum up a run at one budget; questions without a category count in the total alone.

    Raises `ValueError` where there is no answer.
    """
    names = sorted({answer.category for answer in answers} - {""})
    return EvaluationReport(
        total=summarise_measures([answer.measured for answer in answers]),
        categories={
            name: summarise_measures([answer.measured for answer in answers if answer.category == name])
            for name in names
        },
    )


def summarise_measures(measured: Sequence[QuestionMeasures]) -> MeasuresSummary:
    """Sum up questions. Raises `ValueError` where there is none."""
    if not measured:
        raise ValueError("there is no answer to sum up")
    p50, p95 = np.percentile([each.milliseconds for each in measured], [50, 95])
    return MeasuresSummary(
        questions=len(measured),
        measures=_named(estimate_means(_columns(measured))),
        milliseconds_p50=round(float(p50), 3),
        milliseconds_p95=round(float(p95), 3),
    )


def run_difference(first: Sequence[MeasuredAnswer], second: Sequence[MeasuredAnswer]) -> RunDifference:
    """How the second run differs from the first, question by question, at one budget of each.

    Raises `ValueError` where they share no question.
    """
    before = {answer.question_id: answer.measured for answer in first}
    after = {answer.question_id: answer.measured for answer in second}
    # Sorted: the interval must not depend on the order in which either run was asked.
    shared = sorted(before.keys() & after.keys())
    if not shared:
        raise ValueError("the two runs share no question")
    steps = _columns([after[name] for name in shared]) - _columns([before[name] for name in shared])
    return RunDifference(
        questions=len(shared),
        measures=_named(estimate_means(steps)),
        only_first=len(before) - len(shared),
        only_second=len(after) - len(shared),
    )


def _columns(measured: Sequence[QuestionMeasures]) -> Values:
    """(questions, measures) in the order of `MEASURES`; NaN where a measure does not apply."""
    rows = [[read(each) for read in MEASURES.values()] for each in measured]
    return np.array(rows, dtype=np.float64)


def _named(estimates: Sequence[Estimate | None]) -> dict[str, Estimate]:
    return {name: found for name, found in zip(MEASURES, estimates, strict=True) if found is not None}
