"""The budget curve of one question: what each further token brings, and where that stops (ADR-0080)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from context.assembly.repacking import prepare_repacking
from context.assembly.requests import resolve_context_request
from context.assembly.trimming import TrimmedContext
from context.models import GoldenQuestion
from context.profiles.token_counters import budget_calculator
from context.receipts.results import MEMORY, ContextRequest
from context.services.evaluation.knee import knee_index
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.charts import Chart, ChartRow

#: Half a doubling from one to the next, in tokens.
CURVE_BUDGETS = (125, 180, 250, 350, 500, 700, 1000, 1400, 2000, 2800, 4000, 5600, 8000)


@dataclass(frozen=True)
class CurvePoint:
    """One budget: the tokens used, of which the memo and summaries take `leading`, the memories kept, the sum of their
    scores, and the share of what is wanted.

    `gain` is the score that the budget brings beyond the one before; `wanted_share` is None where nobody said what is
    wanted.
    """

    budget: int
    used: int
    leading: int
    items: int
    score: float
    gain: float
    wanted_share: float | None


@dataclass(frozen=True)
class BudgetCurve:
    """The points, from the smallest budget on; the place of the knee, None where nothing bends."""

    points: Sequence[CurvePoint]
    knee: int | None
    wanted: int
    warnings: Sequence[str]

    @property
    def knee_point(self) -> CurvePoint | None:
        return None if self.knee is None else self.points[self.knee]

    @property
    def chart(self) -> Chart:
        """Scores as a share of the highest, and beside them the share of what is wanted; budgets to scale."""
        highest = max(point.score for point in self.points) or 1.0
        return Chart(
            title="Score over budget",
            unit="% of the highest sum of scores",
            series=["score captured", "wanted memories"] if self.wanted else ["score captured"],
            rows=[
                ChartRow(
                    point.budget,
                    [100 * point.score / highest, *([100 * (point.wanted_share or 0.0)] if self.wanted else [])],
                    mark="knee" if point == self.knee_point else "",
                )
                for point in self.points
            ],
            kind="number",
            x_name="Budget in tokens",
            height=240,
        )


def budget_curve_of_request(request: ContextRequest, *, tenant_id: UUID, now: datetime) -> BudgetCurve:
    """The curve of a preview: the same wish at every budget that the model's window holds. Called with no scope open.

    It is read once, for the largest budget, and packed for each (ADR-0087). Raises what the assembly raises for a wish
    that cannot be granted.
    """
    if not request.preview:
        raise ValueError("a curve only previews")
    calculator = budget_calculator()
    window = calculator.context_window(request.model or None)
    budgets = [budget for budget in CURVE_BUDGETS if budget <= window]
    largest = replace(request, max_tokens=budgets[-1])
    wish = resolve_context_request(
        largest, tenant_id=tenant_id, reach="", api_key_id=None, calculator=calculator, now=now
    )
    gathered = prepare_repacking(wish, tenant_id, now)
    with tenant_scope(tenant_id):
        wanted = _wanted(tenant_id, request)
    points: list[CurvePoint] = []
    for budget in budgets:
        points.append(_point(budget, gathered.fitted_at(budget), wanted, points[-1].score if points else 0.0))
    notices = dict.fromkeys(notice.detail for notice in gathered.notices)
    return BudgetCurve(points, knee_index(budgets, [point.score for point in points]), len(wanted), list(notices))


def _wanted(tenant_id: UUID, wish: ContextRequest) -> set[UUID]:
    """What a golden question of these words in this partition wants."""
    rows = GoldenQuestion.objects.for_tenant(tenant_id).standing().worded(wish.query.strip(), wish.partition)
    return {memory_id for ids in rows.wanted_ids().values() for memory_id in ids}


def _point(budget: int, fitted: TrimmedContext, wanted: Collection[UUID], before: float) -> CurvePoint:
    memories = [block for block in fitted.blocks if block.anchor.type == MEMORY]
    score = round(sum(block.score or 0.0 for block in memories), 6)
    held = {UUID(block.anchor.id) for block in memories}
    share = len(held & set(wanted)) / len(wanted) if wanted else None
    leading = sum(block.tokens for block in fitted.blocks if block.anchor.type != MEMORY)
    return CurvePoint(budget, fitted.tokens, leading, len(memories), score, round(score - before, 6), share)
