"""Charts of a tenant's activity over a range of time (ADR-0086)."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from compaction.models import Compaction
from context.models import Receipt
from context.receipts.queries import ReceiptFigures
from memories.models import Memory
from memory_platform.web.charts import CONTEXTS, TOKENS, Chart, ChartRow, Height, count_chart
from memory_platform.web.time_ranges import ActivityRange

CHART_HEIGHT: Height = 120
_NONE = ReceiptFigures()


def activity_curves(tenant_id: UUID, span: ActivityRange, *, now: datetime) -> list[Chart]:
    """Return the charts of a range. Three queries; called inside a scope."""
    starts = span.starts_at(now)
    receipts = Receipt.objects.for_tenant(tenant_id).figures_by_bin(since=starts[0], step=span.step)
    stored = Memory.objects.for_tenant(tenant_id).how_many_by_bin("created_at", since=starts[0], step=span.step)
    saved = Compaction.objects.for_tenant(tenant_id).savings_by_bin(since=starts[0], step=span.step)
    bins = [(start, receipts.get(start, _NONE)) for start in starts]
    latency = [ChartRow(start, (figures.p50_ms, figures.p95_ms)) for start, figures in bins]
    used = [ChartRow(start, (figures.used_percent,)) for start, figures in bins]
    return [
        _bars("Contexts served", CONTEXTS, {start: figures.contexts for start, figures in bins}),
        Chart("Latency", "ms", ["p50", "p95"], latency, digits=1, height=CHART_HEIGHT),
        Chart("Budget used", "%", ["Used"], used, caption="% of tokens allowed", digits=1, height=CHART_HEIGHT),
        _bars("Tokens served", TOKENS, {start: figures.tokens_used for start, figures in bins}),
        _bars("Memories stored", ("memory", "memories"), {start: stored.get(start, 0) for start in starts}),
        _bars("Saved by compaction", TOKENS, {start: saved.get(start, 0) for start in starts}),
    ]


def _bars(title: str, units: tuple[str, str], counts: Mapping[datetime, int]) -> Chart:
    """Return bars of counts, with their unit in singular and plural; an empty chart if all are 0."""
    total = sum(counts.values())
    rows = [ChartRow(start, (count if total else None,)) for start, count in counts.items()]
    return count_chart(title, units, rows, total=total, height=CHART_HEIGHT)
