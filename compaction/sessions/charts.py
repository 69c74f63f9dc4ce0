"""Charts of sessions with coordinates in percent, which templates draw.

The tokens of a simulated session, the context before and after a compaction, the pressure with its thresholds, and the
minimap: all messages of a session as one strip, with the spans that compactions took.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import NamedTuple

from compaction.services.pipeline.planning import CompactionPlan
from compaction.services.sessions import gauges
from compaction.services.sessions.pressure import ContextNeeds
from compaction.services.sessions.turns import SessionTurn
from compaction.services.simulation.simulator import APPENDED, SCHEDULED, Simulation, SimulationPoint
from compaction.services.simulation.simulator import EMERGENCY_EVENT as AT_ONCE
from context.services.profiles.compaction_policy import CompactionPolicy
from memory_platform.web.charts import BarPart, Chart, ChartRow, stacked

#: Labels of compactions in the chart, and of the thresholds.
MARKS = {APPENDED: "", SCHEDULED: "idle", AT_ONCE: "at once"}
NAMES = {gauges.SLEEP: "compacted when idle", gauges.EMERGENCY_LEVEL: "compacted at once", gauges.WARNING: "warning"}
#: With more points, those between compactions are thinned out evenly.
POINTS_MAX = 200
#: Pieces in the strip; in a longer session neighbouring messages share one.
PIECES_MAX = 220


def simulation_chart(simulation: Simulation, policy: CompactionPolicy, window: int) -> Chart:
    """Return the chart with every compaction marked; in a long session the messages between them are thinned out."""
    lines = [
        ("window", 1.0),
        *((NAMES[name], share) for name, share in gauges.policy_thresholds(policy)),
        ("target", policy.target),
    ]
    levels = [round(share * window) for _, share in lines]
    return Chart(
        title="Tokens needed over the messages",
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
    """What the context needs before and after a compaction as two bars, with the tokens of each."""

    before: Sequence[BarPart]
    after: Sequence[BarPart]
    tokens_before: int
    tokens_after: int


def before_after(
    plan: CompactionPlan, turns: Sequence[SessionTurn], needs: ContextNeeds, *, window: int
) -> BeforeAfter:
    """Return the bars of a plan about these turns; the new summary is assumed to be as long as it may."""
    leaving = set(plan.span_ids)
    masked = set(plan.mask_ids) - leaving
    tokens = {LEAVING: 0, OUTPUTS: 0, STAYING: 0}
    for turn in turns:
        name = LEAVING if turn.id in leaving else OUTPUTS if turn.id in masked else STAYING
        tokens[name] += turn.cost
    placeholders = sum(turn.placeholder_tokens + turn.marker_tokens for turn in turns if turn.id in masked)
    summary = plan.summary_tokens_at_most if plan.span_ids else needs.summary
    reserved = {"memories": needs.memories, "reply": needs.reply}
    before = {DIRECTIVE: needs.directive, SUMMARY: needs.summary, **tokens, **reserved}
    after = {DIRECTIVE: needs.directive, SUMMARY: summary, OUTPUTS: placeholders, STAYING: tokens[STAYING], **reserved}
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
    """A bar as long as the window, or as what the context needs where that is longer."""

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


def pressure_gauge(needs: ContextNeeds, window: int, policy: CompactionPolicy) -> Gauge:
    """Return the gauge for a session whose next context has these needs."""
    pressure = needs.tokens / window
    longest = max(pressure, 1.0)
    marks = gauges.policy_thresholds(policy) + (((gauges.FULL, 1.0),) if pressure > 1 else ())
    return Gauge(
        parts=[part for part in stacked(needs._asdict().items(), full=window * longest) if part.value],
        tokens=needs.tokens,
        window=window,
        pressure=pressure,
        level=gauges.pressure_level(pressure, policy),
        marks=tuple(Mark(name, share, round(100 * share / longest, 2)) for name, share in marks),
    )


class Outline(NamedTuple):
    """A message without its text."""

    sequence: int
    role: str
    state: str
    tokens: int

    @property
    def weight(self) -> int:
        """The tokens, at least 1, so that an empty message is visible."""
        return max(self.tokens, 1)


class Piece(NamedTuple):
    """Neighbouring messages as one piece of the strip: position, width, and the role and state of most tokens."""

    first: int
    last: int
    tokens: int
    role: str
    state: str
    x: float
    width: float


class Span(NamedTuple):
    """The messages that one compaction took out of the context, and their place in the strip."""

    compaction_id: object
    generation: int
    first: int
    last: int
    x: float = 0.0
    width: float = 0.0


class Minimap(NamedTuple):
    """The strip. `window_x` is where the preserve window begins, `shown` the part that a page shows, where not all."""

    pieces: Sequence[Piece]
    bands: Sequence[Span]
    tokens: int
    window_x: float | None
    shown: tuple[float, float] | None


def minimap(
    outlines: Sequence[Outline], spans: Iterable[Span], *, window_from: int | None, shown: tuple[int, int] | None
) -> Minimap:
    """Return the strip of messages given in order; `shown` are the first and last sequence of a page."""
    *reached, total = accumulate((outline.weight for outline in outlines), initial=0)
    starts = {outline.sequence: start / total for outline, start in zip(outlines, reached, strict=True)}

    def place(first: int, last: int) -> tuple[float, float]:
        """Where the messages begin and how wide they are; what comes after the last message is at the end."""
        start = starts.get(first, 1.0)
        return round(100 * start, 3), round(100 * (starts.get(last + 1, 1.0) - start), 3)

    def part(outline: Outline) -> int:
        is_short = len(outlines) <= PIECES_MAX
        return outline.sequence if is_short else int(starts[outline.sequence] * PIECES_MAX)

    groups = [list(group) for _, group in groupby(outlines, key=part)]
    return Minimap(
        pieces=[
            Piece(
                group[0].sequence,
                group[-1].sequence,
                sum(outline.tokens for outline in group),
                _most(group, "role"),
                _most(group, "state"),
                *place(group[0].sequence, group[-1].sequence),
            )
            for group in groups
        ],
        bands=[Span(*span[:4], *place(span.first, span.last)) for span in spans],
        tokens=sum(outline.tokens for outline in outlines),
        window_x=place(window_from, window_from)[0] if window_from is not None and outlines else None,
        shown=place(*shown) if shown is not None else None,
    )


def _most(group: Sequence[Outline], name: str) -> str:
    """Return the role or state with the most tokens; among equals the first."""
    tokens: Counter[str] = Counter()
    for outline in group:
        tokens[getattr(outline, name)] += outline.weight
    return tokens.most_common(1)[0][0]
