"""The budget curve of one query: what each larger budget adds, and its knee (ADR-0080)."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from context.assembly.layout import TrimmedContext
from context.assembly.repacking import RepackableContext, prepare_repacking
from context.assembly.requests import resolve_context_request
from context.assembly.sources import ContextCaller
from context.models import GoldenQuestion
from context.profiles.token_counters import budget_calculator
from context.receipts.results import MEMORY, ContextRequest
from context.services.evaluation.knee import knee_index
from context.services.workbench.inclusion_budget import InclusionPoint, smallest_inclusion_budget
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.charts import Chart, ChartRow

#: The budgets of a curve in tokens, two for each doubling.
CURVE_BUDGETS = (125, 180, 250, 350, 500, 700, 1000, 1400, 2000, 2800, 4000, 5600, 8000)
#: Budgets that are all tried between two points of the curve; more are narrowed down.
INCLUSION_BUDGETS_TESTED_MAX = 40


class CurvePoint(NamedTuple):
    """One budget: tokens used, of which memo and summaries take `leading`, included memories, and their total score.

    `gain` is the score beyond the budget before; `evidence_share` is the evidence recall, None if there is no golden
    question.
    """

    budget: int
    used: int
    leading: int
    items: int
    score: float
    gain: float
    evidence_share: float | None


@dataclass(frozen=True)
class BudgetCurve:
    """The points from the smallest budget on, and the index of the knee, None without one.

    `evidence` counts the live evidence, `evidence_total` all of it. `inclusion` is the smallest budget found that
    includes as much of the evidence as any does, None without live evidence.
    """

    points: Sequence[CurvePoint]
    knee: int | None
    evidence: int
    evidence_total: int
    warnings: Sequence[str]
    inclusion: InclusionPoint | None = None

    @property
    def evidence_included(self) -> int:
        """The most memories of the evidence that any point includes."""
        return round(self.evidence * _best_share(self.points))

    @property
    def recommended(self) -> int | None:
        """The recommended budget: that of the evidence, else of the knee."""
        if self.inclusion is not None:
            return self.inclusion.budget
        return self.knee_point.budget if self.knee_point else None

    @property
    def knee_point(self) -> CurvePoint | None:
        return None if self.knee is None else self.points[self.knee]

    @property
    def chart(self) -> Chart:
        """Scores as a share of the highest, and the evidence recall; budgets to scale."""
        highest = max(point.score for point in self.points) or 1.0
        series = ["score captured", "expected included"][: 2 if self.evidence else 1]
        rows = []
        for point in self.points:
            shares = [100 * point.score / highest, 100 * (point.evidence_share or 0.0)][: len(series)]
            rows.append(ChartRow(point.budget, shares, mark="diminishing returns" if point == self.knee_point else ""))
        unit = "% of the highest sum of scores"
        return Chart("Score by budget", unit, series, rows, kind="number", x_name="Budget in tokens", height=240)


def budget_curve_of_request(request: ContextRequest, caller: ContextCaller) -> BudgetCurve:
    """Return the curve of a preview: the same request at every budget within the model's window.

    Candidates are retrieved once, for the largest budget, and packed for each (ADR-0087). Call it with no scope open.
    Raises as `assemble_context` does.
    """
    window, tenant_id = budget_calculator().context_window(request.model or None), caller.tenant_id
    budgets = [budget for budget in CURVE_BUDGETS if budget <= window]
    retrieved = prepare_repacking(resolve_context_request(replace(request, max_tokens=budgets[-1]), caller))
    with tenant_scope(tenant_id):
        rows = GoldenQuestion.objects.for_tenant(tenant_id).not_removed().with_evidence(caller.now)
        golden = list(rows.with_text(request.query.strip(), request.partition or ""))
    evidence = {memory_id for row in golden for memory_id in row.memory_ids}
    expected = {memory_id for row in golden for memory_id in row.live_memory_ids}
    points: list[CurvePoint] = []
    for budget in budgets:
        points.append(_point(budget, retrieved.trimmed_at(budget), expected, points[-1].score if points else 0.0))
    notices = dict.fromkeys(notice.detail for notice in retrieved.candidates.notices)
    knee = knee_index(budgets, [point.score for point in points])
    inclusion = _inclusion(retrieved, points, expected)
    return BudgetCurve(points, knee, len(expected), len(evidence), list(notices), inclusion)


def _best_share(points: Sequence[CurvePoint]) -> float:
    return max((point.evidence_share or 0.0 for point in points), default=0.0)


def _inclusion(
    retrieved: RepackableContext, points: Sequence[CurvePoint], expected: Set[UUID]
) -> InclusionPoint | None:
    """Return the smallest budget that includes as much of the evidence as the best point, between it and the last."""
    best = _best_share(points)
    if not best:
        return None
    place = next(index for index, point in enumerate(points) if point.evidence_share == best)
    above = points[place - 1].budget if place else 0

    def includes(budget: int) -> bool:
        return (_point(budget, retrieved.trimmed_at(budget), expected, 0.0).evidence_share or 0.0) >= best

    return smallest_inclusion_budget(
        includes, above=above, highest=points[place].budget, tested_max=INCLUSION_BUDGETS_TESTED_MAX
    )


def _point(budget: int, fitted: TrimmedContext, expected: Set[UUID], before: float) -> CurvePoint:
    memories = [block for block in fitted.blocks if block.anchor.type == MEMORY]
    score = round(sum(block.score or 0.0 for block in memories), 6)
    included = {UUID(block.anchor.id) for block in memories}
    share = len(included & expected) / len(expected) if expected else None
    leading = sum(block.tokens for block in fitted.blocks if block.anchor.type != MEMORY)
    return CurvePoint(budget, fitted.tokens, leading, len(memories), score, round(score - before, 6), share)
