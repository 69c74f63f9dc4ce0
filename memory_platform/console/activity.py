"""Charts of a tenant's activity over a range of time (ADR-0086)."""

from collections.abc import Mapping, Sequence
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
    """A range that the overview offers: `steps` bins up to now, each `step` long (`per` in words)."""

    name: str
    label: str
    per: str
    step: timedelta
    steps: int

    def starts_at(self, now: datetime) -> list[datetime]:
        """Return the start of each bin, the current one last; hours and days are those of UTC."""
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
    """Return the charts of a range. Three queries; called inside a scope."""
    starts = span.starts_at(now)
    receipts = Receipt.objects.for_tenant(tenant_id).figures_by_bin(since=starts[0], step=span.step)
    stored = Memory.objects.for_tenant(tenant_id).how_many_by_bin("created_at", since=starts[0], step=span.step)
    saved = Compaction.objects.for_tenant(tenant_id).savings_by_bin(since=starts[0], step=span.step)
    bins = [(start, receipts.get(start, _NONE)) for start in starts]
    latency = [ChartRow(start, (figures.p50_ms, figures.p95_ms)) for start, figures in bins]
    used = [
        ChartRow(start, (round(100 * each.tokens_used / each.tokens_allowed, 1) if each.tokens_allowed else None,))
        for start, each in bins
    ]
    return [
        _bars("Contexts served", "contexts", {start: figures.contexts for start, figures in bins}),
        Chart("Latency", "ms", ["p50", "p95"], latency, digits=1, height=CHART_HEIGHT),
        Chart("Budget used", "%", ["Used"], used, caption="% of tokens allowed", digits=1, height=CHART_HEIGHT),
        _bars("Tokens served", "tokens", {start: figures.tokens_used for start, figures in bins}),
        _bars("Memories stored", "memories", {start: stored.get(start, 0) for start in starts}),
        _bars("Saved by compaction", "tokens", {start: saved.get(start, 0) for start in starts}),
    ]


def _bars(title: str, unit: str, counts: Mapping[datetime, int]) -> Chart:
    """Return bars of counts; an empty chart where all are 0."""
    total = sum(counts.values())
    rows = [ChartRow(start, (count if total else None,)) for start, count in counts.items()]
    return Chart(title, unit, [title], rows, shape="bars", caption=f"{total:,.0f} {unit}", height=CHART_HEIGHT)
