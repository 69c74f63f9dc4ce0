"""How much of the evidence contexts include: measures by question, bootstrap intervals, comparison (ADR-0079).

The same questions always give the same interval.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from context.services.evaluation.answer_words import answer_word_share, significant_words

CONFIDENCE_PERCENT = 95
RESAMPLES = 2_000
#: Rows of a matrix, with a column per question, that is in memory at a time.
RESAMPLES_BATCH = 100
#: The seed is fixed, so that the same answers always have the same interval.
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
        """Whether the interval of a difference excludes 0."""
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
    both = np.hstack([values, known])
    sums = [
        _draw_counts(generator, min(RESAMPLES_BATCH, RESAMPLES - done), questions) @ both
        for done in range(0, RESAMPLES, RESAMPLES_BATCH)
    ]
    totals, counts = np.hsplit(np.vstack(sums), 2)
    with np.errstate(invalid="ignore"):
        means: Values = totals / counts
    return means


def _draw_counts(generator: np.random.Generator, draws: int, questions: int) -> Values:
    """Return (draws, questions): how many times each question is drawn with replacement."""
    drawn = generator.integers(0, questions, (draws, questions)) + np.arange(draws)[:, None] * questions
    return np.bincount(drawn.ravel(), minlength=draws * questions).reshape(draws, questions).astype(np.float64)


def _estimate(mean: float, resampled: Values, questions: int) -> Estimate:
    outside = (100 - CONFIDENCE_PERCENT) / 2
    low, high = np.nanpercentile(resampled, [outside, 100 - outside])
    return Estimate(round(mean, 6), round(float(low), 6), round(float(high), 6), questions)


@dataclass(frozen=True)
class QuestionMeasures:
    """The measures of one question at one budget.

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
    """Return the measures of a context for at least one `evidence`; `ranked` are its memories, best score first."""
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


def _first_rank(ranked: Sequence[Hashable], relevant: Collection[Hashable]) -> int | None:
    return next((rank for rank, memory_id in enumerate(ranked, start=1) if memory_id in relevant), None)


#: The measures that have an interval, in the order in which people read them.
MEASURES: Mapping[str, Callable[[QuestionMeasures], float | None]] = {
    "recall": lambda measured: measured.held / measured.evidence,
    "full": lambda measured: measured.held == measured.evidence,
    "containment": lambda measured: measured.containment,
    "mrr": lambda measured: 1 / measured.evidence_rank if measured.evidence_rank else 0.0,
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


class RunDifference(NamedTuple):
    """The second run minus the first over the questions of both; `measures` as in `MeasuresSummary`."""

    questions: int
    measures: Mapping[str, Estimate]


def build_evaluation_report(answers: Sequence[MeasuredAnswer]) -> EvaluationReport:
    """Return the means of a run (at least one answer) at one budget; the empty category counts in the total only."""
    groups: dict[str, list[QuestionMeasures]] = {name: [] for name in sorted({answer.category for answer in answers})}
    for answer in answers:
        groups[answer.category].append(answer.measured)
    total = summarise_measures([answer.measured for answer in answers])
    return EvaluationReport(total, {name: summarise_measures(group) for name, group in groups.items() if name})


def summarise_measures(measured: Sequence[QuestionMeasures]) -> MeasuresSummary:
    """Return the means of questions, at least one."""
    p50, p95 = np.percentile([each.milliseconds for each in measured], [50, 95])
    return MeasuresSummary(
        questions=len(measured),
        measures=_named(estimate_means(_columns(measured))),
        milliseconds_p50=round(float(p50), 3),
        milliseconds_p95=round(float(p95), 3),
    )


def run_difference(first: Sequence[MeasuredAnswer], second: Sequence[MeasuredAnswer]) -> RunDifference:
    """Return the second run minus the first, question by question. They share at least one question."""
    before = {answer.question_id: answer.measured for answer in first}
    after = {answer.question_id: answer.measured for answer in second}
    # Sorted: the interval must not depend on the order of the questions in either run.
    shared = sorted(before.keys() & after.keys())
    steps = _columns([after[name] for name in shared]) - _columns([before[name] for name in shared])
    return RunDifference(questions=len(shared), measures=_named(estimate_means(steps)))


def _columns(measured: Sequence[QuestionMeasures]) -> Values:
    """Return (questions, measures) in the order of `MEASURES`; NaN if a measure does not apply."""
    return np.array([[read(each) for read in MEASURES.values()] for each in measured], dtype=np.float64)


def _named(estimates: Sequence[Estimate | None]) -> dict[str, Estimate]:
    return {name: found for name, found in zip(MEASURES, estimates, strict=True) if found is not None}
