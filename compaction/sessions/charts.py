"""Charts of sessions with coordinates in percent, which templates draw.

The tokens of a simulated session, the context before and after a compaction, and the pressure with its thresholds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compaction.services.pipeline.planning import CompactionPlan
from compaction.services.sessions import gauges
from compaction.services.sessions.pressure import PressureParts
from compaction.services.sessions.turns import SessionTurn
from compaction.services.simulation.simulator import APPENDED, EMERGENCY_EVENT, SCHEDULED, Simulation, SimulationPoint
from context.services.profiles.compaction_policy import CompactionPolicy
from memory_platform.web.charts import BarPart, Chart, ChartRow, stacked

#: The labels of events and of thresholds in the chart.
MARKS = {APPENDED: "", SCHEDULED: "idle", EMERGENCY_EVENT: "emergency"}
NAMES = {
    gauges.SLEEP: "idle threshold",
    gauges.EMERGENCY_LEVEL: "emergency threshold",
    gauges.WARNING: "warning threshold",
}
#: With more points, those between compactions are thinned out evenly.
POINTS_MAX = 200


def simulation_chart(simulation: Simulation, policy: CompactionPolicy, window: int) -> Chart:
    """Return the chart with every compaction marked; in a long session the messages between them are thinned out."""
    lines = [
        ("window", 1.0),
        *((NAMES[name], share) for name, share in gauges.policy_thresholds(policy)),
        ("target", policy.target),
    ]
    levels = [round(share * window) for _, share in lines]
    return Chart(
        title="Context size over the messages",
        unit="tokens",
        series=["needed", *(name for name, _ in lines)],
        rows=[_row(simulation.points[index], window, levels) for index in thinned(simulation.points)],
        kind="number",
        x_name="After message",
        height=320,
    )


def _row(point: SimulationPoint, window: int, levels: list[int]) -> ChartRow:
    """Return the row of a point; a compaction is halfway to the next message."""
    is_message = point.event == APPENDED
    return ChartRow(
        x=point.sequence if is_message else point.sequence + 0.5,
        values=[round(point.pressure * window), *levels],
        label=f"{point.sequence:,}",
        mark=MARKS[point.event],
    )


def thinned(points: Sequence[SimulationPoint]) -> list[int]:
    """Indices of the first, the last, every compaction with the point before it, and others, `POINTS_MAX` in all."""
    if len(points) <= POINTS_MAX:
        return list(range(len(points)))
    events = [index for index, point in enumerate(points) if point.event != APPENDED]
    kept = {0, len(points) - 1, *events, *(max(index - 1, 0) for index in events)}
    step = max(len(points) // max(POINTS_MAX - len(kept), 1), 1)
    return sorted(kept.union(range(0, len(points), step)))


DIRECTIVE, SUMMARY, LEAVING, OUTPUTS, STAYING = "directive", "summary", "leaving", "outputs", "staying"


class BeforeAfter(NamedTuple):
    """Two bars: the tokens that the context needs before and after a compaction, by part."""

    before: Sequence[BarPart]
    after: Sequence[BarPart]
    tokens_before: int
    tokens_after: int


def before_after(
    plan: CompactionPlan, turns: Sequence[SessionTurn], needed: PressureParts, *, window: int, head_tokens: int
) -> BeforeAfter:
    """Return the bars of a plan about these turns; the new summary is assumed to have its maximum length.

    `head_tokens` mark a summary. The markers of directive and summary count as messages, as in `needed`.
    """
    leaving = set(plan.span_ids)
    masked = set(plan.mask_ids) - leaving
    tokens = {LEAVING: 0, OUTPUTS: 0, STAYING: 0}
    for turn in turns:
        name = LEAVING if turn.id in leaving else OUTPUTS if turn.id in masked else STAYING
        tokens[name] += turn.cost
    tokens[STAYING] += needed.messages - sum(tokens.values())
    new_head = head_tokens if plan.span_ids and not needed.summary else 0
    placeholders = sum(turn.placeholder_tokens + turn.marker_tokens for turn in turns if turn.id in masked)
    summary = plan.summary_tokens_at_most if plan.span_ids else needed.summary
    reserved = {"memories": needed.memories, "reply": needed.reply}
    before = {DIRECTIVE: needed.directive, SUMMARY: needed.summary, **tokens, **reserved}
    after = {
        DIRECTIVE: needed.directive,
        SUMMARY: summary,
        OUTPUTS: placeholders,
        STAYING: tokens[STAYING] + new_head,
        **reserved,
    }
    totals = [sum(bar.values()) for bar in (before, after)]
    full = max(window, *totals)
    bars = [[part for part in stacked(bar.items(), full=full) if part.value] for bar in (before, after)]
    return BeforeAfter(bars[0], bars[1], totals[0], totals[1])


class Mark(NamedTuple):
    """A threshold: its name, its share of the window, its place in the bar."""

    name: str
    share: float
    at_percent: float


@dataclass(frozen=True)
class Gauge:
    """A bar as long as the window, or as the needs of the context if they are larger."""

    parts: Sequence[BarPart]
    tokens: int
    window: int
    pressure: float
    level: str
    marks: tuple[Mark, ...]

    @property
    def description(self) -> str:
        """The level in words, or "" if the pressure is below every threshold."""
        return gauges.LEVEL_WORDS[self.level]


def pressure_gauge(needed: PressureParts, window: int, policy: CompactionPolicy) -> Gauge:
    """Return the gauge for a session whose next context has these needs."""
    pressure = needed.tokens / window
    longest = max(pressure, 1.0)
    marks = gauges.policy_thresholds(policy) + (((gauges.FULL, 1.0),) if pressure > 1 else ())
    return Gauge(
        parts=[part for part in stacked(needed._asdict().items(), full=window * longest) if part.value],
        tokens=needed.tokens,
        window=window,
        pressure=pressure,
        level=gauges.pressure_level(pressure, policy),
        marks=tuple(Mark(name, share, round(100 * share / longest, 2)) for name, share in marks),
    )
