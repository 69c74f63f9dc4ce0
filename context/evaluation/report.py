"""What a run found: its answers summed up once, its tables and chart for people, and two runs question by question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

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
from memories.tenancy.exceptions import InvalidInput
from memory_platform.web.charts import BudgetChart, Chart, ChartRow, Interval, budget_chart
from memory_platform.web.numerals import with_minus_sign

#: What people read of each measure, in this order; shares are written in percent.
_HEADINGS = {
    "recall": "Evidence held",
    "full": "All evidence held",
    "containment": "Answer words held",
    "mrr": "Reciprocal rank",
    "current_first": "Right time first",
    "tokens": "Tokens",
}
_SHARES = ("recall", "full", "containment", "current_first")
#: Fewer tokens are neither better nor worse.
JUDGED = ("recall", "full", "containment", "mrr", "current_first")
LATENCY_HEADINGS = ("Time p50", "Time p95")
ALL_QUESTIONS = "All questions"


@dataclass(frozen=True)
class ReportCell:
    """One number for people, with its interval where it has one."""

    name: str
    text: str
    range: str = ""
    is_better: bool = False
    is_worse: bool = False


@dataclass(frozen=True)
class ReportRow:
    """One budget (tokens)."""

    budget: int
    cells: Sequence[ReportCell]


@dataclass(frozen=True)
class ReportTable:
    """The budgets of all questions, or of one category."""

    name: str
    questions: int
    headings: Sequence[str]
    rows: Sequence[ReportRow]


@dataclass(frozen=True)
class RunReport:
    """A finished run as a page and the command show it."""

    tables: Sequence[ReportTable]
    chart: BudgetChart


def run_results(answers: Sequence[EvaluationAnswer], budgets: Iterable[int]) -> dict[str, Any]:
    """The summary of a run by budget, as its row keeps it."""
    return {str(budget): _result(answers, str(budget)) for budget in budgets}


def _result(answers: Sequence[EvaluationAnswer], budget: str) -> dict[str, Any]:
    return {
        "report": asdict(build_evaluation_report(_answers(answers, budget))),
        "score": round(fmean(answer.measures[budget]["score"] for answer in answers), 6),
        "items": round(fmean(answer.measures[budget]["items"] for answer in answers), 3),
    }


def _answers(rows: Iterable[EvaluationAnswer], budget: str) -> list[MeasuredAnswer]:
    return [
        MeasuredAnswer(row.question_id, row.category, QuestionMeasures(**row.measures[budget]["measured"]))
        for row in rows
    ]


def evaluation_report(run: EvaluationRun) -> RunReport | None:
    """The tables and the chart of a run; None for one that is not done."""
    if not run.results:
        return None
    reports = {budget: EvaluationReport.from_dict(run.results[str(budget)]["report"]) for budget in run.budgets}
    categories = next(iter(reports.values())).categories
    tables = [_table(ALL_QUESTIONS, {budget: report.total for budget, report in reports.items()})]
    tables += [
        _table(name, {budget: report.categories[name] for budget, report in reports.items()}) for name in categories
    ]
    return RunReport(tables, _chart(run, reports))


def _table(name: str, summaries: Mapping[int, MeasuresSummary]) -> ReportTable:
    first = next(iter(summaries.values()))
    shown = [measure for measure in _HEADINGS if measure in first.measures]
    rows = [
        ReportRow(budget, [*(_cell(measure, summary.measures.get(measure)) for measure in shown), *_latency(summary)])
        for budget, summary in summaries.items()
    ]
    return ReportTable(name, first.questions, [*(_HEADINGS[measure] for measure in shown), *LATENCY_HEADINGS], rows)


def _cell(measure: str, estimate: Estimate | None) -> ReportCell:
    if estimate is None:
        return ReportCell(_HEADINGS[measure], "–")
    low, high = (_written(measure, value).removesuffix(" %") for value in (estimate.low, estimate.high))
    return ReportCell(_HEADINGS[measure], _written(measure, estimate.value), f"{low} to {high}")


def _written(measure: str, value: float) -> str:
    if measure in _SHARES:
        return f"{100 * value:.1f} %"
    return f"{value:,.0f}" if measure == "tokens" else f"{value:.3f}"


def _latency(summary: MeasuresSummary) -> list[ReportCell]:
    times = (summary.milliseconds_p50, summary.milliseconds_p95)
    return [ReportCell(name, f"{took:.1f} ms") for name, took in zip(LATENCY_HEADINGS, times, strict=True)]


def _chart(run: EvaluationRun, reports: Mapping[int, EvaluationReport]) -> BudgetChart:
    """Evidence held with its intervals, all of it held, and the score captured as a share of the highest."""
    totals = [report.total.measures for report in reports.values()]
    scores = [run.results[str(budget)]["score"] for budget in run.budgets]
    highest = max(scores) or 1.0
    series = [(_HEADINGS[name], [_interval(total[name]) for total in totals]) for name in ("recall", "full")]
    series.append(("Score captured", [Interval(score / highest) for score in scores]))
    recalls = [total["recall"].value for total in totals]
    return budget_chart(run.budgets, series, knee=knee_index(run.budgets, recalls))


def _interval(estimate: Estimate) -> Interval:
    return Interval(estimate.value, estimate.low, estimate.high)


def evidence_cells(run: EvaluationRun) -> dict[int, ReportCell]:
    """The share of the evidence that contexts of a finished run hold, by budget."""
    return {budget: _cell("recall", estimate) for budget, estimate in _evidence(run).items()}


def evidence_gain(run: EvaluationRun, other: EvaluationRun) -> dict[int, ReportCell]:
    """How much more of it than those of another run, by budget; better or worse where the intervals lie apart."""
    here, there = _evidence(run), _evidence(other)
    return {
        budget: ReportCell(
            _HEADINGS["recall"],
            _signed("recall", here[budget].value - there[budget].value),
            is_better=here[budget].low > there[budget].high,
            is_worse=here[budget].high < there[budget].low,
        )
        for budget in here
        if budget in there
    }


def _evidence(run: EvaluationRun) -> dict[int, Estimate]:
    reports = {budget: run.results.get(str(budget)) for budget in run.budgets}
    return {
        budget: EvaluationReport.from_dict(found["report"]).total.measures["recall"]
        for budget, found in reports.items()
        if found
    }


def run_differences(run: EvaluationRun, other: EvaluationRun) -> dict[int, RunDifference]:
    """`run` less `other` at each budget that both were asked at; inside a scope that reads both.

    Raises `InvalidInput` `not_comparable` where they share no question or no budget.
    """
    budgets = sorted(set(run.budgets) & set(other.budgets))
    rows, other_rows = (
        list(EvaluationAnswer.objects.for_tenant(each.tenant_id).of_run(each.pk).in_order()) for each in (run, other)
    )
    if not budgets or not {row.question_id for row in rows} & {row.question_id for row in other_rows}:
        raise InvalidInput("not_comparable", "The two runs share no question or no budget.", "compare")
    return {
        budget: run_difference(_answers(other_rows, str(budget)), _answers(rows, str(budget))) for budget in budgets
    }


@dataclass(frozen=True)
class RunComparisonRow:
    """The evidence held at one budget by both runs, and the difference question by question."""

    budget: int
    here: ReportCell
    there: ReportCell
    difference: ReportCell


def run_comparison_rows(run: EvaluationRun, other: EvaluationRun, comparison: ReportTable) -> list[RunComparisonRow]:
    """Both runs side by side at the budgets of their `comparison`."""
    here, there = evidence_cells(run), evidence_cells(other)
    return [
        RunComparisonRow(
            row.budget, here[row.budget], there[row.budget], row.cells[comparison.headings.index(_HEADINGS["recall"])]
        )
        for row in comparison.rows
    ]


def run_comparison_chart(run: EvaluationRun, other: EvaluationRun) -> Chart:
    """The same as two curves."""
    here, there = _evidence(run), _evidence(other)
    rows = [
        ChartRow(budget, [100 * here[budget].value, 100 * there[budget].value], label=f"{budget:,} tokens")
        for budget in here
        if budget in there
    ]
    names = [f"{each.profile_name} {each.profile_version}, {each.packer}" for each in (run, other)]
    if names[0] == names[1]:
        names = [f"{name}, {which}" for name, which in zip(names, ("this run", "the other"), strict=True)]
    return Chart(_HEADINGS["recall"], "%", names, rows, kind="number", x_name="Budget in tokens", digits=1, height=240)


def evidence_range_text(run: EvaluationRun) -> str:
    """The evidence held at the smallest and at the largest budget, to read; "" for a run that is not done."""
    shares = [f"{cell.text} at {budget:,}" for budget, cell in evidence_cells(run).items()]
    return ", ".join(dict.fromkeys([shares[0], shares[-1]])) + " tokens" if shares else ""


def describe_run_comparison(run: EvaluationRun, other: EvaluationRun) -> ReportTable:
    """`run` less `other` for people; inside a scope that reads both. Raises `InvalidInput` `not_comparable`."""
    differences = run_differences(run, other)
    first = next(iter(differences.values()))
    shown = [measure for measure in _HEADINGS if measure in first.measures]
    rows = [
        ReportRow(budget, [_step(measure, difference.measures[measure]) for measure in shown])
        for budget, difference in differences.items()
    ]
    return ReportTable("Difference", first.questions, [_HEADINGS[measure] for measure in shown], rows)


def _step(measure: str, estimate: Estimate) -> ReportCell:
    low, high = (_signed(measure, value) for value in (estimate.low, estimate.high))
    low = low.removesuffix(" pp").removesuffix(" tokens")
    is_told = measure in JUDGED and estimate.is_beyond_chance
    return ReportCell(
        _HEADINGS[measure],
        _signed(measure, estimate.value),
        f"{low} to {high}",
        is_better=is_told and estimate.value > 0,
        is_worse=is_told and estimate.value < 0,
    )


def _signed(measure: str, value: float) -> str:
    """A difference with its unit: shares in percentage points; what rounds to nothing has no sign."""
    if measure in _SHARES:
        return f"{_plain_zero(100 * value, 1)} pp"
    if measure == "tokens":
        return f"{_plain_zero(value, 0)} tokens"
    return _plain_zero(value, 3)


def _plain_zero(value: float, decimals: int) -> str:
    text = f"{value:+,.{decimals}f}"
    return with_minus_sign(text) if float(text.replace(",", "")) else text[1:]
