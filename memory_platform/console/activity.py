"""What goes on in a tenant over a stretch of time, as curves (ADR-0086)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from compaction.models import Compaction
from context.models import Receipt
from context.receipts.queries import ReceiptFigures
from memories.models import Memory
from memory_platform.web.charts import Chart, ChartRow, Height

CHART_HEIGHT: Height = 120
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NONE = ReceiptFigures(0, None, None, 0, 0)


@dataclass(frozen=True)
class ActivityRange:
    """A range that the overview offers: `steps` stretches of time up to now, each `step` long (`per` in words)."""

    name: str
    label: str
    per: str
    step: timedelta
    steps: int

    def begins(self, now: datetime) -> list[datetime]:
        """Where each stretch begins, the one that is under way last; whole hours and days are UTC's."""
        current = now - (now - _EPOCH) % self.step
        return [current - self.step * place for place in reversed(range(self.steps))]


SPANS: Sequence[ActivityRange] = (
    ActivityRange("24h", "24 hours", "an hour", timedelta(hours=1), 24),
    ActivityRange("7d", "7 days", "six hours", timedelta(hours=6), 28),
    ActivityRange("30d", "30 days", "a day", timedelta(days=1), 30),
    ActivityRange("90d", "90 days", "a day", timedelta(days=1), 90),
)
DEFAULT_SPAN = SPANS[1]


def activity_curves(tenant_id: UUID, span: ActivityRange, *, now: datetime) -> list[Chart]:
    """Three queries, however many rows there are; inside a scope."""
    begins = span.begins(now)
    receipts = Receipt.objects.for_tenant(tenant_id).figures_by_bin(since=begins[0], step=span.step)
    stored = Memory.objects.for_tenant(tenant_id).how_many_by_bin("created_at", since=begins[0], step=span.step)
    saved = Compaction.objects.for_tenant(tenant_id).savings_by_bin(since=begins[0], step=span.step)
    counts = [("Memories stored", "memories", stored), ("Saved by compaction", "tokens", saved)]
    return [
        *_of_contexts(begins, receipts),
        *(
            _bars(title, unit, [ChartRow(begin, (found.get(begin, 0),)) for begin in begins])
            for title, unit, found in counts
        ),
    ]


def _of_contexts(begins: Sequence[datetime], found: Mapping[datetime, ReceiptFigures]) -> list[Chart]:
    def rows(values: Callable[[ReceiptFigures], tuple[float | None, ...]]) -> list[ChartRow]:
        return [ChartRow(begin, values(found.get(begin, _NONE))) for begin in begins]

    return [
        _bars("Contexts served", "contexts", rows(lambda figures: (figures.contexts,))),
        Chart(
            "Latency",
            "ms",
            ["p50", "p95"],
            rows(lambda figures: (figures.p50_ms, figures.p95_ms)),
            digits=1,
            height=CHART_HEIGHT,
        ),
        Chart(
            "Used of the budget",
            "%",
            ["Used"],
            rows(lambda figures: (share_percent(figures.tokens_used, figures.tokens_allowed),)),
            caption="% of tokens allowed",
            digits=1,
            height=CHART_HEIGHT,
        ),
        _bars("Tokens given", "tokens", rows(lambda figures: (figures.tokens_used,))),
    ]


def share_percent(part: int, whole: int) -> float | None:
    """0..100; nothing has no share."""
    return round(100 * part / whole, 1) if whole else None


def _bars(title: str, unit: str, rows: Sequence[ChartRow]) -> Chart:
    """Bars of counts; nothing at all where there is none."""
    total = sum(value or 0 for row in rows for value in row.values)
    shown = rows if total else [ChartRow(row.x, (None,)) for row in rows]
    return Chart(title, unit, [title], shown, shape="bars", caption=f"{total:,.0f} {unit}", height=CHART_HEIGHT)
