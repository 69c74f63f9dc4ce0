"""The report of a run: its stored results, its tables and chart for people, and the comparison of two runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, NamedTuple

from context.models import EvaluationAnswer, EvaluationRun
from context.services.evaluation.evidence import (
    Estimate,
    EvaluationReport,
    MeasuredAnswer,
    MeasuresSummary,
    QuestionMeasures,
    RunDifference,
    build_evaluation_report,
    run_difference,
)
from context.services.evaluation.knee import knee_index
from context.services.profiles.publishing import EvidenceComparison
from memories.tenancy.exceptions import InvalidInput
from memory_platform.web.charts import BudgetChart, Chart, ChartRow, Interval, budget_chart
from memory_platform.web.numerals import with_minus_sign


@dataclass(frozen=True)
class ReportCell:
    """One formatted number, with its interval if it has one."""

    name: str
    text: str
    range: str = ""
    is_better: bool = False
    is_worse: bool = False


@dataclass(frozen=True)
class ReportRow:
    """The measures at one budget (tokens)."""

    budget: int
    cells: Sequence[ReportCell]


@dataclass(frozen=True)
class ReportTable:
    """The budgets of all questions, of one category, or of a difference."""

    name: str
    questions: int
    rows: Sequence[ReportRow]

    @property
    def headings(self) -> list[str]:
        return [cell.name for cell in self.rows[0].cells]


class RunReport(NamedTuple):
    """A finished run as a page and the command show it."""

    tables: Sequence[ReportTable]
    chart: BudgetChart


@dataclass(frozen=True)
class _Measure:
    """How a measure and its difference are displayed."""

    heading: str
    decimals: int = 3
    scale: float = 1.0
    unit: str = ""
    difference_unit: str = ""
    has_direction: bool = True

    def cell(self, estimate: Estimate | None) -> ReportCell:
        """Return the value with its interval; a dash for None."""
        if estimate is None:
            return ReportCell(self.heading, "–")
        value, low, high = (
            f"{self.scale * number:,.{self.decimals}f}" for number in (estimate.value, estimate.low, estimate.high)
        )
        return ReportCell(self.heading, f"{value}{self.unit}", f"{low} to {high}")

    def difference_cell(self, estimate: Estimate) -> ReportCell:
        """Return a difference with its interval, and whether it is better or worse beyond chance."""
        is_significant = self.has_direction and estimate.is_beyond_chance
        return ReportCell(
            self.heading,
            self.signed(estimate.value),
            f"{self.signed(estimate.low).removesuffix(self.difference_unit)} to {self.signed(estimate.high)}",
            is_better=is_significant and estimate.value > 0,
            is_worse=is_significant and estimate.value < 0,
        )

    def signed(self, difference: float) -> str:
        """Return a difference with unit and sign, without sign if it rounds to zero."""
        text = f"{self.scale * difference:+,.{self.decimals}f}"
        text = with_minus_sign(text) if float(text.replace(",", "")) else text[1:]
        return f"{text}{self.difference_unit}"


def _share(heading: str) -> _Measure:
    return _Measure(heading, decimals=1, scale=100, unit=" %", difference_unit=" pp")


#: In display order. Fewer tokens are neither better nor worse.
_MEASURES = {
    "recall": _share("Evidence included"),
    "full": _share("All evidence included"),
    "containment": _share("Answer words included"),
    "mrr": _Measure("Reciprocal rank"),
    "current_first": _share("Right time first"),
    "tokens": _Measure("Tokens", decimals=0, difference_unit=" tokens", has_direction=False),
}
_EVIDENCE = _MEASURES["recall"]


def run_results(answers: Sequence[EvaluationAnswer], budgets: Iterable[int]) -> dict[str, Any]:
    """Return the summary of a run for each budget, in the form in which it is stored in the run's row."""
    return {
        str(budget): {
            "report": asdict(build_evaluation_report(_measured_answers(answers, budget))),
            "score": round(fmean(answer.measures[str(budget)]["score"] for answer in answers), 6),
            "items": round(fmean(answer.measures[str(budget)]["items"] for answer in answers), 3),
        }
        for budget in budgets
    }


def _measured_answers(rows: Iterable[EvaluationAnswer], budget: int) -> list[MeasuredAnswer]:
    return [
        MeasuredAnswer(row.question_id, row.category, QuestionMeasures(**row.measures[str(budget)]["measured"]))
        for row in rows
    ]


def _reports(run: EvaluationRun) -> dict[int, EvaluationReport]:
    stored = {budget: run.results.get(str(budget)) for budget in run.budgets}
    return {budget: EvaluationReport.from_dict(result["report"]) for budget, result in stored.items() if result}


def evaluation_report(run: EvaluationRun) -> RunReport | None:
    """Return the tables and the chart of a run; None for an unfinished one."""
    reports = _reports(run)
    if not reports:
        return None
    tables = [_table("All questions", {budget: report.total for budget, report in reports.items()})]
    tables += [
        _table(name, {budget: report.categories[name] for budget, report in reports.items()})
        for name in next(iter(reports.values())).categories
    ]
    return RunReport(tables, _chart(run, [report.total.measures for report in reports.values()]))


