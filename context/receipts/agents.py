"""What each agent received in a range of time: figures by API key or by partition, and their charts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from context.models import Receipt
from context.receipts.queries import ReceiptFigures
from memories.models import ApiKey
from memory_platform.web.charts import CONTEXTS, TOKENS, Chart, ChartRow, Height, count_chart
from memory_platform.web.time_ranges import ActivityRange

#: Keys or partitions listed, those with the most contexts first.
AGENTS_MAX = 100
CHART_HEIGHT: Height = 120
_NONE = ReceiptFigures()
_ERRORS = "Errors"


class AgentGroup(StrEnum):
    """The identity by which agents are grouped."""

    KEY = "key"
    PARTITION = "partition"


@dataclass(frozen=True)
class AgentRow:
    """One API key (`value` is its prefix, "" for contexts without one) or one partition, with its figures."""

    name: str
    value: str
    figures: ReceiptFigures


def agent_rows(tenant_id: UUID, group: AgentGroup, span: ActivityRange, *, now: datetime) -> list[AgentRow]:
    """Return the agents that received contexts in a range, those with the most first. Inside a scope."""
    rows = Receipt.objects.for_tenant(tenant_id)
    column = "api_key" if group is AgentGroup.KEY else "partition_path"
    found = rows.detailed_figures_by(column, since=span.starts_at(now)[0], highest=AGENTS_MAX)
    if group is AgentGroup.PARTITION:
        return [AgentRow(path or "(root)", path, figures) for path, figures in found.items()]
    keys = {key.pk: key for key in ApiKey.objects.for_tenant(tenant_id).with_ids([pk for pk in found if pk])}
    return [
        AgentRow(keys[pk].name, keys[pk].prefix, figures) if pk in keys else AgentRow("No API key", "", figures)
        for pk, figures in found.items()
    ]


def agent_charts(
    tenant_id: UUID,
    owner: dict[str, Any],
    span: ActivityRange,
    *,
    now: datetime,
    address: Callable[..., str],
) -> Sequence[Chart]:
    """Return the charts of one agent or of all (`owner` as `of_owner` takes it). One query, inside a scope.

    `address` returns the URL of the contexts of a bin, from its start to its end; with `state` only of those.
    """
    starts = span.starts_at(now)
    rows = Receipt.objects.for_tenant(tenant_id).of_owner(**owner)
    found = rows.detailed_figures_by_bin(since=starts[0], step=span.step)
    bins = [(start, found.get(start, _NONE)) for start in starts]

    def url(title: str, start: datetime, figures: ReceiptFigures) -> str:
        state = {"state": "failed"} if title == _ERRORS and figures.failed else {}
        return address(start, start + span.step, **state) if start in found else ""

    def points(title: str, values: Callable[[ReceiptFigures], Any]) -> list[ChartRow]:
        return [ChartRow(start, values(figures), url=url(title, start, figures)) for start, figures in bins]

    def chart(
        title: str, unit: str, series: Sequence[str], values: Callable[[ReceiptFigures], Any], **more: Any
    ) -> Chart:
        return Chart(title, unit, series, points(title, values), height=CHART_HEIGHT, **more)

    def count(title: str, units: tuple[str, str], value: Callable[[ReceiptFigures], int]) -> Chart:
        total = sum(value(figures) for _, figures in bins)
        bars = points(title, lambda each: (value(each) if found else None,))
        return count_chart(title, units, bars, total=total, height=CHART_HEIGHT)

    return [
        count("Contexts served", CONTEXTS, lambda each: each.contexts),
        chart("Latency", "ms", ["p50", "p95"], lambda each: (each.p50_ms, each.p95_ms), digits=1),
        chart("Budget used", "%", ["Used"], lambda each: (each.used_percent,), caption="% of tokens allowed", digits=1),
        chart("Excluded", "%", ["Excluded"], lambda each: (each.excluded_percent,), caption="% of items", digits=1),
        count(_ERRORS, CONTEXTS, lambda each: each.failed),
        count("Tokens served", TOKENS, lambda each: each.tokens_used),
    ]
