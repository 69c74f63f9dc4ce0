"""The budget curve of one question: what each further token brings, and where that stops (ADR-0080)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from context.assembly import assemble_context
from context.models import GoldenQuestion
from context.results import MEMORY, AssembledContext, ContextRequest
from context.services.budget_charts import BudgetChart, Interval, budget_chart
from context.services.knee import knee_of
from memories.audit import Actor
from memories.scopes import tenant_scope

#: Half a doubling from one to the next, in tokens.
CURVE_BUDGETS = (125, 180, 250, 350, 500, 700, 1000, 1400, 2000, 2800, 4000, 5600, 8000)


@dataclass(frozen=True)
class CurvePoint:
    """One budget: the tokens used, the memories kept, the sum of their scores, and the share of what is wanted.

    `gain` is the score that the budget brings beyond the one before; `wanted_share` is None where nobody said what is
    wanted.
    """

    budget: int
    used: int
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
    def chart(self) -> BudgetChart:
        """Scores as a share of the highest, and beside them the share of what is wanted."""
        highest = max(point.score for point in self.points) or 1.0
        series = [("score captured", [Interval(point.score / highest) for point in self.points])]
        if self.wanted:
            series.append(("wanted memories", [Interval(point.wanted_share or 0.0) for point in self.points]))
        return budget_chart([point.budget for point in self.points], series, knee=self.knee)


def curve_of(wish: ContextRequest, *, tenant_id: UUID, actor: Actor, now: datetime) -> BudgetCurve:
    """The curve of a preview: the same wish at every budget. Called with no scope open.

    Raises what the assembly raises for a wish that cannot be granted.
    """
    if not wish.preview:
        raise ValueError("a curve only previews")
    contexts = [
        assemble_context(replace(wish, max_tokens=budget), tenant_id=tenant_id, reach="", actor=actor, now=now)
        for budget in CURVE_BUDGETS
    ]
    with tenant_scope(tenant_id):
        wanted = _wanted(tenant_id, wish)
    points: list[CurvePoint] = []
    for budget, context in zip(CURVE_BUDGETS, contexts, strict=True):
        points.append(_point(budget, context, wanted, points[-1].score if points else 0.0))
    scores = [point.score for point in points]
    notices = {notice.detail: None for context in contexts for notice in context.warnings}
    return BudgetCurve(points, knee_of(CURVE_BUDGETS, scores), len(wanted), list(notices))


def _wanted(tenant_id: UUID, wish: ContextRequest) -> set[UUID]:
    """What a golden question of these words in this partition wants."""
    rows = GoldenQuestion.objects.for_tenant(tenant_id).standing().worded(wish.query.strip(), wish.partition)
    return {memory_id for ids in rows.wanted_ids().values() for memory_id in ids}


def _point(budget: int, context: AssembledContext, wanted: Collection[UUID], before: float) -> CurvePoint:
    memories = [block for block in context.blocks if block.anchor.type == MEMORY]
    score = round(sum(block.score or 0.0 for block in memories), 6)
    held = {UUID(block.anchor.id) for block in memories}
    share = len(held & set(wanted)) / len(wanted) if wanted else None
    return CurvePoint(budget, context.budget.used, len(memories), score, round(score - before, 6), share)