def _table(name: str, summaries: Mapping[int, MeasuresSummary]) -> ReportTable:
    first = next(iter(summaries.values()))
    shown = [measure for measure in _MEASURES if measure in first.measures]
    rows = [
        ReportRow(
            budget,
            [
                *(_MEASURES[measure].cell(summary.measures.get(measure)) for measure in shown),
                ReportCell("Time p50", f"{summary.milliseconds_p50:.1f} ms"),
                ReportCell("Time p95", f"{summary.milliseconds_p95:.1f} ms"),
            ],
        )
        for budget, summary in summaries.items()
    ]
    return ReportTable(name, first.questions, rows)


def _chart(run: EvaluationRun, totals: Sequence[Mapping[str, Estimate]]) -> BudgetChart:
    """Return the evidence recall with intervals, the share with all evidence, and the score relative to the highest."""
    scores = [run.results[str(budget)]["score"] for budget in run.budgets]
    highest = max(scores) or 1.0
    series = [
        (_MEASURES[name].heading, [Interval(total[name].value, total[name].low, total[name].high) for total in totals])
        for name in ("recall", "full")
    ]
    series.append(("Score captured", [Interval(score / highest) for score in scores]))
    return budget_chart(run.budgets, series, knee=knee_index(run.budgets, [total["recall"].value for total in totals]))


def _evidence(run: EvaluationRun) -> dict[int, Estimate]:
    return {budget: report.total.measures["recall"] for budget, report in _reports(run).items()}


def evidence_rows(run: EvaluationRun, base: EvaluationRun | None) -> list[ReportRow]:
    """Return by budget the evidence recall of a run, that of `base`, and the difference; dashes for what is missing.

    A difference is significant if the intervals do not overlap.
    """
    ours, theirs = _evidence(run), _evidence(base) if base else {}
    rows = []
    for budget, own in ours.items():
        other, difference = theirs.get(budget), _EVIDENCE.cell(None)
        if other is not None:
            difference = ReportCell(
                _EVIDENCE.heading,
                _EVIDENCE.signed(own.value - other.value),
                is_better=own.low > other.high,
                is_worse=own.high < other.low,
            )
        rows.append(ReportRow(budget, [_EVIDENCE.cell(own), _EVIDENCE.cell(other), difference]))
    return rows


def published_evidence_rows(comparison: EvidenceComparison) -> list[ReportRow]:
    """Return by budget the evidence recall of a version, that of the profile in use, and the paired difference."""
    return [
        ReportRow(
            row.budget,
            [
                *(ReportCell(_EVIDENCE.heading, f"{100 * share:.1f} %") for share in (row.value, row.base_value)),
                _EVIDENCE.difference_cell(row.difference),
            ],
        )
        for row in comparison.rows
    ]


def evidence_range_text(run: EvaluationRun) -> str:
    """Return the evidence recall at the smallest and the largest budget as text; "" for an unfinished run."""
    shares = [f"{_EVIDENCE.cell(share).text} at {budget:,}" for budget, share in _evidence(run).items()]
    return ", ".join(dict.fromkeys([shares[0], shares[-1]])) + " tokens" if shares else ""


def run_differences(run: EvaluationRun, other: EvaluationRun, *, field: str = "compare") -> dict[int, RunDifference]:
    """Return `run` minus `other`, question by question, at each budget of both; inside a scope that reads both.

    Raises `InvalidInput` `not_comparable`, naming `field`, if they share no question or no budget.
    """
    budgets = sorted(set(run.budgets) & set(other.budgets))
    rows, other_rows = (
        list(EvaluationAnswer.objects.for_tenant(each.tenant_id).of_run(each.pk).in_order()) for each in (run, other)
    )
    if not budgets or not {row.question_id for row in rows} & {row.question_id for row in other_rows}:
        raise InvalidInput("not_comparable", "The two runs share no question or no budget.", field)
    return {
        budget: run_difference(_measured_answers(other_rows, budget), _measured_answers(rows, budget))
        for budget in budgets
    }


def run_comparison_table(run: EvaluationRun, other: EvaluationRun) -> ReportTable:
    """Return the differences of two runs for people; raises as `run_differences` does."""
    differences = run_differences(run, other)
    first = next(iter(differences.values()))
    shown = [measure for measure in _MEASURES if measure in first.measures]
    table = [
        ReportRow(budget, [_MEASURES[measure].difference_cell(difference.measures[measure]) for measure in shown])
        for budget, difference in differences.items()
    ]
    return ReportTable("Difference", first.questions, table)


def run_comparison_rows(run: EvaluationRun, other: EvaluationRun, comparison: ReportTable) -> list[ReportRow]:
    """Return the evidence recall of both runs and its difference at the budgets of their `comparison`."""
    place = comparison.headings.index(_EVIDENCE.heading)
    differences = {row.budget: row.cells[place] for row in comparison.rows}
    rows = [row for row in evidence_rows(run, other) if row.budget in differences]
    return [ReportRow(row.budget, [*row.cells[:2], differences[row.budget]]) for row in rows]


def run_comparison_chart(run: EvaluationRun, other: EvaluationRun) -> Chart:
    """Return the evidence recall of both runs as two curves."""
    shares, other_shares = _evidence(run), _evidence(other)
    rows = [
        ChartRow(budget, [100 * shares[budget].value, 100 * other_shares[budget].value], label=f"{budget:,} tokens")
        for budget in shares
        if budget in other_shares
    ]
    names = [run.label, other.label]
    if names[0] == names[1]:
        names = [f"{name}, {which}" for name, which in zip(names, ("this run", "the other"), strict=True)]
    return Chart(_EVIDENCE.heading, "%", names, rows, kind="number", x_name="Budget in tokens", digits=1, height=240)
