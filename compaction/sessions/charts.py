"""Charts of sessions with coordinates in percent, which templates draw.

The tokens of a simulated session, the context before and after a compaction, the pressure with its thresholds, and the
minimap: all messages of a session as one strip, with the spans that compactions took.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compaction.services.pipeline.planning import CompactionPlan
from compaction.services.sessions.gauges import (
    EMERGENCY_LEVEL,
    FULL,
    LEVEL_WORDS,
    SLEEP,
    WARNING,
    policy_thresholds,
    pressure_level,
)
from compaction.services.sessions.turns import SessionTurn
from compaction.services.simulation.simulator import APPENDED, SCHEDULED, Simulation, SimulationPoint
from compaction.services.simulation.simulator import EMERGENCY_EVENT as AT_ONCE
from context.services.profiles.compaction_policy import CompactionPolicy
from memory_platform.web.charts import BarPart, Chart, ChartRow, stacked

#: Labels of compactions in the chart, and of the thresholds.
MARKS = {APPENDED: "", SCHEDULED: "idle", AT_ONCE: "at once"}
NAMES = {SLEEP: "compacted when idle", EMERGENCY_LEVEL: "compacted at once", WARNING: "warning"}
#: With more points, those between compactions are thinned out evenly.
POINTS_MAX = 200
#: Pieces in the strip; in a longer session neighbouring messages share one.
PIECES_MAX = 220


def simulation_chart(simulation: Simulation, policy: CompactionPolicy, window: int) -> Chart:
    """Every compaction is marked; of a long session the messages between them are thinned out."""
    lines = [
        ("window", 1.0),
        *((NAMES[name], share) for name, share in policy_thresholds(policy)),
        ("target", policy.target),
    ]
    levels = [round(share * window) for _, share in lines]
    return Chart(
        title="Tokens over the messages",
        unit="tokens",
        series=["in the context", *(name for name, _ in lines)],
        rows=[_row(simulation.points[index], levels) for index in thinned(simulation.points)],
        kind="number",
        x_name="After message",
        height=320,
    )


def _row(point: SimulationPoint, levels: list[int]) -> ChartRow:
    """Return the row of a point; a compaction is halfway to the next message."""
    is_message = point.event == APPENDED
    return ChartRow(
        x=point.sequence if is_message else point.sequence + 0.5,
        values=[point.tokens, *levels],
        label=f"{point.sequence:,}",
        mark=MARKS[point.event],
    )


def thinned(points: Sequence[SimulationPoint]) -> list[int]:
    """Indices of the first, the last, every compaction with the point before it, and others, `POINTS_MAX` in all."""
    kept = {0, len(points) - 1} if points else set()
    for index, point in enumerate(points):
        if point.event != APPENDED:
            kept |= {max(index - 1, 0), index}
    step = max(len(points) // max(POINTS_MAX - len(kept), 1), 1)
    return sorted(kept | set(range(0, len(points), step)) if len(points) > POINTS_MAX else set(range(len(points))))


DIRECTIVE, SUMMARY, LEAVING, OUTPUTS, STAYING = "directive", "summary", "leaving", "outputs", "staying"


@dataclass(frozen=True)
class BeforeAfter:
    """Both bars; `length` is the tokens of the longer of window and context."""

    before: Sequence[BarPart]
    after: Sequence[BarPart]
    length: int


def before_after(
    plan: CompactionPlan, turns: Sequence[SessionTurn], *, window: int, directive_tokens: int, summary_tokens: int
) -> BeforeAfter:
    """The bars of a plan about these turns; the new summary is taken to be as long as it may."""
    leaving = set(plan.span_ids)
    masked = set(plan.mask_ids) - leaving
    tokens = {LEAVING: 0, OUTPUTS: 0, STAYING: 0}
    placeholders = 0
    for turn in turns:
        name = LEAVING if turn.id in leaving else OUTPUTS if turn.id in masked else STAYING
        tokens[name] += turn.context_tokens
        placeholders += turn.placeholder_tokens if turn.id in masked else 0
    fixed = {DIRECTIVE: directive_tokens, SUMMARY: summary_tokens}
    became = {SUMMARY: plan.summary_budget_tokens} if plan.span_ids else {}
    length = max(window, plan.tokens_before, 1)
    return BeforeAfter(
        before=_bar({**fixed, **tokens}, length),
        after=_bar({**fixed, **became, LEAVING: 0, OUTPUTS: placeholders, STAYING: tokens[STAYING]}, length),
        length=length,
    )


def _bar(tokens: dict[str, int], length: int) -> list[BarPart]:
    return [part for part in stacked(tokens.items(), full=length) if part.value]


@dataclass(frozen=True)
class Mark:
    """A threshold: its name, its share of the window, its place in the bar."""

    name: str
    share: float
    at_percent: float


@dataclass(frozen=True)
class Gauge:
    """A bar as long as the window, or as the context where that is longer."""

    tokens: int
    window: int
    pressure: float
    fill_percent: float
    level: str
    marks: tuple[Mark, ...]

    @property
    def description(self) -> str:
        """The level in words; "" below every threshold."""
        return LEVEL_WORDS[self.level]


def pressure_gauge(tokens: int, window: int, policy: CompactionPolicy) -> Gauge:
    """The bar of a session of so many tokens. Raises `ValueError` for a window of nothing."""
    if window <= 0:
        raise ValueError("a window is above 0")
    pressure = tokens / window
    longest = max(pressure, 1.0)
    marks = policy_thresholds(policy) + (((FULL, 1.0),) if pressure > 1 else ())
    return Gauge(
        tokens=tokens,
        window=window,
        pressure=pressure,
        fill_percent=round(100 * pressure / longest, 2),
        level=pressure_level(pressure, policy),
        marks=tuple(Mark(name, share, round(100 * share / longest, 2)) for name, share in marks),
    )


@dataclass(frozen=True)
class Outline:
    """A message without its text."""

    sequence: int
    role: str
    state: str
    tokens: int
    is_pinned: bool = False


@dataclass(frozen=True)
class Piece:
    """Neighbouring messages as one piece of the strip: position, width, and the role and state of most tokens."""

    first: int
    last: int
    tokens: int
    role: str
    state: str
    x: float
    width: float


@dataclass(frozen=True)
class Span:
    """The messages that one compaction took out of the context."""

    compaction_id: object
    generation: int
    first: int
    last: int


@dataclass(frozen=True)
class Band:
    """A span in the strip."""

    span: Span
    x: float
    width: float


@dataclass(frozen=True)
class Minimap:
    """The strip. `window_x` is where the preserve window begins, `shown` the part that a page shows, where not all."""

    pieces: Sequence[Piece]
    bands: Sequence[Band]
    tokens: int
    window_x: float | None
    shown: tuple[float, float] | None


def minimap(
    outlines: Sequence[Outline], spans: Iterable[Span], *, window_from: int | None, shown: tuple[int, int] | None
) -> Minimap:
    """The strip of a session's messages, given in order; `shown` are the first and last sequence of a page."""
    total = sum(_weight(outline) for outline in outlines)
    starts: dict[int, float] = {}
    reached = 0
    for outline in outlines:
        starts[outline.sequence] = reached / total
        reached += _weight(outline)

    def at(sequence: int) -> float:
        """Where a message begins; the end for what comes after the last."""
        return starts.get(sequence, 1.0)

    def place(first: int, last: int) -> tuple[float, float]:
        return round(100 * at(first), 3), round(100 * (at(last + 1) - at(first)), 3)

    pieces = [
        Piece(
            first=group[0].sequence,
            last=group[-1].sequence,
            tokens=sum(outline.tokens for outline in group),
            role=_most(group, "role"),
            state=_most(group, "state"),
            x=place(group[0].sequence, group[-1].sequence)[0],
            width=place(group[0].sequence, group[-1].sequence)[1],
        )
        for group in _grouped(outlines, starts)
    ]
    return Minimap(
        pieces=pieces,
        bands=[Band(span, *place(span.first, span.last)) for span in spans],
        tokens=sum(outline.tokens for outline in outlines),
        window_x=round(100 * at(window_from), 3) if window_from is not None and outlines else None,
        shown=place(*shown) if shown is not None else None,
    )


def _weight(outline: Outline) -> int:
    """Return the tokens, at least 1, so that an empty message is visible."""
    return max(outline.tokens, 1)


def _grouped(outlines: Sequence[Outline], starts: dict[int, float]) -> list[list[Outline]]:
    """Each by itself, or those that begin in the same part of the strip together."""
    if len(outlines) <= PIECES_MAX:
        return [[outline] for outline in outlines]
    groups: dict[int, list[Outline]] = {}
    for outline in outlines:
        groups.setdefault(int(starts[outline.sequence] * PIECES_MAX), []).append(outline)
    return list(groups.values())


def _most(group: Sequence[Outline], name: str) -> str:
    """What has the most tokens; of equals the first."""
    tokens: Counter[str] = Counter()
    for outline in group:
        tokens[getattr(outline, name)] += _weight(outline)
    return tokens.most_common(1)[0][0]
