"""How much of the evidence contexts include: measures by question, bootstrap intervals, comparison (ADR-0079).

The same questions always give the same interval.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from context.services.evaluation.answer_words import answer_word_share, significant_words

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
    """Return the mean of each column with its interval; None for a column without a number.

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
    """Return (resamples, measures): means over questions drawn with replacement; NaN for a draw without a number."""
    generator = np.random.default_rng(SEED)
    questions = len(values)
    times = (np.bincount(generator.integers(0, questions, questions), minlength=questions) for _ in range(RESAMPLES))
    with np.errstate(invalid="ignore"):
        return np.stack([(each @ values) / (each @ known) for each in times])


def _estimate(mean: float, resampled: Values, questions: int) -> Estimate:
    outside = (100 - CONFIDENCE_PERCENT) / 2
    low, high = np.nanpercentile(resampled, [outside, 100 - outside])
    return Estimate(round(mean, 6), round(float(low), 6), round(float(high), 6), questions)


@dataclass(frozen=True)
class QuestionMeasures:
    """One question at one budget.

    The question names `evidence` memories; the context includes `held` of them. `evidence_rank` and `stale_rank` are
    the ranks, from 1, of the first memory of either kind by score; None if there is none. `stale` memories are wrong
    for this question. `containment` is the share (0..1) of the answer's words in the text, None for an answer without
    words. `tokens` are those of the whole text.
    """

    evidence: int
    held: int
    evidence_rank: int | None
    stale: int
    stale_rank: int | None
    containment: float | None
    tokens: int
    milliseconds: float

    @property
    def recall(self) -> float:
        """The share of the evidence that the context includes."""
        return self.held / self.evidence

    @property
    def is_full(self) -> bool:
        """Whether the context includes all evidence."""
        return self.held == self.evidence

    @property
    def reciprocal_rank(self) -> float:
        """1 / the rank of the first evidence; 0 without any."""
        return 1 / self.evidence_rank if self.evidence_rank else 0.0

    @property
    def is_current_first(self) -> bool | None:
        """Whether evidence precedes everything stale; None if nothing is stale, False without evidence."""
        if not self.stale:
            return None
        return self.evidence_rank is not None and (self.stale_rank is None or self.evidence_rank < self.stale_rank)


def measure_retrieved_evidence(
    ranked: Sequence[Hashable],
    *,
    evidence: Collection[Hashable],
    stale: Collection[Hashable] = (),
    answer: str = "",
    text: str = "",
    tokens: int = 0,
    milliseconds: float = 0.0,
) -> QuestionMeasures:
    """Return the measures of a context. `ranked` are the ids of its memories, the highest score first.

    Raises `ValueError` if no evidence is named.
    """
    if not evidence:
        raise ValueError("a question names at least one memory as evidence")
    words = significant_words(answer)
    return QuestionMeasures(
        evidence=len(set(evidence)),
        held=len(set(evidence) & set(ranked)),
        evidence_rank=_first_rank(ranked, evidence),
        stale=len(set(stale)),
        stale_rank=_first_rank(ranked, stale),
        containment=answer_word_share(words, text) if words else None,
        tokens=tokens,
        milliseconds=milliseconds,
    )


def _first_rank(ranked: Sequence[Hashable], wanted: Collection[Hashable]) -> int | None:
    return next((rank for rank, memory_id in enumerate(ranked, start=1) if memory_id in wanted), None)


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
    """The measures of a question at one budget."""

    question_id: str
    category: str
    measured: QuestionMeasures


@dataclass(frozen=True)
class MeasuresSummary:
    """Means of many questions at one budget by their names in `MEASURES`, without those that apply to no question."""

    questions: int
    measures: Mapping[str, Estimate]
    milliseconds_p50: float
    milliseconds_p95: float

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> MeasuresSummary:
        """Return the object from the result of `asdict`."""
        measures = {name: Estimate(**estimate) for name, estimate in stored["measures"].items()}
        return cls(**{**stored, "measures": measures})


@dataclass(frozen=True)
class EvaluationReport:
    """All questions of a run at one budget, and those of each category, in the order of their names."""

    total: MeasuresSummary
    categories: Mapping[str, MeasuresSummary]

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> EvaluationReport:
        """Return the object from the result of `asdict`."""
        categories = {name: MeasuresSummary.from_dict(summary) for name, summary in stored["categories"].items()}
        return cls(MeasuresSummary.from_dict(stored["total"]), categories)


@dataclass(frozen=True)
class RunDifference:
    """The second run minus the first over the questions of both; `measures` as in `MeasuresSummary`."""

    questions: int
    measures: Mapping[str, Estimate]


def build_evaluation_report(answers: Sequence[MeasuredAnswer]) -> EvaluationReport:
    """Return the means of a run at one budget; questions without a category count in the total only.

    Raises `ValueError` without answers.
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
    """Return the means of questions. Raises `ValueError` without questions."""
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
    """Return the second run minus the first, question by question. Raises `ValueError` if they share no question."""
    before = {answer.question_id: answer.measured for answer in first}
    after = {answer.question_id: answer.measured for answer in second}
    # Sorted: the interval must not depend on the order in which either run was asked.
    shared = sorted(before.keys() & after.keys())
    if not shared:
        raise ValueError("the two runs share no question")
    steps = _columns([after[name] for name in shared]) - _columns([before[name] for name in shared])
    return RunDifference(questions=len(shared), measures=_named(estimate_means(steps)))


def _columns(measured: Sequence[QuestionMeasures]) -> Values:
    """(questions, measures) in the order of `MEASURES`; NaN where a measure does not apply."""
    rows = [[read(each) for read in MEASURES.values()] for each in measured]
    return np.array(rows, dtype=np.float64)


def _named(estimates: Sequence[Estimate | None]) -> dict[str, Estimate]:
    return {name: found for name, found in zip(MEASURES, estimates, strict=True) if found is not None}
