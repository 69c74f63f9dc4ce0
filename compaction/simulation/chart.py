"""A simulated session as a chart: its tokens over the messages, with the window and the thresholds of its policy."""

from compaction.services.sessions.gauges import EMERGENCY_LEVEL, SLEEP, WARNING, policy_thresholds
from compaction.services.simulation.curves import thin_point_indices
from compaction.services.simulation.simulator import APPENDED, SCHEDULED, Simulation, SimulationPoint
from compaction.services.simulation.simulator import EMERGENCY_EVENT as AT_ONCE
from context.services.profiles.compaction_policy import CompactionPolicy
from memory_platform.web.charts import Chart, ChartRow

#: How a compaction is called at its place, and the thresholds beside the curve.
MARKS = {APPENDED: "", SCHEDULED: "idle", AT_ONCE: "at once"}
_NAMES = {SLEEP: "compacted when idle", EMERGENCY_LEVEL: "compacted at once", WARNING: "warning"}


def simulation_chart(simulation: Simulation, policy: CompactionPolicy, window: int) -> Chart:
    """Every compaction is marked; of a long session the messages between them are thinned out."""
    lines = [
        ("window", 1.0),
        *((_NAMES[name], share) for name, share in policy_thresholds(policy)),
        ("target", policy.target),
    ]
    levels = [round(share * window) for _, share in lines]
    return Chart(
        title="Tokens over the messages",
        unit="tokens",
        series=["in the context", *(name for name, _ in lines)],
        rows=[_row(simulation.points[index], levels) for index in thin_point_indices(simulation.points)],
        kind="number",
        x_name="After message",
        height=320,
    )


def _row(point: SimulationPoint, levels: list[int]) -> ChartRow:
    """A compaction stands halfway to the next message."""
    is_message = point.event == APPENDED
    return ChartRow(
        x=point.sequence if is_message else point.sequence + 0.5,
        values=[point.tokens, *levels],
        label=f"{point.sequence:,}",
        mark=MARKS[point.event],
    )
